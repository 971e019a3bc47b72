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
#include "sql/toolbox/kmeans_fit.h"

namespace glove::sql {
namespace {

class MemberRows : public KMeansRows {
 public:
  enum Column : int { kWord, kCluster, kSimilarity, kDistance, kSilhouette, kFirstInput };

  static constexpr const char* kName = "glove_kmeans";
  static constexpr const char* kSchema =
      "CREATE TABLE glove_kmeans(word TEXT, cluster INTEGER, similarity REAL, distance REAL, silhouette "
      "REAL, "
      "k INTEGER HIDDEN, words TEXT HIDDEN, model TEXT HIDDEN, backend TEXT HIDDEN, options TEXT HIDDEN)";
  static constexpr const char* kInputNames[] = {"k", "words", "model", "backend", "options"};
  static constexpr vtab::InputColumns kInputs = {kName, kFirstInput, kInputNames, "k = 8"};
  static constexpr KMeansColumns kColumns = {kInputs, kWord, kCluster, 400000};

  static Status plan(sqlite3_index_info* info) { return plan_kmeans(info, kColumns); }

  Result<FitRange> start(Connection::Pin& models, const vtab::InputValues& inputs, int plan,
                         Arguments values) {
    GLOVE_RETURN_IF_ERROR(find(models, inputs, kColumns, plan, values));
    if (!row_) return range(0, fit().rows());
    return *row_ < 0 ? range(0, 0) : range(*row_, *row_ + 1);
  }

  bool has(int64_t row) const { return cluster_of(row) >= 0 && (!cluster_ || cluster_of(row) == *cluster_); }

  void column(sqlite3_context* context, int64_t row, int column) {
    if (column == kWord) return_word(context, words(), id(row));
    if (column == kCluster) sqlite3_result_int64(context, cluster_of(row) + 1);
    if (column == kSimilarity) sqlite3_result_double(context, fit().similarity(row));  // NaN becomes NULL
    if (column == kDistance) sqlite3_result_double(context, fit().clustering.distance(row));
    if (column == kSilhouette) sqlite3_result_double(context, fit().clustering.silhouette(row));
  }

  int64_t id(int64_t row) const { return row_id(row); }

 private:
  int64_t cluster_of(int64_t row) const { return fit().clustering.rows[static_cast<size_t>(row)].first; }
};

}  // namespace

// No security flag, as glove_nn: it depends on the models, and changes nothing.
constexpr SqlObject kGloveKmeans = vtab::table_object<FitTable<MemberRows>>();

}  // namespace glove::sql
