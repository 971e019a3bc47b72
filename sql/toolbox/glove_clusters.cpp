// glove_clusters(k, words, model, backend, options): the clusters of glove_kmeans with the same inputs.
//
//   SELECT cluster, size, label FROM glove_clusters(8, 20000);
//   SELECT k, sum(inertia), avg(silhouette) FROM glove_clusters WHERE k IN (8, 16, 32) AND words = 20000
//   GROUP BY k;
//
// `label` is the member nearest to the centroid. The fit is that of glove_kmeans, and a statement that reads
// both tables computes it once. Empty clusters are omitted, so there are fewer than k clusters if k exceeds
// the number of different rows.
#include "sql/register.h"
#include "sql/toolbox/kmeans_scan.h"

namespace glove::sql {
namespace {

enum ClusterColumn : int {
  kCluster,
  kSize,
  kLabel,
  kInertia,
  kSilhouette,
  kIterations,
  kConverged,
  kCentroid,
  kFirstInput,
};

constexpr const char* kInputNames[] = {"k", "words", "model", "backend", "options"};
const KMeansColumns kColumns = {{"glove_clusters", kFirstInput, kInputNames, "k = 8"}, -1, kCluster, 100};

class GloveClusters : public KMeansTable {
 public:
  static constexpr const char* kName = "glove_clusters";
  static constexpr const char* kSchema =
      "CREATE TABLE glove_clusters(cluster INTEGER, size INTEGER, label TEXT, inertia REAL, silhouette REAL, "
      "iterations INTEGER, converged INTEGER, centroid BLOB, "
      "k INTEGER HIDDEN, words TEXT HIDDEN, model TEXT HIDDEN, backend TEXT HIDDEN, options TEXT HIDDEN)";

  using KMeansTable::KMeansTable;
  Status plan(sqlite3_index_info* info) { return plan_kmeans(info, kColumns); }

  class Cursor {
   public:
    Cursor(GloveClusters& table, Connection::Pin& models) : scan_(table, models, kColumns) {}

    Status start(int plan, const char* plan_text, Arguments values) {
      cluster_ = end_ = 0;
      GLOVE_RETURN_IF_ERROR(scan_.start(plan, plan_text, values));
      end_ = scan_.fit().clustering.centroids.count;
      if (const std::optional<int64_t> one = scan_.cluster(); one) {
        const bool found = *one >= 0 && *one < end_;
        cluster_ = found ? *one : end_;
        end_ = found ? *one + 1 : end_;
      }
      return {};
    }

    Status next() {
      return ++cluster_ < end_ ? Status() : scan_.model().health();  // of the labels that were read
    }

    bool at_end() const noexcept { return cluster_ >= end_; }

    Status column(sqlite3_context* context, int column) {
      const KMeansFit& fit = scan_.fit();
      const Clustering::Cluster& cluster = fit.clustering.clusters[static_cast<size_t>(cluster_)];
      const Centroids& centroids = fit.clustering.centroids;
      switch (column) {
        case kCluster:
          sqlite3_result_int64(context, cluster_ + 1);
          break;
        case kSize:
          sqlite3_result_int64(context, cluster.size);
          break;
        case kLabel:
          return_word(context, scan_.model().vocabulary(), fit.row_id(cluster.nearest_row));
          break;
        case kInertia:
          sqlite3_result_double(context, cluster.inertia);
          break;
        case kSilhouette:
          sqlite3_result_double(context, cluster.silhouette);  // NaN becomes NULL
          break;
        case kIterations:
          sqlite3_result_int64(context, fit.clustering.iterations);
          break;
        case kConverged:
          sqlite3_result_int(context, fit.clustering.converged ? 1 : 0);
          break;
        case kCentroid:
          sqlite3_result_blob64(context, centroids.vector(cluster_),
                                static_cast<sqlite3_uint64>(centroids.dims) * sizeof(float),
                                SQLITE_TRANSIENT);
          break;
        default:
          return scan_.return_input(context, column);
      }
      return {};
    }

    Result<int64_t> rowid() { return scan_.rowid(cluster_); }

   private:
    KMeansScan scan_;
    int64_t cluster_ = 0;
    int64_t end_ = 0;
  };
};

}  // namespace

int register_glove_clusters(sqlite3* db, Engine& engine) {
  // No security flag, as glove_nn: it depends on the models, and changes nothing.
  return vtab::register_table<GloveClusters>(db, engine);
}

}  // namespace glove::sql
