// glove_index: an index over the vectors of the rows of a table, which follows INSERT, UPDATE and DELETE.
//
//   CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='embedding');
//   SELECT d.title, v.similarity FROM doc_vec v JOIN doc d ON d.id = v.id WHERE v.query = ?1 AND v.k = 10;
//   INSERT INTO doc_vec(doc_vec) VALUES ('sync');
//
//   CREATE TABLE doc_vec(id INTEGER, similarity REAL, rank INTEGER, query TEXT HIDDEN, k INTEGER HIDDEN,
//                        backend TEXT HIDDEN, doc_vec TEXT HIDDEN);
//
// The relation is that of glove_nn over the vectors of the content: every row that has one, ranked by exact
// cosine similarity, ties by id. The answers are always current: a query searches the segments, leaves out
// what the log names, and scores the logged rows as they are now. Only the commands write
// (sql/index/index_commands.h). sql/index/index_schema.h has the tables and triggers.
#include <array>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "sql/adapter/arguments.h"
#include "sql/adapter/created_table.h"
#include "sql/adapter/input_numbers.h"
#include "sql/adapter/interrupt.h"
#include "sql/adapter/sql_tokens.h"
#include "sql/index/index_commands.h"
#include "sql/index/index_scan.h"
#include "sql/index/index_schema.h"
#include "sql/index/own_work.h"
#include "sql/nn/glove_nn_plan.h"
#include "sql/register.h"

namespace glove::sql {
namespace {

// The columns in declared order. The first three are those of glove_nn; those from kQuery on are inputs.
enum IndexColumn : int { kId, kIndexSimilarity, kIndexRank, kQuery, kIndexK, kIndexBackend, kCommand };
constexpr std::array<const char*, kCommand> kNames = {"id", "similarity", "rank", "query", "k", "backend"};
constexpr const char* kHowToAsk = "WHERE query = ? AND k = 10";
constexpr const char* kQueryNotPassed =
    ": no query reached the index, although the statement names one. Use a condition of its own with =, IS "
    "or IN, not one inside an OR. In a RIGHT or FULL JOIN use a subquery: (SELECT id FROM ... WHERE query = "
    "? AND k = 10)";
constexpr const char* kNoQuery =
    ": no query reached the index; give one as an argument or in a condition of its own with =, IS or IN "
    "(in an outer join, in the ON clause), after the table that the value comes from, for example WHERE "
    "query = ? AND k = 10";
constexpr std::array<int, 3> kInputOrder = {kIndexBackend, kIndexK, kQuery};
static_assert(int{kId} == nn::kNeighbor && int{kIndexSimilarity} == nn::kSimilarity &&
              int{kIndexRank} == nn::kRank);

// The column of glove_nn that has the same meaning, so that glove_nn's reader of arguments can be used.
int nn_column(int column) {
  switch (column) {
    case kQuery:
      return nn::kExpr;
    case kIndexK:
      return nn::kK;
    case kIndexBackend:
      return nn::kBackend;
    default:
      return column;
  }
}

Error cannot_change(const IndexDefinition& index) {
  return {ErrorCode::kInvalidArgument, index.name + " cannot be changed; change the rows of '" +
                                           index.content + "', and the index follows"};
}

// Returns cannot_change() instead of `error` if a running statement is an UPDATE or a DELETE of the rows of
// the index. If a statement writes and there is a trigger that is one, and if `no_query` reached the index,
// adds to the error what is wrong if this trigger has fired: SQLite does not tell a table for which statement
// or trigger it looks for rows.
Error explained(sqlite3* db, const IndexDefinition& index, Error error, bool no_query) {
  bool writes = false;
  for (sqlite3_stmt* at = sqlite3_next_stmt(db, nullptr); at != nullptr; at = sqlite3_next_stmt(db, at)) {
    if (sqlite3_stmt_busy(at) == 0 || sqlite3_stmt_readonly(at) != 0 || sqlite3_sql(at) == nullptr) continue;
    if (changes_rows_of(sqlite3_sql(at), index.schema, index.name)) return cannot_change(index);
    writes = true;
  }
  if (!writes || !no_query) return error;
  const Result<std::string> trigger = trigger_that_changes(db, index);
  if (trigger.ok() && !trigger.value().empty())
    error.message += "; or, if the trigger '" + trigger.value() + "' fired: " + cannot_change(index).message;
  return error;
}

class IndexCursor;

class LiveIndex {
 public:
  static constexpr const char* kName = "glove_index";
  using Definition = IndexDefinition;
  using Cursor = IndexCursor;

  static Result<IndexDefinition> define(std::span<const char* const> arguments) {
    return parse_index_definition(arguments);
  }
  static bool is_shadow_suffix(std::string_view suffix) { return sql::is_shadow_suffix(suffix); }

  LiveIndex(Connection& connection, IndexDefinition definition)
      : connection_(connection),
        index_(std::move(definition)),
        pushdowns_(nn::read_pushdowns(std::getenv("GLOVE_NN_DISABLE"))),
        store_(connection, index_),
        vectors_(connection, index_),
        rows_(connection, index_, vectors_),
        commands_(connection, index_, store_, rows_, vectors_),
        columns_{.names = kNames,
                 .inputs = {index_.name.c_str(), kQuery, std::span(kNames).subspan(kQuery), "query = ?"},
                 .batch_order = kInputOrder,
                 .queries = vtab::bit_of(kQuery),
                 .literal_query = kQuery,
                 .k = kIndexK,
                 .model = -1,
                 .how_to_ask = kHowToAsk,
                 .query_not_passed = kQueryNotPassed,
                 .no_query = kNoQuery} {}
  LiveIndex(const LiveIndex&) = delete;
  LiveIndex& operator=(const LiveIndex&) = delete;

  std::string schema() const {
    return "CREATE TABLE x(id INTEGER, similarity REAL, rank INTEGER, query TEXT HIDDEN, k INTEGER HIDDEN, "
           "backend TEXT HIDDEN, " +
           quoted_name(index_.name) + " TEXT HIDDEN)";
  }
  Status create() {
    return own_work(connection_, index_, [this] { return commands_.create(); });
  }
  Status destroy() {
    return own_work(connection_, index_, [this]() -> Status {
      GLOVE_RETURN_IF_ERROR(drop_triggers(connection_.db(), index_));
      return drop_tables(connection_.db(), index_);
    });
  }
  Status rename(const std::string& new_name) {
    return own_work(connection_, index_, [&] { return rename_index(connection_.db(), index_, new_name); });
  }
  // For PRAGMA integrity_check, which shows no message of an error and ends without checking the rest of the
  // database. A model that is not loaded is no fault of the database.
  Result<std::string> problem() {
    Result<std::string> found = own_work(connection_, index_, [this] { return commands_.problem(); });
    if (found.ok()) return found;
    const Error& error = found.error();
    if (error.code == ErrorCode::kNotFound) return std::string();
    if (error.code == ErrorCode::kCorrupt || error.code == ErrorCode::kInvalidArgument) return error.message;
    return found;
  }
  Error cannot_change() const { return sql::cannot_change(index_); }
  Status insert(Arguments columns) {
    if (const std::optional<Status> status = commands_.run_if_passed(columns[kCommand])) return *status;
    for (int column = 0; column < kCommand; ++column)
      if (!is_null(columns[static_cast<size_t>(column)])) return not_a_command();
    if (is_null(columns[kCommand]) || is_blob(columns[kCommand])) return not_a_command();
    return commands_.run(text_of(columns[kCommand]));
  }

  Status plan(sqlite3_index_info* info) {
    if (!pushdowns_.ok()) return pushdowns_.error();
    return nn::best_index(columns_, info, pushdowns_.value(), connection_.db(),
                          [this](sqlite3_value*) { return size_; });
  }

 private:
  friend IndexCursor;

  Error not_a_command() const {
    return {ErrorCode::kInvalidArgument,
            index_.name + " takes no rows; insert them into '" + index_.content +
                "', and the index follows. It takes commands: " + index_.command("sync")};
  }

  // Checks the content and the triggers unless the schema is that of the last check. SQLite makes a new table
  // object when a change of the schema is rolled back, so a version never means two schemas here.
  Status check_schema() {
    GLOVE_ASSIGN_OR_RETURN(const int64_t version, store_.schema_version());
    if (checked_version_ == version) return {};
    GLOVE_RETURN_IF_ERROR(check_index(connection_.db(), index_));
    GLOVE_ASSIGN_OR_RETURN(const bool former, has_former_triggers(connection_.db(), index_));
    if (former && !checked_version_)
      connection_.engine().log().write(index_.name + ": " + former_triggers_remedy(index_));
    checked_version_ = version;
    return {};
  }

  Result<live::IndexState> open_state() {
    GLOVE_RETURN_IF_ERROR(check_schema());
    GLOVE_ASSIGN_OR_RETURN(live::IndexState state, store_.state(rows_));
    const int64_t rows = state.parts == nullptr ? 0 : state.parts->model().words();
    size_ = {static_cast<double>(rows) + static_cast<double>(state.changed->ids.size()),
             static_cast<double>(state.dims)};
    return state;
  }

  Connection& connection_;
  const IndexDefinition index_;
  const Result<nn::Pushdowns> pushdowns_;
  IndexStore store_;
  VectorStore vectors_;
  ContentRows rows_;
  IndexCommands commands_;
  const nn::RankedColumns columns_;
  nn::RelationSize size_;  // as the last query found it
  std::optional<int64_t> checked_version_;
  vtab::InputNumbers numbers_;
};

class IndexCursor {
 public:
  IndexCursor(LiveIndex& table, Connection::Pin&) : table_(table) { table_.numbers_.open(); }
  ~IndexCursor() { table_.numbers_.close(); }
  IndexCursor(const IndexCursor&) = delete;
  IndexCursor& operator=(const IndexCursor&) = delete;

  Status start(int plan_number, const char* plan_text, Arguments values) {
    at_end_ = true;
    scan_.reset();
    Status status = search(plan_number, plan_text, values);
    if (status.ok() || status.error().code != ErrorCode::kInvalidArgument) return status;
    const bool no_query = plan_number == nn::Plan::kError;
    return explained(table_.connection_.db(), table_.index_, status.error(), no_query);
  }

  Status next() {
    return at_work([this] { return advance(); });
  }

  bool at_end() const noexcept { return at_end_; }

  Status column(sqlite3_context* context, int column) {
    const nn::Inputs& inputs = scan_->inputs();
    if (column == kId) {
      sqlite3_result_int64(context, scan_->row().id);
    } else if (column == kIndexSimilarity) {
      sqlite3_result_double(context, scan_->row().similarity);
    } else if (column == kIndexRank && scan_->rank() > 0) {
      sqlite3_result_int64(context, scan_->rank());
    } else if (table_.columns_.inputs.contains(column)) {
      if (!inputs.has(nn_column(column)))
        return {ErrorCode::kInvalidArgument, vtab::not_given(table_.columns_.inputs, column)};
      return_index_input(context, inputs, column);
    }
    return {};
  }

  // Identifies the inputs and the row, so that a row that two branches of an OR find is one row.
  Result<int64_t> rowid() {
    const int64_t number =
        table_.numbers_.number_of(scan_->inputs().key() + "#" + std::to_string(scan_->row().id));
    if (number >= 0) return number;
    return Error{ErrorCode::kInvalidArgument,
                 table_.index_.name +
                     ": the running statements tell too many rows apart by their rowids; finish "
                     "other statements that read the index, or split this one: an OR into a UNION"};
  }

 private:
  Status search(int plan_number, const char* plan_text, Arguments values) {
    if (plan_number == nn::Plan::kError) return {ErrorCode::kInvalidArgument, plan_text};
    nn::Plan plan = nn::Plan::decode(plan_number, plan_text, kNames);
    for (nn::Argument& argument : plan.arguments) argument.column = nn_column(argument.column);
    GLOVE_ASSIGN_OR_RETURN(call_,
                           nn::FilterCall::read(plan, values, table_.connection_.db(),
                                                table_.connection_.engine().backends(), table_.index_.name));
    return at_work([this]() -> Status {
      GLOVE_ASSIGN_OR_RETURN(state_, table_.open_state());
      next_setting_ = 0;
      open_scan();
      return advance();
    });
  }

  static void return_index_input(sqlite3_context* context, const nn::Inputs& inputs, int column) {
    if (column == kIndexK) {
      sqlite3_result_int64(context, inputs.k);
    } else if (column == kIndexBackend) {
      return_text(context, inputs.backend);
    } else if (inputs.expr.blob) {
      sqlite3_result_blob64(context, inputs.expr.bytes.data(), inputs.expr.bytes.size(), SQLITE_TRANSIENT);
    } else {
      return_text(context, inputs.expr.bytes);
    }
  }

  // Runs body() as work of the index, during which the search may poll for an interrupt.
  template <class Body>
  Status at_work(Body&& body) {
    InterruptPoller poller(table_.connection_.db());
    active_poller_ = &poller;
    struct Scope {
      InterruptPoller*& slot;
      ~Scope() { slot = nullptr; }
    } scope{active_poller_};
    return own_work(table_.connection_, table_.index_, body);
  }

  // Begins the next setting of the call, or sets at_end_ after the last one.
  void open_scan() {
    scan_.reset();
    at_end_ = call_->query_count() == 0 || next_setting_ == call_->setting_count();
    if (at_end_) return;
    SearchOptions options;
    options.interrupted = [this] { return active_poller_ != nullptr && active_poller_->interrupted(); };
    scan_.emplace(IndexContext{&table_.connection_, &table_.index_, &table_.rows_, &state_}, *call_,
                  next_setting_++, std::move(options));
  }

  Status advance() {
    while (!at_end_) {
      GLOVE_ASSIGN_OR_RETURN(const bool more, scan_->next());
      if (more) break;
      open_scan();
    }
    return {};
  }

  LiveIndex& table_;
  InterruptPoller* active_poller_ = nullptr;
  std::optional<nn::FilterCall> call_;
  live::IndexState state_;         // as the call found it
  size_t next_setting_ = 0;        // of the call
  std::optional<IndexScan> scan_;  // of the setting before; refers to the call and the state
  bool at_end_ = true;
};

}  // namespace

int register_glove_index(sqlite3* db, Engine& engine) {
  // Not INNOCUOUS and not DIRECTONLY, for the reasons of glove_nn. Its triggers use neither the module nor
  // any function of this extension.
  return vtab::register_created_table<LiveIndex>(db, engine);
}

}  // namespace glove::sql
