// Inputs are hidden columns whose values a scan requires before it begins, such as `model`. A statement gives
// an input as an argument or with =, IS or IN. An input is not an attribute of the rows: each value has its
// own rows, so a row cannot be compared with a value that the scan was not given.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sql/adapter/arguments.h"

namespace glove::sql {

// True if the connection stores text as UTF-8. Also false if this cannot be determined because an authorizer
// forbids the pragma, so callers must treat false as the safe answer. In UTF-16, text sorts by other bytes,
// and bytes that are not valid UTF-8 have become U+FFFD.
//
// Call this whenever it matters, because PRAGMA encoding can change the encoding until a database has its
// first table; statements are then planned again. It takes a few microseconds, and may be called inside
// xBestIndex.
bool stores_utf8(sqlite3* db);

// True if a word equals this text only if their bytes are equal.
bool equals_by_bytes(sqlite3* db, std::string_view text);

namespace vtab {

// The inputs of a table: the columns `first`, `first` + 1, ... Static storage.
struct InputColumns {
  const char* table;
  int first;
  std::span<const char* const> names;
  const char* condition;  // a typical condition, for examples in messages

  bool contains(int column) const {
    return column >= first && column < first + static_cast<int>(names.size());
  }
  std::string name(int column) const { return names[static_cast<size_t>(column - first)]; }
};

// True for = and IS, for IN (which arrives as =), and for IS NULL.
bool gives_input(int op);

// A set of inputs, one bit per column.
using InputSet = uint64_t;
constexpr InputSet bit_of(int column) {
  return InputSet{1} << column;
}

// Returns the inputs that some condition of this plan gives, whether or not its value is known in time.
InputSet asked_inputs(const sqlite3_index_info& info, const InputColumns& inputs);

// Returns the inputs that the statement uses but no condition of this plan gives.
//
// A plan without such an input must not be executed, because the scan would return the rows of only one value
// of the input, although the statement requests others as well. For `id = 1 OR (id = 1 AND model = 'b')`
// SQLite asks for a plan with id = 1 alone, since that follows from the whole, and evaluates the OR on the
// rows; the first branch is true of all of them, so `model` is never read and the rows of model b are
// missing. Therefore: if one branch of an OR gives an input, every branch must give it.
InputSet unseen_inputs(const sqlite3_index_info& info, const InputColumns& inputs);

// Returns the error for reading or comparing an input that was not given.
std::string not_given(const InputColumns& inputs, int column);

// Ends xBestIndex with a plan that must raise `error` when it is executed. An error or SQLITE_CONSTRAINT from
// xBestIndex would break statements that SQLite can plan in another way. This plan costs more than any other,
// so SQLite uses it only if there is no other.
Status refuse(sqlite3_index_info* info, int plan, const std::string& error);

// The same for a plan that only lacks an input it does not see. When SQLite asks for the cost of a branch of
// an OR, it omits the conditions beside the OR, but it includes them before it executes the branch. So this
// costs less than refuse(), but more than any plan that works.
Status refuse_unseen(sqlite3_index_info* info, const InputColumns& inputs, int plan,
                     const std::string& error);

// Passes the text to SQLite as the idxStr of the plan.
Status set_plan_text(sqlite3_index_info* info, const std::string& text);

// Makes a plan for a table that pushes down only its inputs; SQLite checks all other conditions. Each input
// has at most one value (an IN becomes one scan per value). It is an error if one of the `required` inputs is
// not given. `cost` and `rows` are those of one scan.
Status plan_inputs(sqlite3_index_info* info, const InputColumns& inputs, InputSet required, double cost,
                   double rows);

// The values of the inputs in a scan that was planned by plan_inputs(). They belong to the cursor.
class InputValues {
 public:
  explicit InputValues(const InputColumns& inputs) : inputs_(inputs), values_(inputs.names.size()) {}

  // Reads the arguments of xFilter. Returns the error of the plan if it must raise one.
  Status read(int plan, const char* plan_text, Arguments values);

  // Returns nullptr if the input was not given or is NULL, which means the same.
  sqlite3_value* operator[](int column) const;

  // Returns a string that identifies the values.
  std::string key() const;

  // Makes the input, as it was given, the result of xColumn. It is an error if it was not given.
  Status return_input(sqlite3_context* context, int column) const;

 private:
  const InputColumns& inputs_;
  std::vector<KeptValue> values_;  // null: not given
};

// What xBestIndex can learn about a constraint.

// sqlite3_vtab_in() recognises an IN among the first 32 constraints only.
constexpr int kInLimit = 32;

// True for = and IS, and for IN, which arrives as =.
inline bool is_equality(int op) {
  return op == SQLITE_INDEX_CONSTRAINT_EQ || op == SQLITE_INDEX_CONSTRAINT_IS;
}

// True for < and <=, and for > and >=.
inline bool is_upper_bound(int op) {
  return op == SQLITE_INDEX_CONSTRAINT_LT || op == SQLITE_INDEX_CONSTRAINT_LE;
}
inline bool is_lower_bound(int op) {
  return op == SQLITE_INDEX_CONSTRAINT_GT || op == SQLITE_INDEX_CONSTRAINT_GE;
}

// True if constraint `index`, which appears as an equality, may be an IN.
inline bool may_be_in(sqlite3_index_info* info, int index) {
  if (!sqlite_has(kSqliteVtabIn) || index >= kInLimit) return true;
  return sqlite3_vtab_in(info, index, -1) != 0;
}

// True if constraint `index` compares text by this collation. False if SQLite cannot tell.
inline bool has_collation(sqlite3_index_info* info, int index, const char* collation) {
  return sqlite_has(kSqliteVtabCollation) &&
         sqlite3_stricmp(sqlite3_vtab_collation(info, index), collation) == 0;
}
inline bool is_binary(sqlite3_index_info* info, int index) {
  return has_collation(info, index, "BINARY");
}

}  // namespace vtab
}  // namespace glove::sql
