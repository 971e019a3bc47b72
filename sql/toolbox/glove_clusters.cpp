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
#include "sql/toolbox/kmeans_fit.h"

namespace glove::sql {
namespace {

class ClusterRows : public KMeansRows {
 public:
  enum Column : int {
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

  static constexpr const char* kName = "glove_clusters";
  static constexpr const char* kSchema =
      "CREATE TABLE glove_clusters(cluster INTEGER, size INTEGER, label TEXT, inertia REAL, silhouette REAL, "
      "iterations INTEGER, converged INTEGER, centroid BLOB, "
      "k INTEGER HIDDEN, words TEXT HIDDEN, model TEXT HIDDEN, backend TEXT HIDDEN, options TEXT HIDDEN)";
  static constexpr const char* kInputNames[] = {"k", "words", "model", "backend", "options"};
  static constexpr vtab::InputColumns kInputs = {kName, kFirstInput, kInputNames, "k = 8"};
  static constexpr KMeansColumns kColumns = {kInputs, -1, kCluster, 100};

  static Status plan(sqlite3_index_info* info) { return plan_kmeans(info, kColumns); }

  Result<FitRange> start(Connection::Pin& models, const vtab::InputValues& inputs, int plan,
                         Arguments values) {
    GLOVE_RETURN_IF_ERROR(find(models, inputs, kColumns, plan, values));
    const int64_t count = fit().clustering.centroids.count;
    if (!cluster_) return range(0, count);
    return *cluster_ < 0 || *cluster_ >= count ? range(0, 0) : range(*cluster_, *cluster_ + 1);
  }

  void column(sqlite3_context* context, int64_t row, int column) {
    const Clustering& clustering = fit().clustering;
    const Clustering::Cluster& cluster = clustering.clusters[static_cast<size_t>(row)];
    const size_t bytes = static_cast<size_t>(clustering.centroids.dims) * sizeof(float);
    if (column == kCluster) sqlite3_result_int64(context, row + 1);
    if (column == kSize) sqlite3_result_int64(context, cluster.size);
    if (column == kLabel) return_word(context, words(), row_id(cluster.nearest_row));
    if (column == kInertia) sqlite3_result_double(context, cluster.inertia);
    if (column == kSilhouette) sqlite3_result_double(context, cluster.silhouette);  // NaN becomes NULL
    if (column == kIterations) sqlite3_result_int64(context, clustering.iterations);
    if (column == kConverged) sqlite3_result_int(context, clustering.converged ? 1 : 0);
    if (column == kCentroid)
      sqlite3_result_blob64(context, clustering.centroids.vector(row), bytes, SQLITE_TRANSIENT);
  }

  int64_t id(int64_t row) const { return row; }
};

}  // namespace

// No security flag, as glove_nn: it depends on the models, and changes nothing.
constexpr SqlObject kGloveClusters = vtab::table_object<FitTable<ClusterRows>>();

}  // namespace glove::sql
