#include "sql/toolbox/kmeans_rows.h"

#include "sql/adapter/constraints.h"
#include "sql/text/text_encoding.h"

namespace glove::sql {
namespace {

constexpr double kRowCost = 1;
constexpr double kFitCost = 1000;  // reading the inputs and finding the fit

// Returns the constraint on the column that can be looked up, or -1 if there is none. Not an IN: SQLite
// visits its values one by one, and each value that cannot be looked up would return all rows again.
int find_lookup(sqlite3_index_info* info, int column, bool is_text) {
  for (int i = 0; column >= 0 && i < info->nConstraint; ++i) {
    const auto& constraint = info->aConstraint[i];
    if (constraint.usable && constraint.iColumn == column && vtab::is_equality(constraint.op) &&
        !vtab::may_be_in(info, i) && (!is_text || vtab::is_binary(info, i)))
      return i;
  }
  return -1;
}

int arguments_of(const sqlite3_index_info& info) {
  int count = 0;
  for (int i = 0; i < info.nConstraint; ++i) count += info.aConstraintUsage[i].argvIndex > 0;
  return count;
}

}  // namespace

Status plan_kmeans(sqlite3_index_info* info, const KMeansColumns& columns) {
  GLOVE_RETURN_IF_ERROR(vtab::plan_inputs(info, columns.inputs, vtab::bit_of(columns.inputs.first + kKMeansK),
                                          kFitCost + columns.rows * kRowCost, columns.rows));
  if (info->idxNum < 0) return {};  // a plan that raises an error
  GLOVE_RETURN_IF_ERROR(vtab::set_plan_text(info, columns.inputs.table));
  const int word = find_lookup(info, columns.word, true);
  const int cluster = find_lookup(info, columns.cluster, false);
  if (word < 0 && cluster < 0) return {};
  const int lookup = word >= 0 ? word : cluster;
  info->aConstraintUsage[lookup].argvIndex = arguments_of(*info) + 1;
  info->idxNum |= word >= 0 ? kKMeansByWord : kKMeansByCluster;
  info->estimatedCost = word >= 0 || columns.word < 0 ? kFitCost : kFitCost + columns.rows * kRowCost / 10;
  info->estimatedRows = word >= 0 || columns.word < 0 ? 1 : static_cast<sqlite3_int64>(columns.rows / 10);
  return {};
}

Status KMeansRows::find(Connection::Pin& models, const vtab::InputValues& inputs,
                        const KMeansColumns& columns, int plan, Arguments values) {
  row_.reset();
  cluster_.reset();
  GLOVE_ASSIGN_OR_RETURN(found_, find_kmeans_fit(models, columns.inputs.table, inputs, columns.inputs.first));
  if ((plan & kKMeansByWord) != 0) look_up_word(models.connection().db(), values.back());
  if ((plan & kKMeansByCluster) != 0 && sqlite3_value_numeric_type(values.back()) == SQLITE_INTEGER)
    cluster_ = sqlite3_value_int64(values.back()) - 1;
  return {};
}

// If SQLite may compare the value by other rules than its bytes, all rows are visited.
void KMeansRows::look_up_word(sqlite3* db, sqlite3_value* value) {
  if (sqlite3_value_type(value) != SQLITE_TEXT || words().key_type() != KeyType::kText) return;
  const std::string_view word = text_of(value);
  if (!equals_by_bytes(db, word)) return;
  std::vector<int32_t> ids;
  words().find_all(word, ids);
  if (ids.size() > 1) return;  // equal tokens of a tokenizer
  row_ = ids.empty() ? -1 : fit().row_of(ids.front());
}

}  // namespace glove::sql
