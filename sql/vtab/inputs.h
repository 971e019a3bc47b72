// Inputs: hidden columns whose values a scan must have before it begins, such as `model`. A statement gives
// one by argument, =, IS or IN. An input is no attribute of the rows: other values are other rows, so a row
// cannot be compared with a value that the scan was not given.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "sql/arguments.h"
#include "sql/boundary.h"

namespace glove::sql::vtab {

// The inputs of a table: the columns `first`, `first` + 1, ... Static storage.
struct InputColumns {
  const char* table;
  int first;
  std::span<const char* const> names;
  const char* condition;  // of a usual statement, as an example in messages

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

// The inputs that some condition of this plan gives, whether or not its value is known in time.
InputSet asked_inputs(const sqlite3_index_info& info, const InputColumns& inputs);

// The inputs that the statement uses and that no condition of this plan gives.
//
// A plan that leaves such an input open must not be carried out, because the scan would have the rows of one
// value of the input, whichever it is, and the statement asks for others as well. For `id = 1 OR (id = 1 AND
// model = 'b')` SQLite asks for a plan with id = 1 alone, since that follows from the whole, and evaluates
// the OR on the rows; the first branch is true of all of them, so `model` is never read and the rows of model
// b are missing. Therefore: if one branch of an OR gives an input, every branch must give it.
InputSet unseen_inputs(const sqlite3_index_info& info, const InputColumns& inputs);

// The error for reading or comparing an input that was not given.
std::string not_given(const InputColumns& inputs, int column);

// Ends xBestIndex with a plan that must raise `error` when it is carried out. To refuse in xBestIndex would
// break statements that SQLite can plan in another way, and so would SQLITE_CONSTRAINT; this plan costs more
// than any other and is taken only if there is no other.
Status refuse(sqlite3_index_info* info, int plan, const std::string& error);

// The same for a plan that could be carried out but for an input that it does not see. SQLite shows the
// branches of an OR without the conditions beside it when it asks what they cost, and with them before it
// carries one out. So this costs less than refuse(), and is certain to cost more than any plan that works.
Status refuse_unseen(sqlite3_index_info* info, const InputColumns& inputs, int plan,
                     const std::string& error);

// Hands the text to SQLite as the plan's idxStr.
Status set_plan_text(sqlite3_index_info* info, const std::string& text);

// A plan for tables that have inputs and nothing else to push down: SQLite checks every other condition.
// Gives each input at most one value (an IN becomes one scan per value); `required`: the inputs without which
// there are no rows. `cost` and `rows` are those of one scan.
Status plan_inputs(sqlite3_index_info* info, const InputColumns& inputs, InputSet required, double cost,
                   double rows);

// The values of the inputs in a scan that was planned by plan_inputs(). They belong to the cursor.
class InputValues {
 public:
  explicit InputValues(const InputColumns& inputs) : inputs_(inputs), values_(inputs.names.size()) {}
  ~InputValues() { clear(); }
  InputValues(const InputValues&) = delete;
  InputValues& operator=(const InputValues&) = delete;

  // The arguments of xFilter. An error if the plan is one that must raise it.
  Status read(int plan, const char* plan_text, Arguments values);

  // nullptr if the input was not given, or is NULL, which means the same.
  sqlite3_value* operator[](int column) const;

  // Makes the input, as it was given, the result of xColumn; an error if it was not given.
  Status return_input(sqlite3_context* context, int column) const;

 private:
  void clear();

  const InputColumns& inputs_;
  std::vector<sqlite3_value*> values_;  // owned; nullptr: not given
};

}  // namespace glove::sql::vtab
