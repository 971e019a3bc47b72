// xBestIndex of glove_nn and of the tables of glove_index: which conditions become arguments of xFilter (the
// table of plans is in glove_nn_plan.h), in what order the rows come, and what a plan costs.
#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "search/catalog.h"
#include "sql/adapter/arguments.h"
#include "sql/adapter/inputs.h"
#include "sql/nn/among_input.h"
#include "sql/nn/glove_nn_plan.h"

namespace glove::sql::nn {
namespace {

// The cost of a row of an index, where every row of the user's table is read.
constexpr double kCostOfIndexedRow = 5;
// What one search of an index for the ranks of some rows costs, of one without the condition on these rows.
// Later ones are answered by ranks that are kept, but a filter with an index of its own is to be the inner
// loop: SQLite expects 10 rows of it, and the search may end once LIMIT is reached.
constexpr double kCostOfRanks = 0.65;

// A condition of the statement on a column of this table.
struct Condition {
  int index = -1;          // in aConstraint
  bool may_be_in = false;  // x IN (...): SQLite calls xFilter once per value unless the IN is taken whole
  bool whole = false;      // taken whole
};

vtab::InputSet bits_of(const RankedColumns& columns, std::initializer_list<Column> meanings) {
  vtab::InputSet bits = 0;
  for (const Column meaning : meanings)
    if (const int column = columns.with(meaning); column >= 0) bits |= vtab::bit_of(column);
  return bits;
}

class Planner {
 public:
  Planner(const RankedColumns& columns, sqlite3_index_info* info, Pushdowns pushdowns, sqlite3* db,
          const SizeOfRelation& size)
      : columns_(columns),
        info_(info),
        pushdowns_(pushdowns),
        db_(db),
        size_(size),
        k_(columns.with(kK)),
        among_(columns.with(kAmong)),
        queries_(bits_of(columns, {kWord, kExpr})),
        asked_(vtab::asked_inputs(*info, columns.inputs)),
        unseen_(vtab::unseen_inputs(*info, columns.inputs)) {}

  Status plan() {
    collect();
    if (const std::string error = misuse(); !error.empty())
      return vtab::refuse_unseen(info_, columns_.inputs, Plan::kError, error);
    plan_.lists = is_index() && asks_nothing();
    if (plan_.lists) return list();
    if (const std::string error = input_error(); !error.empty())
      return vtab::refuse(info_, Plan::kError, error);
    if (unseen_ != 0)
      return vtab::refuse_unseen(info_, columns_.inputs, Plan::kError,
                                 vtab::not_given(columns_.inputs, std::countr_zero(unseen_)));
    push_inputs();
    push_neighbors();
    push_ranges();
    info_->orderByConsumed = enabled(kOrder) && order_consumed();
    push_limit();
    plan_.reads_rank = (info_->colUsed >> columns_.with(kRank) & 1) != 0;
    return finish();
  }

 private:
  Status list() {
    push_neighbors();
    info_->orderByConsumed = enabled(kOrder) && info_->nOrderBy == 1 && !info_->aOrderBy[0].desc &&
                             columns_.meaning_of(info_->aOrderBy[0].iColumn) == kNeighbor;
    return finish();
  }

  Status finish() {
    estimate();
    info_->idxNum = plan_.number();
    return vtab::set_plan_text(info_, plan_.encode(columns_));
  }

  bool enabled(Pushdown pushdown) const { return (pushdowns_ & pushdown) != 0; }
  const auto& constraint(int index) const { return info_->aConstraint[index]; }
  int meaning_of(int index) const { return columns_.meaning_of(constraint(index).iColumn); }
  std::optional<Condition>& input(int column) {
    return inputs_[static_cast<size_t>(column - columns_.inputs.first)];
  }

  bool asked(int column) const { return (asked_ & vtab::bit_of(column)) != 0; }

  void collect() {
    for (int i = 0; i < info_->nConstraint; ++i) {
      const auto& [column, op, usable, unused] = constraint(i);
      if (columns_.inputs.contains(column) && vtab::gives_input(op) && usable) collect_input(i);
    }
  }

  // The input of a column is its first usable `=` or, if there is none, its first usable IN. SQLite checks
  // the other conditions.
  void collect_input(int index) {
    std::optional<Condition>& chosen = input(constraint(index).iColumn);
    const Condition condition{index, vtab::may_be_in(info_, index), false};
    if (!chosen || (chosen->may_be_in && !condition.may_be_in)) chosen = condition;
  }

  // Returns the error for a condition that no plan can support; empty if there is none.
  std::string misuse() const {
    for (int i = 0; i < info_->nConstraint; ++i) {
      const auto& [column, op, usable, unused] = constraint(i);
      if (op == SQLITE_INDEX_CONSTRAINT_MATCH)
        return table() + " does not support MATCH; write " + columns_.how_to_ask;
      if (column == k_ && (vtab::is_lower_bound(op) || vtab::is_upper_bound(op)) && !asked(k_))
        return table() + ": k is an input, so it must be a value and not a range; use k = 10 or rank <= 10";
      if (column == among_ && vtab::is_equality(op) && is_in(i))
        return table() + ": among is one value, the set of all admissible keys" + kHowToAdmit;
    }
    return {};
  }

  // False also where SQLite cannot tell. The values then arrive one by one, and a key alone is an error.
  bool is_in(int index) const {
    return sqlite_has(kSqliteVtabIn) && index < vtab::kInLimit && vtab::may_be_in(info_, index);
  }

  bool sees_query_columns() const {
    return std::any_of(info_->aConstraint, info_->aConstraint + info_->nConstraint, [this](const auto& used) {
      return columns_.inputs.contains(used.iColumn) && (queries_ & vtab::bit_of(used.iColumn)) != 0;
    });
  }

  // Returns why the conditions that this plan may use do not allow a search; empty if they do.
  std::string input_error() {
    for (int column = columns_.inputs.first; columns_.inputs.contains(column); ++column) {
      if (!asked(column) || input(column)) continue;
      const std::string name = columns_.inputs.name(column);
      return table() + " cannot read its input " + name +
             ": SQLite found no table order in which its value is known before the search; give it as an "
             "argument or in a condition of its own with =, IS or IN (in an outer join, in the ON clause), "
             "for example FROM items i CROSS JOIN " +
             table() + " n ON n." + name + " = i." + name;
    }
    if (has_query()) return {};
    return table() + (!sees_query_columns() && (unseen_ & queries_) != 0 ? columns_.query_not_passed
                                                                         : columns_.no_query);
  }

  std::string table() const { return columns_.inputs.table; }

  bool has_query() {
    for (int column = columns_.inputs.first; columns_.inputs.contains(column); ++column)
      if ((queries_ & vtab::bit_of(column)) != 0 && input(column)) return true;
    return false;
  }

  bool take_whole(int index) {
    return sqlite_has(kSqliteVtabIn) && index < vtab::kInLimit && sqlite3_vtab_in(info_, index, 1) != 0;
  }

  void push(int index, Relation relation, bool omit) {
    auto& usage = info_->aConstraintUsage[index];
    usage.argvIndex = static_cast<int>(plan_.arguments.size()) + 1;
    usage.omit = omit;
    const bool hint = relation == Relation::kLimit || relation == Relation::kOffset;
    const int column = constraint(index).iColumn;
    plan_.arguments.push_back({relation, hint ? -1 : columns_.meaning_of(column)});
  }

  // Tells SQLite to omit its own check of an input, because NULL = NULL is not true. SQLite omits checks only
  // for the first 16 constraints, and not for an OR that it evaluates branch by branch. In those cases it
  // reads the input, and reading a NULL input is an error.
  //
  // An IN is taken whole if SQLite can pass it (3.38 and later), so that it is one search. Otherwise SQLite
  // might also stop looking for plans once one without the IN, such as the error plan, needs no other table.
  void push_inputs() {
    for (int column = columns_.inputs.first; columns_.inputs.contains(column); ++column) {
      auto& chosen = input(column);
      if (!chosen) continue;
      const bool batch = std::ranges::count(kBatchOrder, columns_.meanings[static_cast<size_t>(column)]) > 0;
      chosen->whole = batch && chosen->may_be_in && enabled(kBatch) && take_whole(chosen->index);
      push(chosen->index, chosen->whole ? Relation::kIn : Relation::kEqual, true);
    }
  }

  // True if SQLite splits the IN of an input. SQLite 3.53 then finds no plan for a pushed neighbor.
  bool has_loop() const {
    return std::any_of(inputs_.begin(), inputs_.end(),
                       [](const auto& chosen) { return chosen && chosen->may_be_in && !chosen->whole; });
  }

  bool is_index() const { return columns_.with(kWord) < 0; }

  // Whether the statement uses no input at all, and neither filters nor sorts by what only a query has.
  bool asks_nothing() const {
    const auto needs_query = [this](const auto& used) {
      const int meaning = columns_.meaning_of(used.iColumn);
      return meaning == kSimilarity || meaning == kDistance || meaning == kRank;
    };
    return asked_ == 0 && unseen_ == 0 &&
           std::none_of(info_->aConstraint, info_->aConstraint + info_->nConstraint, needs_query) &&
           std::none_of(info_->aOrderBy, info_->aOrderBy + info_->nOrderBy, needs_query);
  }

  // Pushes neighbor = ? and neighbor IN (...) if words compare by their bytes. An IN must be taken whole: if
  // SQLite splits it, numbers and BLOBs among its values return rows twice or not at all. SQLite always
  // checks these conditions again. (The parts of a row value, (neighbor, x) IN (SELECT ...), cannot be
  // distinguished from neighbor = ?; SQLite splits those in any case.)
  void push_neighbors() {
    if (!sqlite_has(kSqliteVtabIn) || has_loop()) return;
    if (columns_.keys != nullptr) push_key();
    for (int i = 0; i < std::min(info_->nConstraint, vtab::kInLimit); ++i) {
      const int meaning = meaning_of(i);
      const bool is_key = meaning == kNeighbor || (meaning == kRowid && is_index());
      if (!is_key || !compares_by(i, "BINARY")) continue;
      const bool in = vtab::may_be_in(info_, i);
      if (!enabled(in ? kNeighborIn : kNeighborEqual) || (in && !take_whole(i))) continue;
      push(i, in ? Relation::kIn : Relation::kEqual, false);
      (in ? neighbor_in_ : neighbor_equal_) = true;
    }
  }

  bool compares_by(int index, const char* collation) const {
    return constraint(index).usable && vtab::is_equality(constraint(index).op) &&
           vtab::has_collation(info_, index, collation);
  }

  // Pushes a whole key of several columns; an IN only if it is the only column.
  void push_key() {
    std::vector<int> conditions(static_cast<size_t>(columns_.key_parts), -1);
    for (int i = std::min(info_->nConstraint, vtab::kInLimit) - 1; i >= 0; --i)
      if (const int part = meaning_of(i) - kKeyPart; part >= 0)
        if (compares_by(i, columns_.keys->collation(part)) &&
            (columns_.key_parts == 1 || !vtab::may_be_in(info_, i)))
          conditions[static_cast<size_t>(part)] = i;
    if (std::ranges::count(conditions, -1) > 0) return;
    const bool in = vtab::may_be_in(info_, conditions.front());
    if (!enabled(in ? kNeighborIn : kNeighborEqual) || (in && !take_whole(conditions.front()))) return;
    for (const int condition : conditions) push(condition, in ? Relation::kIn : Relation::kEqual, false);
    (in ? neighbor_in_ : neighbor_equal_) = true;
  }

  void push_ranges() {
    for (int i = 0; i < info_->nConstraint; ++i) {
      const auto& [unnamed, op, usable, unused] = constraint(i);
      const int column = meaning_of(i);
      if (!usable || (column != kRank && column != kSimilarity && column != kDistance)) continue;
      if (!enabled(column == kRank ? kRankRange : kSimilarityRange)) continue;
      const std::optional<Relation> relation = range_relation(op);
      if (!relation || (*relation == Relation::kEqual && vtab::may_be_in(info_, i))) continue;
      push(i, *relation, false);
    }
  }

  // Passes LIMIT and OFFSET only to size the first piece, because SQLite may still discard rows of this
  // table. This is useful only if every other constraint was pushed and our order is the requested one.
  void push_limit() {
    if (!enabled(kLimitHint) || !sqlite_has(kSqliteVtabIn)) return;
    if (info_->nOrderBy > 0 && !info_->orderByConsumed) return;
    std::optional<int> limit, offset;
    for (int i = 0; i < info_->nConstraint; ++i) {
      const auto& [column, op, usable, unused] = constraint(i);
      if (op == SQLITE_INDEX_CONSTRAINT_LIMIT && usable)
        limit = i;
      else if (op == SQLITE_INDEX_CONSTRAINT_OFFSET && usable)
        offset = i;
      else if (info_->aConstraintUsage[i].argvIndex == 0)
        return;
    }
    if (has_loop() || !limit) return;
    push(*limit, Relation::kLimit, false);
    if (offset) push(*offset, Relation::kOffset, false);
  }

  bool is_batch(int column) {
    return columns_.inputs.contains(column) && input(column) && input(column)->whole;
  }
  bool is_fixed(int column) {
    return columns_.inputs.contains(column) && input(column) && !input(column)->whole;
  }

  // True if our order is the requested one. Rows are sorted by the values of the batches, in the order of
  // kBatchOrder, and then by rank. An input given by one = is the same in all rows. Batches of text are
  // sorted by their UTF-8 bytes, which is SQLite's order if it stores UTF-8. (If SQLite splits an IN, it
  // clears orderByConsumed itself.)
  bool order_consumed() {
    size_t batch = 0;
    const auto next_batch = [&] {
      while (batch < kBatchOrder.size() && !is_batch(columns_.with(kBatchOrder[batch]))) ++batch;
      return batch < kBatchOrder.size() ? columns_.with(kBatchOrder[batch]) : -1;
    };
    for (int i = 0; i < info_->nOrderBy; ++i) {
      const auto& [column, descending] = info_->aOrderBy[i];
      if (is_fixed(column)) continue;
      if (const int expected = next_batch(); expected >= 0) {
        if (column != expected || descending || (column != k_ && !stores_utf8(db_))) return false;
        ++batch;
        continue;
      }
      const int meaning = columns_.meaning_of(column);
      if (meaning == kRank) return !descending;
      plan_.sorts_by_similarity = meaning == kSimilarity && !is_index();
      return meaning == (descending ? kSimilarity : kDistance) && only_rank_follows(i + 1);
    }
    return info_->nOrderBy > 0 && next_batch() < 0;
  }

  // True if the ORDER BY terms from `i` on are consistent with equal similarities being ordered by rank.
  bool only_rank_follows(int i) {
    for (; i < info_->nOrderBy; ++i) {
      const auto& [column, descending] = info_->aOrderBy[i];
      if (columns_.meaning_of(column) == kRank) return !descending;
      if (!is_fixed(column) && !is_batch(column)) return false;
    }
    return true;
  }

  // Returns the literal on the right-hand side of a constraint; nullptr if it is not a literal or SQLite
  // cannot tell.
  sqlite3_value* literal(int index) const {
    sqlite3_value* value = nullptr;
    if (!sqlite_has(kSqliteVtabIn) || sqlite3_vtab_rhs_value(info_, index, &value) != SQLITE_OK)
      return nullptr;
    return value;
  }

  // Estimates how many rows a search returns: the literal k, a guess for an unknown k, or all words. Ranges
  // lower the estimate only for a literal query; otherwise one of several searches combined by OR would look
  // cheaper than another for no reason.
  double rows_of_search(double words) {
    double rows = words;
    if (const auto& k = input(k_)) {
      sqlite3_value* value = literal(k->index);
      if (value == nullptr || !is_null(value))
        rows = std::min(rows, value == nullptr ? 10.0 : sqlite3_value_double(value));
    }
    const auto& query = input(columns_.with(columns_.with(kWord) >= 0 ? kWord : kExpr));
    if (!query || literal(query->index) == nullptr || has_null_input()) return std::max(rows, 1.0);
    for (const Argument& argument : plan_.arguments) {
      const int index = index_of(argument);
      sqlite3_value* value = literal(index);
      if (argument.column == kSimilarity || argument.column == kDistance) rows /= 4;
      if (argument.column != kRank || argument.relation == Relation::kAtLeast || value == nullptr) continue;
      rows = std::min(rows, argument.relation == Relation::kEqual ? 1.0 : sqlite3_value_double(value));
    }
    return std::max(rows, 1.0);
  }

  // True if an input is a literal NULL. In the branches of an OR, SQLite compares such an input itself and
  // would return no rows, so the plan ends in an error and must not look cheap.
  bool has_null_input() const {
    return std::any_of(inputs_.begin(), inputs_.end(), [this](const std::optional<Condition>& chosen) {
      sqlite3_value* value = chosen ? literal(chosen->index) : nullptr;
      return value != nullptr && is_null(value);
    });
  }

  int index_of(const Argument& argument) const {
    const auto position = &argument - plan_.arguments.data() + 1;
    int i = info_->nConstraint - 1;
    while (i >= 0 && info_->aConstraintUsage[i].argvIndex != position) --i;
    return i;
  }

  // Sets the cost, in units of about one row that SQLite reads: a search reads words x dims codes, and each
  // row that it returns costs one unit, or more of an index.
  void estimate() {
    const int model = columns_.with(kModel);
    sqlite3_value* named = nullptr;
    if (model >= 0) {
      if (const auto condition = input(model); condition.has_value()) named = literal(condition->index);
    }
    const RelationSize size = size_(named);
    const double scan = 100 + size.rows * size.dims / 1000;
    double rows = rows_of_search(size.rows);
    double cost = is_index() ? (rows < size.rows ? scan : 0) + rows * kCostOfIndexedRow : scan + rows;
    if (neighbor_equal_ || neighbor_in_) {
      const double asked = neighbor_equal_ ? 1 : 25;
      const bool needs_rank = plan_.reads_rank || input(k_);
      // Below the plan without the neighbors: the same cost would make SQLite's estimates of an OR
      // meaningless.
      cost = needs_rank ? cost * (is_index() ? kCostOfRanks : 0.9) : 10 * asked;
      rows = std::min(rows, asked);
    }
    for (const auto& chosen : inputs_) {
      if (!chosen || !chosen->whole) continue;
      cost *= 25.0 / 8;
      rows *= 25;
    }
    info_->estimatedCost = cost;
    info_->estimatedRows = static_cast<sqlite3_int64>(std::ceil(rows));
  }

  const RankedColumns& columns_;
  sqlite3_index_info* info_;
  Pushdowns pushdowns_;
  sqlite3* db_;
  const SizeOfRelation& size_;
  const int k_, among_;           // their columns
  const vtab::InputSet queries_;  // the inputs that say what to search for
  const vtab::InputSet asked_;    // inputs that some condition gives, usable or not
  const vtab::InputSet unseen_;   // inputs that the statement uses but no visible condition gives
  std::array<std::optional<Condition>, kInputs> inputs_;
  bool neighbor_equal_ = false;
  bool neighbor_in_ = false;
  Plan plan_;
};

}  // namespace

Status best_index(const RankedColumns& columns, sqlite3_index_info* info, Pushdowns pushdowns, sqlite3* db,
                  const SizeOfRelation& size) {
  return Planner(columns, info, pushdowns, db, size).plan();
}

}  // namespace glove::sql::nn
