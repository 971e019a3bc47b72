#include "sql/nn/ranked_table.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/concat.h"
#include "base/require.h"
#include "base/scope_exit.h"

namespace glove::sql::nn {
namespace {

// Returns an input as it was given. REQUIRES: inputs.has(column).
void return_input(sqlite3_context* context, const Inputs& inputs, Column column) {
  GLOVE_REQUIRE(inputs.has(column));
  const ExprValue& expr = inputs.expr;
  if (column == kWord) return_text(context, inputs.word);
  if (column == kExpr && !expr.blob) return_text(context, expr.bytes);
  if (column == kExpr && expr.blob)
    sqlite3_result_blob64(context, expr.bytes.data(), expr.bytes.size(), SQLITE_TRANSIENT);
  if (column == kK) sqlite3_result_int64(context, inputs.k);
  if (column == kModel) return_text(context, inputs.model);
  if (column == kBackend) return_text(context, inputs.backend);
  if (column == kRecall) sqlite3_result_double(context, inputs.recall);
  if (column == kAmong) inputs.among->return_to(context);
}

// Says what stands behind the answer that the current row is of.
void return_evidence(sqlite3_context* context, const RankedScan& scan) {
  if (scan.is_approximate())
    return return_text(context, scan.audited().audits < kAuditsOfEvidence
                                    ? "calibrated " + scan.inputs().recall_text()
                                    : "measured " + audit_text(scan.audited()));
  sqlite3_result_text(context, "proof", -1, SQLITE_STATIC);
}

// Whether the transaction of the running statement may have written to a database.
bool may_have_written(sqlite3* db) {
  return !sqlite_has(kSqliteTxnState) || sqlite3_txn_state(db, nullptr) == SQLITE_TXN_WRITE;
}

// Whether cursors of a table may be in use for different statements, or for one that may change what it
// reads.
bool may_see_different_rows(sqlite3* db) {
  int running = 0;
  for (sqlite3_stmt* at = sqlite3_next_stmt(db, nullptr); at != nullptr; at = sqlite3_next_stmt(db, at)) {
    if (sqlite3_stmt_busy(at) == 0) continue;
    if (++running > 1 || sqlite3_stmt_readonly(at) == 0) return true;
  }
  return false;
}

// An input that was not given has no value in this plan, not even NULL. Reading it is an error, so that
// SQLite cannot discard rows by checking `expr = NULL` where it does not omit the check (see push_inputs()).
Error missing_input(const Inputs& inputs, const vtab::InputColumns& columns, int index, Column column) {
  if (inputs.state(column) == Given::kNo) return invalid_argument(vtab::not_given(columns, index));
  return invalid_argument(
      std::string(columns.table), ": the input ", columns.name(index),
      " is NULL, which counts as not given, so it can be neither read nor compared. Beside an OR or "
      "16 other conditions SQLite compares it itself; omit the condition there");
}

}  // namespace

RankedTable::RankedTable(Connection& connection, const RankedColumns& columns)
    : connection_(connection),
      columns_(columns),
      pushdowns_(read_pushdowns(std::getenv("GLOVE_NN_DISABLE"))) {}

Status RankedTable::plan(sqlite3_index_info* info) {
  if (!pushdowns_.ok()) return pushdowns_.error();
  return best_index(columns_, info, pushdowns_.value(), connection_.db(),
                    [this](sqlite3_value* model) { return size_for(model); });
}

RankedCursor::RankedCursor(RankedTable& table, Connection::Pin& models)
    : table_(table),
      models_(models),
      rowids_(table.numbers_, table.columns_.inputs.table),
      among_rowids_(table.among_numbers_, table.columns_.inputs.table) {
  if (table_.numbers_.cursors() > 1) return;
  table_.hints_ = {};  // a statement begins
  table_.begin_statement();
}

// Runs body(), during which the search may poll for an interrupt.
template <class Body>
Status RankedCursor::run(Body&& body) {
  InterruptPoller poller(table_.connection_.db());
  active_poller_ = &poller;
  const ScopeExit leaving([this] { active_poller_ = nullptr; });
  return table_.run(body);
}

Status RankedCursor::start(int plan, const char* plan_text, Arguments values) {
  if (!std::exchange(is_used_, true) && table_.used_cursors_++ > 0 &&
      may_see_different_rows(table_.connection_.db()))
    table_.begin_statement();
  Status status = search(plan, plan_text, values);
  if (status.ok()) return status;
  at_end_ = true;
  return table_.explained(status.error(), plan == Plan::kError);
}

Status RankedCursor::search(int plan, const char* plan_text, Arguments values) {
  if (plan == Plan::kError) return {ErrorCode::kInvalidArgument, plan_text};
  Connection& connection = table_.connection_;
  const bool keeps_ranks =
      scan_ && scan_->has_kept_ranks() && call_->setting_count() == 1 && source_.is_current();
  bool same = keeps_ranks && plan == plan_ && plan_text == plan_text_ && call_->repeat(values);
  if (!same) {
    plan_ = plan;
    plan_text_ = plan_text;
    GLOVE_ASSIGN_OR_RETURN(
        FilterCall call,
        FilterCall::read(Plan::decode(plan, plan_text, table_.columns_), values, connection.db(),
                         connection.engine().backends(), table_.last_among_, table_.columns_));
    same = keeps_ranks && call.has_inputs_of(*call_);
    call_ = std::move(call);  // the scan refers to it
  }
  if (same) {
    GLOVE_ASSIGN_OR_RETURN(const bool found, scan_->look_up_again());
    at_end_ = false;
    if (found) return advance();
  }
  scan_.reset();
  list_.reset();
  source_ = {};
  if ((plan & Plan::kLists) != 0) return open_list();
  next_setting_ = 0;
  return run([this]() -> Status {
    GLOVE_RETURN_IF_ERROR(table_.begin_call(*call_, interrupt_check(), source_));
    GLOVE_RETURN_IF_ERROR(open_scan());
    return advance();
  });
}

InterruptCheck RankedCursor::interrupt_check() {
  return [this] { return active_poller_ != nullptr && active_poller_->interrupted(); };
}

// Begins the next setting of the call, or sets at_end_ after the last one.
Status RankedCursor::open_scan() {
  at_end_ = call_->query_count() == 0 || next_setting_ == call_->setting_count();
  if (at_end_ && scan_ && scan_->has_kept_ranks()) return {};  // for the next call
  scan_.reset();
  numbered_query_ = 0;
  if (at_end_) return {};
  Inputs inputs = call_->inputs_of(next_setting_++);
  GLOVE_RETURN_IF_ERROR(table_.begin_setting(models_, inputs, interrupt_check(), source_));
  if (ranks_by_distance(source_.metric) && call_->range().compares_similarity) return similarity_error();
  SearchOptions options;
  options.interrupted = interrupt_check();
  if (inputs.recall < 1) options.may_audit = [db = table_.connection_.db()] { return !may_have_written(db); };
  scan_.emplace(table_.connection_.engine(), source_, *call_, std::move(inputs), std::move(options));
  return {};
}

Status RankedCursor::next() {
  return run([this] { return advance(); });
}

// Begins a list of the rows that the call asks for, whatever the query.
Status RankedCursor::open_list() {
  list_.emplace();
  at_end_ = call_->range().nothing;
  if (at_end_) return {};
  return run([this]() -> Status {
    std::optional<std::vector<int64_t>> wanted;
    if (const auto& keys = call_->neighbors(KeyType::kInteger); keys) {
      wanted.emplace();
      for (const std::string& key : *keys)
        if (const std::optional<int64_t> id = integer_key(key)) wanted->push_back(*id);
      std::sort(wanted->begin(), wanted->end());
    }
    GLOVE_RETURN_IF_ERROR(table_.list_rows(wanted, list_->ids));
    return advance();
  });
}

Status RankedCursor::advance() {
  if (list_) {
    bool found = false;
    for (; !found && list_->next < list_->ids.size(); ++list_->next) {
      GLOVE_ASSIGN_OR_RETURN(found, table_.has_row(list_->ids[list_->next]));
    }
    at_end_ = !found;
    return {};
  }
  while (!at_end_) {
    GLOVE_ASSIGN_OR_RETURN(const bool more, scan_->next());
    if (more) break;
    // If the file was truncated or overwritten meanwhile, the values that xColumn has read are invalid.
    GLOVE_RETURN_IF_ERROR(scan_->health());
    GLOVE_RETURN_IF_ERROR(open_scan());
  }
  return {};
}

bool RankedCursor::column_buffered(sqlite3_context* context, int index) noexcept {
  const RankedColumns& columns = table_.columns_;
  if (static_cast<size_t>(index) >= columns.meanings.size()) return true;  // without a value
  const Column column = columns.meanings[static_cast<size_t>(index)];
  if (column >= kKeyPart) return false;
  if (list_) {  // what depends on a query is NULL
    if (column == kNeighbor) sqlite3_result_int64(context, row_id());
    return true;
  }
  const RankedScan& scan = *scan_;
  if (column == kNeighbor && scan.vocabulary() != nullptr) {
    return_word(context, *scan.vocabulary(), scan.neighbor().id);
  } else if (column == kNeighbor) {
    sqlite3_result_int64(context, scan.neighbor().id);
  } else if (column == kSimilarity && !ranks_by_distance(source_.metric)) {
    sqlite3_result_double(context, scan.neighbor().similarity);
  } else if (column == kDistance) {
    sqlite3_result_double(context, distance_of(source_.metric, scan.neighbor().similarity));
  } else if (column == kRank && scan.known_rank() > 0) {
    sqlite3_result_int64(context, scan.known_rank());
  } else if (column == kEvidence) {
    return_evidence(context, scan);
  } else if (column == kRowsRead) {
    sqlite3_result_int64(context, scan.rows_read());
  } else if (column >= kFirstInput && column < kEvidence && scan.inputs().has(column)) {
    return_input(context, scan.inputs(), column);
  } else {
    return false;
  }
  return true;
}

Error RankedCursor::similarity_error() const {
  return no_similarity(table_.columns_.inputs.table, source_.name, source_.metric,
                       "read and compare distance instead");
}

Status RankedCursor::column(sqlite3_context* context, int index) {
  const Column column = table_.columns_.meanings[static_cast<size_t>(index)];
  if (column >= kKeyPart)
    return table_.columns_.keys->return_part(context, row_id(), static_cast<int>(column) - kKeyPart);
  if (column == kSimilarity) return similarity_error();
  if (column != kRank && column != kKnown)
    return missing_input(scan_->inputs(), table_.columns_.inputs, index, column);
  return run([&]() -> Status {
    if (column == kKnown) {
      GLOVE_ASSIGN_OR_RETURN(const MaybeQuery query, source_.resolve(scan_->inputs(), interrupt_check()));
      if (query && query->known) sqlite3_result_int(context, *query->known ? 1 : 0);
      return {};
    }
    GLOVE_ASSIGN_OR_RETURN(const int64_t rank, scan_->rank());
    if (rank > 0) sqlite3_result_int64(context, rank);
    return {};
  });
}

Result<int64_t> RankedCursor::rowid() {
  if (list_) {
    rowids_.start("list");
    return rowids_.rowid(row_id());
  }
  if (numbered_query_ != scan_->query_count()) {
    std::string key = scan_->inputs().key();
    if (const AmongValuePtr& among = scan_->inputs().among; among != nullptr) {
      among_rowids_.start(among->identity());
      GLOVE_ASSIGN_OR_RETURN(const int64_t number, among_rowids_.rowid(0));
      key = concat(number, ' ', key);
    }
    rowids_.start(std::move(key));
    numbered_query_ = scan_->query_count();
  }
  return rowids_.rowid(scan_->neighbor().id);
}

}  // namespace glove::sql::nn
