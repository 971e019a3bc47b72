// glove_pairs: the pairs of near rows of a model or an index, or of two. Exact.
//
//   SELECT a, b, similarity FROM glove_pairs WHERE target = 'doc_vec' AND min_similarity = 0.95;
//   SELECT a, b, rank FROM glove_pairs WHERE target = 'doc_vec' AND k = 15;
//   SELECT a, b, similarity FROM glove_pairs WHERE target = 'doc_vec' AND pairs = 1000;
//   SELECT a, b FROM glove_pairs WHERE target = 'a_vec' AND other = 'b_vec' AND k = 1;
//
//   CREATE TABLE glove_pairs(a, b, rank INTEGER, similarity REAL, distance REAL, target TEXT HIDDEN,
//                            min_similarity REAL HIDDEN, max_distance REAL HIDDEN, k INTEGER HIDDEN,
//                            among BLOB HIDDEN, backend TEXT HIDDEN, pairs INTEGER HIDDEN, other TEXT
//                            HIDDEN);
//
// target, other  an index, which may be 'schema.name', or a loaded model; without `other`, the target's rows
//                are joined with one another: each pair once, a before b by the rows' ids, unless k is given
// min_similarity, max_distance (of indexes by l2)   all pairs from there on
// k              of each row a the k nearest rows b, with their ranks; a row is none of its own
// pairs          so many nearest pairs of all; ties by a, then by b
// among          the keys of the rows that take part, on both sides
//
// A row without a direction has no cosine, and is in no pair.
#include "sql/adapter/fit_table.h"
#include "sql/adapter/interrupt.h"
#include "sql/join/join_inputs.h"
#include "sql/register.h"

namespace glove::sql {
namespace {

enum PairColumn : int { kA, kB, kRank, kSimilarity, kDistance, kFirstPairInput };

class PairRows {
 public:
  static constexpr const char* kName = "glove_pairs";
  static constexpr const char* kSchema =
      "CREATE TABLE glove_pairs(a, b, rank INTEGER, similarity REAL, distance REAL, target TEXT HIDDEN, "
      "min_similarity REAL HIDDEN, max_distance REAL HIDDEN, k INTEGER HIDDEN, among BLOB HIDDEN, "
      "backend TEXT HIDDEN, pairs INTEGER HIDDEN, other TEXT HIDDEN)";
  static constexpr vtab::InputColumns kInputs = {kName, kFirstPairInput, kJoinInputs, kJoinCondition};

  static Status plan(sqlite3_index_info* info) {
    return vtab::plan_inputs(info, kInputs, vtab::bit_of(kFirstPairInput), 1e8, 1e5);
  }

  Result<FitRange> start(Connection::Pin& models, const vtab::InputValues& inputs, int plan, Arguments) {
    left_ = {};
    InterruptPoller poller(models.connection().db());
    GLOVE_ASSIGN_OR_RETURN(join_, open_join(models, kInputs, inputs, plan, poller));
    return join_ == nullptr ? FitRange() : FitRange{inputs.key(), nullptr, 0, FitRange::kUnknownEnd};
  }
  Result<bool> find(Connection::Pin& models) {
    left_ = {};
    InterruptPoller poller(models.connection().db());
    GLOVE_ASSIGN_OR_RETURN(left_, join_->pairs->next(poller));
    return !left_.empty();
  }
  bool next_buffered() noexcept {
    if (left_.size() <= 1) return false;
    left_ = left_.subspan(1);
    return true;
  }
  Status column(sqlite3_context* context, int64_t, int column) {
    const JoinedPair& pair = left_.front();
    const RowMetric metric = join_->rows->metric();
    if (column == kA) return join_->rows->return_key(context, pair.a);
    if (column == kB) return join_->other_side().return_key(context, pair.b);
    if (column == kRank && pair.rank > 0) sqlite3_result_int64(context, pair.rank);
    if (column == kSimilarity && !ranks_by_distance(metric)) sqlite3_result_double(context, pair.score);
    if (column == kDistance) sqlite3_result_double(context, distance_of(metric, pair.score));
    return {};
  }
  static int64_t id(int64_t row) { return row; }

 private:
  std::unique_ptr<OpenJoin> join_;
  std::span<const JoinedPair> left_;  // that were found, from the current one on
};

}  // namespace

// Neither INNOCUOUS nor DIRECTONLY, for the reasons of glove_nn.
constexpr SqlObject kGlovePairs = vtab::table_object<FitTable<PairRows>>();

}  // namespace glove::sql
