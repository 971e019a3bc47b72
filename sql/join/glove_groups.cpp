// glove_groups: the groups into which the pairs of glove_pairs join the rows of a model or an index
// (connected components). Exact.
//
//   SELECT id, group_id FROM glove_groups WHERE target = 'doc_vec' AND min_similarity = 0.95 AND size > 1;
//
//   CREATE TABLE glove_groups(id, group_id, size INTEGER, target TEXT HIDDEN, min_similarity REAL HIDDEN,
//                             max_distance REAL HIDDEN, k INTEGER HIDDEN, among BLOB HIDDEN,
//                             backend TEXT HIDDEN);
//
// The inputs are those of glove_pairs. With k, a row and each of its k nearest ones are in one group. Every
// row that can be in a pair has a row here, by ascending ids; group_id is the key of the group's first row.
#include <algorithm>
#include <utility>

#include "sql/adapter/interrupt.h"
#include "sql/join/join_inputs.h"
#include "sql/register.h"
#include "sql/adapter/fit_table.h"

namespace glove::sql {
namespace {

// Rows by their positions, in groups that can be joined. A group is known by its first row.
class DisjointGroups {
 public:
  explicit DisjointGroups(int64_t rows = 0) : rows_(static_cast<size_t>(rows), -1) {}

  int64_t first_of(int64_t row) {
    int64_t first = row;
    while (at(first) >= 0) first = at(first);
    while (row != first) row = std::exchange(at(row), static_cast<int32_t>(first));
    return first;
  }
  void join(int64_t a, int64_t b) {
    a = first_of(a);
    b = first_of(b);
    if (a > b) std::swap(a, b);
    if (a == b) return;
    at(a) += at(b);
    at(b) = static_cast<int32_t>(a);
  }
  // REQUIRES: the row is the first of its group.
  int64_t size(int64_t first) const { return -rows_[static_cast<size_t>(first)]; }

 private:
  int32_t& at(int64_t row) { return rows_[static_cast<size_t>(row)]; }

  std::vector<int32_t> rows_;  // a row before it in the group; of the first row, minus the group's size
};

// Returns the position of the row with this id, which is one of the side.
int64_t position_of(const JoinSide& side, int64_t id) {
  int64_t first = 0, end = side.rows();
  while (end - first > 1) {
    const int64_t middle = first + (end - first) / 2;
    (side.id(middle) <= id ? first : end) = middle;
  }
  return first;
}

enum GroupColumn : int { kId, kGroupId, kSize, kFirstGroupInput };

class GroupRows {
 public:
  static constexpr const char* kName = "glove_groups";
  static constexpr const char* kSchema =
      "CREATE TABLE glove_groups(id, group_id, size INTEGER, target TEXT HIDDEN, "
      "min_similarity REAL HIDDEN, max_distance REAL HIDDEN, k INTEGER HIDDEN, among BLOB HIDDEN, "
      "backend TEXT HIDDEN)";
  static constexpr vtab::InputColumns kInputs = {kName, kFirstGroupInput,
                                                 std::span(kJoinInputs).first(kPairs), kJoinCondition};

  static Status plan(sqlite3_index_info* info) {
    return vtab::plan_inputs(info, kInputs, vtab::bit_of(kFirstGroupInput), 1e8, 1e5);
  }

  Result<FitRange> start(Connection::Pin& models, const vtab::InputValues& inputs, int plan, Arguments) {
    InterruptPoller poller(models.connection().db());
    const InterruptCheck interrupted = poller;
    InterruptPoll poll(interrupted);
    GLOVE_ASSIGN_OR_RETURN(join_, open_join(models, kInputs, inputs, plan, interrupted));
    if (join_ == nullptr) return FitRange();
    const JoinTarget& rows = *join_->rows;
    groups_ = DisjointGroups(rows.rows());
    while (true) {
      GLOVE_ASSIGN_OR_RETURN(const auto pairs, join_->pairs->next(interrupted));
      if (pairs.empty()) return FitRange{inputs.key(), nullptr, 0, rows.rows()};
      for (const JoinedPair& pair : pairs) {
        GLOVE_RETURN_IF_ERROR(poll.check());
        groups_.join(position_of(rows, pair.a), position_of(rows, pair.b));
      }
    }
  }

  bool has(int64_t row) const { return !std::ranges::binary_search(join_->pairs->left_out(), row); }

  Status column(sqlite3_context* context, int64_t row, int column) {
    const int64_t first = groups_.first_of(row);
    if (column != kSize)
      return join_->rows->return_key(context, join_->rows->id(column == kId ? row : first));
    sqlite3_result_int64(context, groups_.size(first));
    return {};
  }

  static int64_t id(int64_t row) { return row; }

 private:
  std::unique_ptr<OpenJoin> join_;
  DisjointGroups groups_;
};

}  // namespace

// Neither INNOCUOUS nor DIRECTONLY, for the reasons of glove_nn.
constexpr SqlObject kGloveGroups = vtab::table_object<FitTable<GroupRows>>();

}  // namespace glove::sql
