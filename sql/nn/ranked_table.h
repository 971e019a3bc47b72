// A virtual table that ranks rows by their similarity to a query: glove_nn, or a table of glove_index. Both
// have one planner, one reader of arguments, one scan and one cursor, and differ in their names of columns
// and in the source of the rows.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sql/adapter/connection.h"
#include "sql/adapter/input_numbers.h"
#include "sql/adapter/interrupt.h"
#include "sql/nn/glove_nn_plan.h"
#include "sql/nn/ranked_scan.h"

namespace glove::sql::nn {

class RankedCursor;

// What sql/adapter/table.h needs of such a table, except its names.
class RankedTable {
 public:
  using Cursor = RankedCursor;

  // Both must outlive the table. `columns` is not read yet.
  RankedTable(Connection& connection, const RankedColumns& columns);
  virtual ~RankedTable() = default;
  RankedTable(const RankedTable&) = delete;
  RankedTable& operator=(const RankedTable&) = delete;

  Status plan(sqlite3_index_info* info);

 protected:
  Connection& connection() const { return connection_; }
  bool enabled(Pushdown pushdown) const { return (pushdowns_.value() & pushdown) != 0; }
  // Of the last value of among.
  LastMask& last_mask() { return last_mask_; }
  // Of the running statement.
  Hints& hints() { return hints_; }
  // The number of the running statement. In one that writes, each cursor that comes into use beside others
  // brings another number, because a trigger may have opened it.
  int64_t statement() const { return statement_; }
  void begin_statement() { ++statement_; }

 private:
  friend RankedCursor;

  // Returns the size of the relation for a literal that the statement gives as the model, or nullptr.
  virtual RelationSize size_for(sqlite3_value* model) const = 0;
  // Makes `source`, which is empty, that of a call of xFilter.
  virtual Status begin_call(const FilterCall& /*call*/, const InterruptCheck& /*interrupted*/,
                            RankedSource& /*source*/) {
    return {};
  }
  // Makes `source` that of a setting with these inputs. `models` outlives it.
  virtual Status begin_setting(Connection::Pin& /*models*/, const Inputs& /*inputs*/,
                               const InterruptCheck& /*interrupted*/, RankedSource& /*source*/) {
    return {};
  }
  // Leaves the ids of the rows of the relation in `ids`, in the order of their keys: of all, or of those that
  // are `wanted`. has_row() then tells which of them are still there. Only of an index.
  virtual Status list_rows(const std::optional<std::vector<int64_t>>& /*wanted*/,
                           std::vector<int64_t>& /*ids*/) {
    return {};
  }
  virtual Result<bool> has_row(int64_t /*id*/) { return false; }
  // Runs body(), which opens a source or searches.
  virtual Status run(const std::function<Status()>& body) { return body(); }
  // Returns what xFilter reports for an error. `no_query`: it is one of the plan.
  virtual Error explained(Error error, bool /*no_query*/) { return error; }

  Connection& connection_;
  const RankedColumns& columns_;
  const Result<Pushdowns> pushdowns_;
  vtab::InputNumbers numbers_, among_numbers_;
  LastAmong last_among_;
  LastMask last_mask_;
  Hints hints_;
  int64_t statement_ = 0;
  int64_t used_cursors_ = 0;  // that are open, and were used by xFilter
};

// A list of rows without a query.
struct RowList {
  std::vector<int64_t> ids;
  size_t next = 0;
};

// One scan of such a table, which outlives it.
class RankedCursor {
 public:
  RankedCursor(RankedTable& table, Connection::Pin& models);
  ~RankedCursor() { table_.used_cursors_ -= is_used_ ? 1 : 0; }

  Status start(int plan, const char* plan_text, Arguments values);
  Status next();
  bool next_buffered() noexcept {
    if (list_) return false;
    at_end_ = scan_->was_looked_up() && next_setting_ == call_->setting_count();
    return at_end_ || scan_->next_buffered();
  }
  bool at_end() const noexcept { return at_end_; }
  // Returns every value except a rank that is not known yet and `known`, and the errors for an input that was
  // not given and for a similarity that a model does not have.
  bool column_buffered(sqlite3_context* context, int index) noexcept;
  Status column(sqlite3_context* context, int index);
  // Identifies the inputs and the row, so that a row that two branches of an OR find is one row, and rows of
  // different inputs are distinct.
  Result<int64_t> rowid();

 private:
  template <class Body>
  Status run(Body&& body);
  InterruptCheck interrupt_check();
  Status search(int plan, const char* plan_text, Arguments values);
  Status open_scan();
  Status open_list();
  // The id of the current row.
  int64_t row_id() const { return list_ ? list_->ids[list_->next - 1] : scan_->neighbor().id; }
  Status advance();
  Error similarity_error() const;  // of a model that has none

  RankedTable& table_;
  Connection::Pin& models_;
  InterruptPoller* active_poller_ = nullptr;  // while run() runs
  int plan_ = 0;                              // of call_
  std::string plan_text_;
  std::optional<FilterCall> call_;
  RankedSource source_;             // of the call and the setting
  size_t next_setting_ = 0;         // of the call
  std::optional<RankedScan> scan_;  // of the setting before; refers to the call and the source
  std::optional<RowList> list_;
  bool is_used_ = false;
  bool at_end_ = true;
  vtab::ScanRowids rowids_, among_rowids_;
  size_t numbered_query_ = 0;  // the query_count() whose inputs rowids_ has; 0: none yet
};

}  // namespace glove::sql::nn
