// glove_nn: the words of a model, ranked by cosine similarity to a query.
//
//   CREATE TABLE glove_nn(neighbor TEXT, similarity REAL, rank INTEGER,
//                         word TEXT HIDDEN, expr TEXT HIDDEN, k INTEGER HIDDEN, model TEXT HIDDEN,
//                         backend TEXT HIDDEN);
//
//   SELECT neighbor, similarity FROM glove_nn('frog', NULL, 2);  frogs | 0.786..., toad | 0.766...
//   SELECT neighbor FROM glove_nn WHERE expr = 'king - man + woman' AND k = 1;       queen
//   SELECT i.id, n.neighbor FROM items i JOIN glove_nn n ON n.word = i.tag AND n.k = 5;
//
// The hidden columns are inputs, given as arguments or with =, IS or IN. All other conditions apply to rows:
// those that the planner pushes down save work and never change a row (glove_nn_plan.h). The implementation
// consists of the planner (glove_nn_planner.cpp), the arguments (glove_nn_inputs.h), the rows
// (glove_nn_search.h), and, in this file, the table and its cursors (sql/adapter/table.h).
#include <cstdlib>
#include <optional>

#include "sql/adapter/arguments.h"
#include "sql/adapter/input_numbers.h"
#include "sql/adapter/interrupt.h"
#include "sql/adapter/table.h"
#include "sql/nn/glove_nn_plan.h"
#include "sql/nn/glove_nn_search.h"
#include "sql/register.h"

namespace glove::sql {
namespace {

void return_expr(sqlite3_context* context, const nn::ExprValue& expr) {
  if (expr.blob) {
    sqlite3_result_blob64(context, expr.bytes.data(), expr.bytes.size(), SQLITE_TRANSIENT);
  } else {
    return_text(context, expr.bytes);
  }
}

// Returns an input as it was given. REQUIRES: inputs.has(column).
void return_input(sqlite3_context* context, const nn::Inputs& inputs, int column) {
  if (column == nn::kWord) return_text(context, inputs.word);
  if (column == nn::kExpr) return_expr(context, inputs.expr);
  if (column == nn::kK) sqlite3_result_int64(context, inputs.k);
  if (column == nn::kModel) return_text(context, inputs.model);
  if (column == nn::kBackend) return_text(context, inputs.backend);
}

// An input that was not given has no value in this plan, not even NULL. Reading it is an error, so that
// SQLite cannot discard rows by checking `expr = NULL` where it does not omit the check (see push_inputs()).
Error missing_input(const nn::Inputs& inputs, int column) {
  if (inputs.state(column) == nn::Given::kNo)
    return {ErrorCode::kInvalidArgument, vtab::not_given(nn::kInputColumns, column)};
  return {ErrorCode::kInvalidArgument,
          "glove_nn: the input " + nn::kInputColumns.name(column) +
              " is NULL, which counts as not given, so it can be neither read nor compared. Beside an OR or "
              "16 other conditions SQLite compares it itself; omit the condition there"};
}

class NeighborCursor;

class GloveNn {
 public:
  static constexpr const char* kName = "glove_nn";
  // The declared types make SQLite pass the values of word = 5 and word IN ('05') as text.
  static constexpr const char* kSchema =
      "CREATE TABLE glove_nn(neighbor TEXT, similarity REAL, rank INTEGER, word TEXT HIDDEN, "
      "expr TEXT HIDDEN, k INTEGER HIDDEN, model TEXT HIDDEN, backend TEXT HIDDEN)";

  explicit GloveNn(Connection& connection)
      : connection_(connection),
        pushdowns_(nn::read_pushdowns(std::getenv("GLOVE_NN_DISABLE"))),
        caches_(connection.engine()) {}

  Status plan(sqlite3_index_info* info) {
    if (!pushdowns_.ok()) return pushdowns_.error();
    const Catalog& catalog = connection_.engine().catalog();
    return nn::best_index(nn::kNnColumns, info, pushdowns_.value(), connection_.db(),
                          [&catalog](sqlite3_value* model) { return nn::size_of_model(catalog, model); });
  }

  using Cursor = NeighborCursor;

 private:
  friend NeighborCursor;

  // REQUIRES: plan() returned a plan.
  nn::TableContext table_context(Connection::Pin& models) {
    const bool cached = (pushdowns_.value() & nn::kCache) != 0;
    return {&connection_.engine(), &models, cached ? &caches_ : nullptr, &hinted_at_expr_};
  }

  Connection& connection_;
  Result<nn::Pushdowns> pushdowns_;
  nn::Caches caches_;
  vtab::InputNumbers numbers_;
  bool hinted_at_expr_ = false;
};

class NeighborCursor {
  // Runs body(), during which the search may poll for an interrupt.
  template <class Body>
  auto interruptible(Body&& body) {
    InterruptPoller poller(table_.connection_.db());
    struct Scope {
      InterruptPoller*& slot;
      ~Scope() { slot = nullptr; }
    } scope{active_poller_ = &poller};
    return body();
  }

 public:
  NeighborCursor(GloveNn& table, Connection::Pin& models)
      : table_(table), models_(models), rowids_(table.numbers_, GloveNn::kName) {
    if (table_.numbers_.cursors() == 1) table_.hinted_at_expr_ = false;  // a statement begins
  }

  Status start(int plan, const char* plan_text, Arguments values) {
    at_end_ = true;
    search_.reset();
    if (plan == nn::Plan::kError) return {ErrorCode::kInvalidArgument, plan_text};
    GLOVE_ASSIGN_OR_RETURN(
        call_, nn::FilterCall::read(nn::Plan::decode(plan, plan_text, nn::kColumnNames), values,
                                    table_.connection_.db(), table_.connection_.engine().backends(),
                                    GloveNn::kName));
    next_setting_ = 0;
    GLOVE_RETURN_IF_ERROR(interruptible([this] { return open_search(); }));
    return next();
  }

  Status next() {
    while (!at_end_) {
      GLOVE_ASSIGN_OR_RETURN(const bool more, interruptible([&] { return search_->next(); }));
      if (more) break;
      // If the file was truncated or overwritten meanwhile, the values that xColumn has read are invalid.
      GLOVE_RETURN_IF_ERROR(interruptible([this] { return search_->health(); }));
      GLOVE_RETURN_IF_ERROR(interruptible([this] { return open_search(); }));
    }
    return {};
  }

  bool next_buffered() noexcept { return search_->next_buffered(); }

  bool at_end() const noexcept { return at_end_; }

  // Returns every value except a rank that is not known yet, and the error for an input that was not given.
  bool column_buffered(sqlite3_context* context, int index) noexcept {
    const nn::NeighborScan& search = *search_;
    if (index == nn::kNeighbor) {
      return_word(context, search.model().vocabulary(), search.neighbor().id);
    } else if (index == nn::kSimilarity) {
      sqlite3_result_double(context, search.neighbor().similarity);
    } else if (index == nn::kRank && search.known_rank() > 0) {
      sqlite3_result_int64(context, search.known_rank());
    } else if (index >= nn::kFirstInput && search.inputs().has(index)) {
      return_input(context, search.inputs(), index);
    } else {
      return false;
    }
    return true;
  }

  Status column(sqlite3_context* context, int index) {
    if (index != nn::kRank) return missing_input(search_->inputs(), index);
    GLOVE_ASSIGN_OR_RETURN(const int64_t rank, interruptible([&] { return search_->rank(); }));
    sqlite3_result_int64(context, rank);
    return {};
  }

  // Identifies the inputs and the neighbor, so that a row that two branches of an OR find is one row, and
  // rows of different inputs are distinct.
  Result<int64_t> rowid() {
    if (numbered_query_ != search_->query_count()) {
      rowids_.start(search_->inputs().key());
      numbered_query_ = search_->query_count();
    }
    return rowids_.rowid(search_->neighbor().id);
  }

 private:
  // Begins the next setting of the call, or sets at_end_ after the last one.
  Status open_search() {
    search_.reset();
    numbered_query_ = 0;
    at_end_ = call_->query_count() == 0 || next_setting_ == call_->setting_count();
    if (at_end_) return {};
    SearchOptions options;
    options.interrupted = [this] { return active_poller_ != nullptr && active_poller_->interrupted(); };
    GLOVE_ASSIGN_OR_RETURN(search_, nn::NeighborScan::open(table_.table_context(models_), *call_,
                                                           next_setting_, std::move(options)));
    ++next_setting_;
    return {};
  }

  GloveNn& table_;
  Connection::Pin& models_;
  InterruptPoller* active_poller_ = nullptr;
  std::optional<nn::FilterCall> call_;
  size_t next_setting_ = 0;                 // of the call
  std::optional<nn::NeighborScan> search_;  // of the setting before; refers to the call
  bool at_end_ = true;
  vtab::ScanRowids rowids_;
  size_t numbered_query_ = 0;  // the query_count() whose inputs rowids_ has; 0: none yet
};

}  // namespace

int register_glove_nn(sqlite3* db, Engine& engine) {
  // Not INNOCUOUS, because the result depends on the models that the process has loaded. Not DIRECTONLY,
  // because it changes nothing, so views and triggers of a trusted schema may use it.
  return vtab::register_table<GloveNn>(db, engine);
}

}  // namespace glove::sql
