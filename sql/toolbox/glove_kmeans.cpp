// glove_kmeans(k, words, model, backend, options): the cluster of each word, by k-means.
//
//   SELECT word FROM glove_kmeans(8, 20000) WHERE cluster = 3 ORDER BY similarity DESC LIMIT 10;
//   SELECT word, cluster FROM glove_kmeans(3, '["dog","cat","lion","red","blue","seven"]');
//   SELECT t.tag, m.cluster FROM tags t
//     JOIN glove_kmeans(8, (SELECT json_group_array(tag) FROM tags)) m ON m.word = t.tag;
//
// Clusters are numbered from 1 by descending size. Words without a direction are absent unless the metric is
// Euclidean. The fit is computed when a statement first asks for it and kept for the process, so that joins
// and glove_clusters of the same inputs do not compute it again.

#include "sql/register.h"
#include "sql/toolbox/kmeans_scan.h"

namespace glove::sql {
namespace {

enum MemberColumn : int { kWord, kCluster, kSimilarity, kDistance, kSilhouette, kFirstInput };

constexpr const char* kInputNames[] = {"k", "words", "model", "backend", "options"};
const KMeansColumns kColumns = {{"glove_kmeans", kFirstInput, kInputNames, "k = 8"}, kWord, kCluster, 400000};

class GloveKMeans : public KMeansTable {
 public:
  static constexpr const char* kName = "glove_kmeans";
  static constexpr const char* kSchema =
      "CREATE TABLE glove_kmeans(word TEXT, cluster INTEGER, similarity REAL, distance REAL, silhouette "
      "REAL, "
      "k INTEGER HIDDEN, words TEXT HIDDEN, model TEXT HIDDEN, backend TEXT HIDDEN, options TEXT HIDDEN)";

  using KMeansTable::KMeansTable;
  Status plan(sqlite3_index_info* info) { return plan_kmeans(info, kColumns); }

  class Cursor {
   public:
    Cursor(GloveKMeans& table, Connection::Pin& models) : scan_(table, models, kColumns) {}

    Status start(int plan, const char* plan_text, Arguments values) {
      row_ = end_ = 0;
      GLOVE_RETURN_IF_ERROR(scan_.start(plan, plan_text, values));
      row_ = scan_.row().value_or(0);
      end_ = scan_.row() ? row_ + 1 : scan_.fit().rows();
      if (row_ < 0) row_ = end_;
      return skip();
    }

    Status next() {
      ++row_;
      return skip();
    }

    bool at_end() const noexcept { return row_ >= end_; }

    Status column(sqlite3_context* context, int column) {
      const KMeansFit& fit = scan_.fit();
      switch (column) {
        case kWord:
          return_word(context, scan_.model().vocabulary(), fit.row_id(row_));
          break;
        case kCluster:
          sqlite3_result_int64(context, cluster() + 1);
          break;
        case kSimilarity:
          sqlite3_result_double(context, fit.similarity(row_));  // NaN becomes NULL
          break;
        case kDistance:
          sqlite3_result_double(context, fit.clustering.distance(row_));
          break;
        case kSilhouette:
          sqlite3_result_double(context, fit.clustering.silhouette(row_));
          break;
        default:
          return scan_.return_input(context, column);
      }
      return {};
    }

    Result<int64_t> rowid() { return scan_.rowid(scan_.fit().row_id(row_)); }

   private:
    int64_t cluster() const { return scan_.fit().clustering.rows[static_cast<size_t>(row_)].first; }

    // Moves to the next row to visit, if the current one is not.
    Status skip() {
      while (row_ < end_ && (cluster() < 0 || (scan_.cluster() && cluster() != *scan_.cluster()))) ++row_;
      return row_ < end_ ? Status() : scan_.model().health();  // of the words that were read
    }

    KMeansScan scan_;
    int64_t row_ = 0;
    int64_t end_ = 0;
  };
};

}  // namespace

int register_glove_kmeans(sqlite3* db, Engine& engine) {
  // No security flag, as glove_nn: it depends on the models, and changes nothing.
  return vtab::register_table<GloveKMeans>(db, engine);
}

}  // namespace glove::sql
