#include "sql/adapter/inputs.h"
#include "base/utf8.h"

#include <algorithm>
#include <cmath>
#include <new>

namespace glove::sql {

bool stores_utf8(sqlite3* db) {
  sqlite3_stmt* statement = nullptr;
  bool utf8 = false;
  if (sqlite3_prepare_v2(db, "PRAGMA encoding", -1, &statement, nullptr) == SQLITE_OK &&
      sqlite3_step(statement) == SQLITE_ROW) {
    const auto* encoding = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
    utf8 = encoding != nullptr && std::string_view(encoding) == "UTF-8";
  }
  sqlite3_finalize(statement);
  return utf8;
}

bool equals_by_bytes(sqlite3* db, std::string_view text) {
  return text.find(kReplacementCharacter) == std::string_view::npos || stores_utf8(db);
}

namespace vtab {
namespace {

// Costs of plans that raise an error: more than any number of scans. The cheapest is what may be a branch of
// an OR; a statement whose branches all give their inputs must be planned branch by branch, not refused as a
// whole.
constexpr double kBranchCost = 1e20;
constexpr double kLikelyWholeCost = 1e25;
constexpr double kRefusedCost = 1e99;

constexpr int64_t kManyRows = int64_t{1} << 40;
constexpr int kRaise = -1;  // the idxNum of plan_inputs' error plans

// Whether the statement has conditions beside those that we see. The branch of an OR comes alone and usually
// has none, while a plan for all of the statement that contains the OR does not see the OR itself.
// (iTermOffset counts the conditions from 0; only costs depend on it.)
bool sees_all_conditions(const sqlite3_index_info& info) {
  int last = -1;
  for (int i = 0; i < info.nConstraint; ++i) last = std::max(last, info.aConstraint[i].iTermOffset);
  return info.nConstraint > 0 && last + 1 <= info.nConstraint;
}

// SQLite rejects a plan for a branch of an OR if it uses none of the conditions.
void use_one_input(sqlite3_index_info* info, const InputColumns& inputs) {
  for (int i = 0; i < info->nConstraint; ++i) {
    const auto& constraint = info->aConstraint[i];
    if (!constraint.usable || !inputs.contains(constraint.iColumn) || !gives_input(constraint.op)) continue;
    info->aConstraintUsage[i].argvIndex = 1;
    return;
  }
}

Status refuse_at(sqlite3_index_info* info, int plan, const std::string& error, double cost) {
  info->idxNum = plan;
  info->estimatedCost = cost;
  info->estimatedRows = kManyRows;
  return set_plan_text(info, error);
}

// How a statement can give an input, for the end of error messages.
constexpr const char* kHowToGive =
    "; give it as an argument or in a condition of its own with =, IS or IN (in an outer join, in the ON "
    "clause)";

std::string cannot_have(const InputColumns& inputs, int column) {
  return std::string(inputs.table) + " cannot read its input " + inputs.name(column) +
         ": SQLite found no table order in which its value is known before the scan begins" + kHowToGive;
}

}  // namespace

bool gives_input(int op) {
  return op == SQLITE_INDEX_CONSTRAINT_EQ || op == SQLITE_INDEX_CONSTRAINT_IS ||
         op == SQLITE_INDEX_CONSTRAINT_ISNULL;
}

InputSet asked_inputs(const sqlite3_index_info& info, const InputColumns& inputs) {
  InputSet asked = 0;
  for (int i = 0; i < info.nConstraint; ++i) {
    const auto& constraint = info.aConstraint[i];
    if (inputs.contains(constraint.iColumn) && gives_input(constraint.op))
      asked |= bit_of(constraint.iColumn);
  }
  return asked;
}

InputSet unseen_inputs(const sqlite3_index_info& info, const InputColumns& inputs) {
  const InputSet all = (bit_of(static_cast<int>(inputs.names.size())) - 1) << inputs.first;
  return info.colUsed & all & ~asked_inputs(info, inputs);
}

std::string not_given(const InputColumns& inputs, int column) {
  const std::string name = inputs.name(column);
  const std::string select = std::string("SELECT ... FROM ") + inputs.table + " WHERE " + inputs.condition;
  return std::string(inputs.table) + ": SQLite passed no value for the input " + name +
         ", so it can be neither read nor compared" + kHowToGive +
         ". Every branch of an OR must give all inputs itself, even those given beside the OR; otherwise "
         "write " +
         select + " UNION ALL " + select + " AND " + name + " = ...";
}

Status set_plan_text(sqlite3_index_info* info, const std::string& text) {
  info->idxStr = sqlite_message(text);
  if (info->idxStr == nullptr) return Error{ErrorCode::kOutOfMemory, "out of memory"};
  info->needToFreeIdxStr = 1;
  return {};
}

Status refuse(sqlite3_index_info* info, int plan, const std::string& error) {
  return refuse_at(info, plan, error, kRefusedCost);
}

Status refuse_unseen(sqlite3_index_info* info, const InputColumns& inputs, int plan,
                     const std::string& error) {
  use_one_input(info, inputs);
  return refuse_at(info, plan, error, sees_all_conditions(*info) ? kBranchCost : kLikelyWholeCost);
}

Status plan_inputs(sqlite3_index_info* info, const InputColumns& inputs, InputSet required, double cost,
                   double rows) {
  const InputSet asked = asked_inputs(*info, inputs);
  InputSet given = 0;
  int arguments = 0;
  for (int column = inputs.first; inputs.contains(column); ++column) {
    if ((asked & bit_of(column)) == 0) continue;
    for (int i = 0; i < info->nConstraint && (given & bit_of(column)) == 0; ++i) {
      const auto& constraint = info->aConstraint[i];
      if (constraint.iColumn != column || !constraint.usable || !gives_input(constraint.op)) continue;
      info->aConstraintUsage[i].argvIndex = ++arguments;
      info->aConstraintUsage[i].omit = 1;  // NULL = NULL is not true, but a NULL input means not given
      given |= bit_of(column);
    }
    if ((given & bit_of(column)) == 0) return refuse(info, kRaise, cannot_have(inputs, column));
  }
  const InputSet unseen = unseen_inputs(*info, inputs);
  for (int column = inputs.first; inputs.contains(column); ++column) {
    if ((unseen & bit_of(column)) != 0) return refuse_unseen(info, inputs, kRaise, not_given(inputs, column));
    if ((required & ~given & bit_of(column)) != 0)
      return refuse(info, kRaise,
                    std::string(inputs.table) + " needs its input " + inputs.name(column) + kHowToGive);
  }
  info->idxNum = static_cast<int>(given >> inputs.first);
  info->estimatedCost = cost;
  info->estimatedRows = static_cast<sqlite3_int64>(std::ceil(rows));
  return {};
}

Status InputValues::read(int plan, const char* plan_text, Arguments values) {
  for (KeptValue& value : values_) value.reset();
  if (plan == kRaise) return invalid_argument(plan_text);
  size_t next = 0;
  for (size_t input = 0; input < values_.size() && next < values.size(); ++input) {
    if ((plan >> input & 1) == 0) continue;
    values_[input] = copy_of(values[next++]);
  }
  return {};
}

sqlite3_value* InputValues::operator[](int column) const {
  sqlite3_value* const value = values_[static_cast<size_t>(column - inputs_.first)].get();
  return value == nullptr || is_null(value) ? nullptr : value;
}

std::string InputValues::key() const {
  std::string key;
  for (const KeptValue& value : values_) {
    const bool given = value != nullptr && !is_null(value.get());
    const std::string_view text = given ? text_or_blob(value.get()) : std::string_view();
    key += concat(given ? sqlite3_value_type(value.get()) : 0, ' ', text.size(), ':', text);
  }
  return key;
}

Status InputValues::return_input(sqlite3_context* context, int column) const {
  sqlite3_value* value = (*this)[column];
  if (value == nullptr) return invalid_argument(not_given(inputs_, column));
  sqlite3_result_value(context, value);
  return {};
}

}  // namespace vtab
}  // namespace glove::sql
