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
#include "sql/adapter/input_numbers.h"
#include "sql/adapter/interrupt.h"
#include "sql/adapter/table.h"
#include "sql/join/join_inputs.h"
#include "sql/register.h"

namespace glove::sql {
namespace {

enum PairColumn : int { kA, kB, kRank, kSimilarity, kDistance, kFirstPairInput };

class PairsTable {
 public:
  static constexpr const char* kName = "glove_pairs";
  static constexpr const char* kSchema =
      "CREATE TABLE glove_pairs(a, b, rank INTEGER, similarity REAL, distance REAL, target TEXT HIDDEN, "
      "min_similarity REAL HIDDEN, max_distance REAL HIDDEN, k INTEGER HIDDEN, among BLOB HIDDEN, "
      "backend TEXT HIDDEN, pairs INTEGER HIDDEN, other TEXT HIDDEN)";
  static constexpr vtab::InputColumns kInputs = {kName, kFirstPairInput, kJoinInputs, kJoinCondition};

  explicit PairsTable(Connection&) {}

  Status plan(sqlite3_index_info* info) {
    return vtab::plan_inputs(info, kInputs, vtab::bit_of(kFirstPairInput), 1e8, 1e5);
  }

  class Cursor {
   public:
    Cursor(PairsTable& table, Connection::Pin& models)
        : models_(models), inputs_(kInputs), rowids_(table.numbers_, kName) {}

    Status start(int plan, const char* plan_text, Arguments values) {
      left_ = {};
      join_.reset();
      position_ = 0;
      GLOVE_RETURN_IF_ERROR(inputs_.read(plan, plan_text, values));
      rowids_.start(inputs_.key());
      InterruptPoller poller(models_.connection().db());
      GLOVE_ASSIGN_OR_RETURN(join_, open_join(models_, kInputs, inputs_, plan, poller));
      return join_ == nullptr ? Status() : find(poller);
    }
    Status next() {
      if (next_buffered()) return {};
      ++position_;
      left_ = {};
      InterruptPoller poller(models_.connection().db());
      return find(poller);
    }
    bool next_buffered() noexcept {
      if (left_.size() <= 1) return false;
      left_ = left_.subspan(1);
      ++position_;
      return true;
    }
    bool at_end() const noexcept { return left_.empty(); }
    Status column(sqlite3_context* context, int column) {
      const JoinedPair& pair = left_.front();
      const RowMetric metric = join_->rows->metric();
      if (column == kA) return join_->rows->return_key(context, pair.a);
      if (column == kB) return join_->other_side().return_key(context, pair.b);
      if (kInputs.contains(column)) return inputs_.return_input(context, column);
      if (column == kRank && pair.rank > 0) sqlite3_result_int64(context, pair.rank);
      if (column == kSimilarity && !ranks_by_distance(metric)) sqlite3_result_double(context, pair.score);
      if (column == kDistance) sqlite3_result_double(context, distance_of(metric, pair.score));
      return {};
    }
    Result<int64_t> rowid() { return rowids_.rowid(position_); }

   private:
    Status find(InterruptPoller& poller) {
      GLOVE_ASSIGN_OR_RETURN(left_, join_->pairs->next(poller));
      return {};
    }

    Connection::Pin& models_;
    vtab::InputValues inputs_;
    vtab::ScanRowids rowids_;
    std::unique_ptr<OpenJoin> join_;
    std::span<const JoinedPair> left_;  // that were found, from the current one on
    int64_t position_ = 0;              // of the current one
  };

 private:
  vtab::InputNumbers numbers_;
};

}  // namespace

// Neither INNOCUOUS nor DIRECTONLY, for the reasons of glove_nn.
constexpr SqlObject kGlovePairs = vtab::table_object<PairsTable>();

}  // namespace glove::sql
