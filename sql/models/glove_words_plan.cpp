#include "sql/models/glove_words_plan.h"

#include <bit>

namespace glove::sql {

static constexpr const char* kInputNames[] = {"model", "like"};
const vtab::InputColumns kWordsInputs = {"glove_words", kWordsModel, kInputNames, "id = 1"};

namespace {

// Costs are numbers of rows: they only need to rank the paths, and joins, by how many rows they visit.
constexpr double kAssumedWords = 400000;
constexpr double kLookupCost = 10;  // a binary search in the sorted words
constexpr double kCostOfDistance = 2;
constexpr int kAssumedListLength = 25;
constexpr int kFirstUnreliableOmit = 16;  // SQLite ignores `omit` for constraints from this index on

// The first usable constraint of each kind, as an index into aConstraint; -1 if there is none.
struct Found {
  int id = -1, id_lower = -1, id_upper = -1;
  int word = -1, word_list = -1, word_lower = -1, word_upper = -1, pattern = -1;
};

void keep_first(int& slot, int index) {
  if (slot < 0) slot = index;
}

void find_on_id(Found& found, int op, int index) {
  // SQLite compares ids as numbers, so a value in SQLite's own loop over an IN list is exact too.
  if (vtab::is_equality(op)) keep_first(found.id, index);
  if (vtab::is_lower_bound(op)) keep_first(found.id_lower, index);
  if (vtab::is_upper_bound(op)) keep_first(found.id_upper, index);
}

void find_on_word(Found& found, sqlite3_index_info* info, int op, int index, bool utf8) {
  if (op == SQLITE_INDEX_CONSTRAINT_GLOB) keep_first(found.pattern, index);
  if (!vtab::is_binary(info, index)) return;
  if (vtab::is_equality(op) && sqlite_has(kSqliteVtabIn) && index < vtab::kInLimit) {
    // If SQLite looped over an IN list, each value that is not TEXT would visit all words and so return rows
    // twice. Therefore a list is taken whole or not at all, and if SQLite cannot distinguish a list from a
    // value, neither is used.
    const bool is_list = vtab::may_be_in(info, index);
    keep_first(is_list ? found.word_list : found.word, index);
  }
  if (!utf8) return;
  if (vtab::is_lower_bound(op)) keep_first(found.word_lower, index);
  if (vtab::is_upper_bound(op)) keep_first(found.word_upper, index);
}

Found find_constraints(sqlite3_index_info* info, bool utf8) {
  Found found;
  for (int index = 0; index < info->nConstraint; ++index) {
    const auto& constraint = info->aConstraint[index];
    if (!constraint.usable) continue;
    if (constraint.iColumn == kWordsId) find_on_id(found, constraint.op, index);
    if (constraint.iColumn == kWordsWord) find_on_word(found, info, constraint.op, index, utf8);
  }
  return found;
}

// True if some condition or ORDER BY depends on the order of words.
bool order_matters(sqlite3_index_info* info) {
  for (int i = 0; i < info->nOrderBy; ++i)
    if (info->aOrderBy[i].iColumn == kWordsWord) return true;
  for (int i = 0; i < info->nConstraint; ++i)
    if (info->aConstraint[i].iColumn == kWordsWord && !vtab::is_equality(info->aConstraint[i].op))
      return true;
  return false;
}

// Fills in a plan: the constraints that xFilter receives, and their order.
class WordsPlanner {
 public:
  WordsPlanner(sqlite3_index_info* info, bool utf8)
      : info_(info), utf8_(utf8), found_(find_constraints(info, utf8)) {}

  Status plan() {
    GLOVE_RETURN_IF_ERROR(vtab::plan_inputs(info_, kWordsInputs, 0, 0, 0));
    if (info_->idxNum >= 0) choose();  // otherwise the plan raises an error
    return {};
  }

 private:
  void choose() {
    flags_ = info_->idxNum;
    arguments_ = std::popcount(static_cast<unsigned>(flags_));
    for (int i = kFirstUnreliableOmit; i < info_->nConstraint; ++i)
      if (info_->aConstraint[i].iColumn == kWordsModel && info_->aConstraintUsage[i].argvIndex > 0)
        flags_ |= kWordsModelChecked;
    if ((flags_ >> (kWordsLike - kWordsModel) & 1) != 0) {
      info_->orderByConsumed = ordered_by(kWordsDistance);
      return finish(kByDistance, kCostOfDistance * kAssumedWords, kAssumedWords);
    }
    if (pass(found_.id, 0)) return finish(kOneId, 1, 1);
    if (pass(found_.word, 0)) return finish(kOneWord, kLookupCost, 1);
    if (found_.word_list >= 0) {
      sqlite3_vtab_in(info_, found_.word_list, 1);
      pass(found_.word_list, 0);
      return finish(kListedWords, kAssumedListLength * kLookupCost, kAssumedListLength);
    }
    if (found_.pattern >= 0 || found_.word_lower >= 0 || found_.word_upper >= 0) return by_word();
    if (utf8_ && ordered_by(kWordsWord)) return by_word();
    by_id();
  }

  // Passes a constraint to xFilter as its next argument.
  bool pass(int index, int flag) {
    if (index < 0) return false;
    info_->aConstraintUsage[index].argvIndex = ++arguments_;
    flags_ |= flag;
    return true;
  }

  bool ordered_by(int column) const {
    return info_->nOrderBy == 1 && info_->aOrderBy[0].iColumn == column && info_->aOrderBy[0].desc == 0;
  }

  bool is_literal(int index) const {
    sqlite3_value* value = nullptr;
    return sqlite_has(kSqliteVtabIn) && sqlite3_vtab_rhs_value(info_, index, &value) == SQLITE_OK &&
           sqlite3_value_type(value) == SQLITE_TEXT;
  }

  void by_word() {
    double share = 1;
    if (pass(found_.word_lower, kWordsHasLower)) share /= 4;
    if (pass(found_.word_upper, kWordsHasUpper)) {
      share /= 4;
      if (is_literal(found_.word_upper)) flags_ |= kWordsUpperIsLiteral;
    }
    if (pass(found_.pattern, kWordsHasPattern)) share /= 64;
    // Visiting the words in sorted order accesses memory at random.
    finish(kByWord, kLookupCost + 1.5 * share * kAssumedWords, share * kAssumedWords);
    info_->orderByConsumed = utf8_ && ordered_by(kWordsWord);
  }

  void by_id() {
    double share = 1;
    if (pass(found_.id_lower, kWordsHasLower)) share /= 4;
    if (pass(found_.id_upper, kWordsHasUpper)) share /= 4;
    finish(kAllById, share * kAssumedWords, share * kAssumedWords);
    info_->orderByConsumed = ordered_by(kWordsId);
  }

  void finish(WordsPath path, double cost, double rows) {
    info_->idxNum = flags_ | path << kWordsPathShift;
    info_->estimatedCost = cost;
    info_->estimatedRows = static_cast<sqlite3_int64>(rows);
    // Not for kOneWord, because 5 equals the words '5' and '05'.
    if (path == kOneId) info_->idxFlags |= SQLITE_INDEX_SCAN_UNIQUE;
  }

  sqlite3_index_info* info_;
  bool utf8_;
  Found found_;
  int arguments_ = 0;
  int flags_ = 0;
};

}  // namespace

Status plan_words(sqlite3_index_info* info, sqlite3* db) {
  return WordsPlanner(info, order_matters(info) && stores_utf8(db)).plan();
}

}  // namespace glove::sql
