// glove_nn: the words of a model, ranked by their cosine with a query.
//
//   CREATE TABLE glove_nn(neighbor TEXT, similarity REAL, rank INTEGER,
//                         word TEXT HIDDEN, expr TEXT HIDDEN, k INTEGER HIDDEN, model TEXT HIDDEN,
//                         backend TEXT HIDDEN);
//
//   SELECT neighbor, similarity FROM glove_nn('frog', NULL, 2);  frogs | 0.786..., toad | 0.766...
//   SELECT neighbor FROM glove_nn WHERE expr = 'king - man + woman' AND k = 1;       queen
//   SELECT i.id, n.neighbor FROM items i JOIN glove_nn n ON n.word = i.tag AND n.k = 5;
//
// The hidden columns are inputs: given by argument, =, IS or IN. Everything else is a condition on
// rows; what is known of it saves work and never changes a row (glove_nn_plan.h). The parts: the planner
// (glove_nn_planner.cpp), the arguments (glove_nn_inputs.h), the rows (glove_nn_search.h), and
// here the module that SQLite calls.
#include <cstdlib>
#include <memory>
#include <optional>

#include "sql/arguments.h"
#include "sql/boundary.h"
#include "sql/glove_nn_plan.h"
#include "sql/glove_nn_search.h"
#include "sql/interrupt.h"
#include "sql/register.h"

namespace glove::sql {
namespace {

// Declared types, so that SQLite hands word = 5 and word IN ('05') over as the text they are.
constexpr const char* kDeclaration =
    "CREATE TABLE glove_nn(neighbor TEXT, similarity REAL, rank INTEGER, word TEXT HIDDEN, "
    "expr TEXT HIDDEN, k INTEGER HIDDEN, model TEXT HIDDEN, backend TEXT HIDDEN)";

struct Table : sqlite3_vtab {
  Table(sqlite3* database, Engine& of_process, nn::Pushdowns enabled)
      : sqlite3_vtab{}, db(database), engine(of_process), pushdowns(enabled), cache(of_process) {}

  sqlite3* db;
  Engine& engine;
  std::shared_ptr<Connection> connection = Connection::of(db, engine);
  nn::Pushdowns pushdowns;
  AnswerCache cache;  // of this connection's joins
};

struct Cursor : sqlite3_vtab_cursor {
  explicit Cursor(Table* owner) : sqlite3_vtab_cursor{}, table(owner), pin(owner->connection) {}

  // Runs body() while the engine may ask whether to stop.
  template <class Body>
  auto interruptible(Body&& body) {
    InterruptPoller poller(table->db);
    struct Scope {
      InterruptPoller*& slot;
      ~Scope() { slot = nullptr; }
    } scope{active_poller = &poller};
    return body();
  }

  Table* table;
  Connection::Pin pin;
  InterruptPoller* active_poller = nullptr;
  std::optional<nn::Request> request;
  size_t next_setting = 0;           // of the request
  std::optional<nn::Search> search;  // of the setting before; refers to the request
  bool at_end = true;
};

Cursor* as_cursor(sqlite3_vtab_cursor* cursor) {
  return static_cast<Cursor*>(cursor);
}

int connect(sqlite3* db, void* engine, int, const char* const*, sqlite3_vtab** table, char** error) {
  try {
    const Result<nn::Pushdowns> pushdowns = nn::read_pushdowns(std::getenv("GLOVE_NN_DISABLE"));
    if (!pushdowns.ok()) {
      *error = sqlite_message(pushdowns.error().message);
      return SQLITE_ERROR;
    }
    if (const int code = sqlite3_declare_vtab(db, kDeclaration); code != SQLITE_OK) return code;
    *table = new Table(db, *static_cast<Engine*>(engine), pushdowns.value());
    return SQLITE_OK;
  } catch (...) {
    return SQLITE_NOMEM;
  }
}

int disconnect(sqlite3_vtab* table) {
  delete static_cast<Table*>(table);
  return SQLITE_OK;
}

int best_index(sqlite3_vtab* table, sqlite3_index_info* info) {
  return guard(table, [&] {
    const Table& ours = *static_cast<Table*>(table);
    return nn::best_index(info, ours.pushdowns, ours.db, ours.engine.catalog());
  });
}

int open(sqlite3_vtab* table, sqlite3_vtab_cursor** cursor) {
  return guard(table, [&] {
    *cursor = new Cursor(static_cast<Table*>(table));
    return Status();
  });
}

int close(sqlite3_vtab_cursor* cursor) {
  delete as_cursor(cursor);
  return SQLITE_OK;
}

// Goes on with the next setting of the request; at_end after the last.
Status open_search(Cursor& cursor) {
  const nn::Request& request = *cursor.request;
  cursor.search.reset();
  cursor.at_end = request.query_count() == 0 || cursor.next_setting == request.setting_count();
  if (cursor.at_end) return {};
  SearchOptions options;
  options.interrupted = [&cursor] {
    return cursor.active_poller != nullptr && cursor.active_poller->interrupted();
  };
  const bool cached = (cursor.table->pushdowns & nn::kCache) != 0;
  GLOVE_ASSIGN_OR_RETURN(cursor.search,
                         nn::Search::open(cursor.pin, request, cursor.next_setting, std::move(options),
                                          cached ? &cursor.table->cache : nullptr));
  ++cursor.next_setting;
  return {};
}

Status advance(Cursor& cursor) {
  while (!cursor.at_end) {
    GLOVE_ASSIGN_OR_RETURN(const bool more, cursor.interruptible([&] { return cursor.search->next(); }));
    if (more) break;
    // What xColumn read of a file that was cut or overwritten meanwhile is not believed.
    GLOVE_RETURN_IF_ERROR(cursor.search->model().health());
    GLOVE_RETURN_IF_ERROR(open_search(cursor));
  }
  return {};
}

int filter(sqlite3_vtab_cursor* base, int idx_num, const char* idx_str, int argc, sqlite3_value** argv) {
  return guard(base->pVtab, [&]() -> Status {
    Cursor& cursor = *as_cursor(base);
    cursor.at_end = true;
    cursor.search.reset();
    if (idx_num == nn::Plan::kError) return {ErrorCode::kInvalidArgument, idx_str};
    GLOVE_ASSIGN_OR_RETURN(
        cursor.request,
        nn::Request::read(nn::Plan::decode(idx_num, idx_str), Arguments(argv, static_cast<size_t>(argc)),
                          cursor.table->db, cursor.table->engine.backends()));
    cursor.next_setting = 0;
    GLOVE_RETURN_IF_ERROR(open_search(cursor));
    return advance(cursor);
  });
}

int next(sqlite3_vtab_cursor* base) {
  if (as_cursor(base)->search->next_at_hand()) return SQLITE_OK;
  return guard(base->pVtab, [&] { return advance(*as_cursor(base)); });
}

int eof(sqlite3_vtab_cursor* base) {
  return as_cursor(base)->at_end;
}

void return_expr(sqlite3_context* context, const nn::ExprValue& expr) {
  if (expr.blob) {
    sqlite3_result_blob64(context, expr.bytes.data(), expr.bytes.size(), SQLITE_TRANSIENT);
  } else {
    return_text(context, expr.bytes);
  }
}

// An input reads as it was given. REQUIRES: inputs.has(column).
void return_input(sqlite3_context* context, const nn::Inputs& inputs, int column) {
  if (column == nn::kWord) return_text(context, inputs.word);
  if (column == nn::kExpr) return_expr(context, inputs.expr);
  if (column == nn::kK) sqlite3_result_int64(context, inputs.k);
  if (column == nn::kModel) return_text(context, inputs.model);
  if (column == nn::kBackend) return_text(context, inputs.backend);
}

// An input that was not given has no value in this plan, not even NULL; so SQLite cannot check `expr = NULL`
// and lose the rows, where it could not leave the check out (the planner says when).
Error missing_input(const nn::Inputs& inputs, int column) {
  const std::string name =
      std::string("glove_nn: the input ") + nn::kColumnNames[static_cast<size_t>(column)];
  if (inputs.state(column) == nn::Given::kNull)
    return {
        ErrorCode::kInvalidArgument,
        name +
            " is NULL, which means not given, so it can be neither read nor compared; and beside an OR or 16 "
            "other conditions SQLite compares it itself: leave it out there"};
  return {
      ErrorCode::kInvalidArgument,
      name +
          " was not given, so it can be neither read nor compared; give it by argument, =, IS or IN, as a "
          "condition of its own, in an outer join in its ON clause"};
}

// What a row has at hand costs a join nothing but this: no guard, since nothing here can fail on our side.
bool return_at_once(sqlite3_context* context, const nn::Search& search, int index) {
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

int column(sqlite3_vtab_cursor* base, sqlite3_context* context, int index) {
  if (return_at_once(context, *as_cursor(base)->search, index)) return SQLITE_OK;
  return guard(context, [&]() -> Status {
    Cursor& cursor = *as_cursor(base);
    nn::Search& search = *cursor.search;
    if (index != nn::kRank) return missing_input(search.inputs(), index);
    GLOVE_ASSIGN_OR_RETURN(const int64_t rank, cursor.interruptible([&] { return search.rank(); }));
    sqlite3_result_int64(context, rank);
    return {};
  });
}

// Names the inputs and the word, so that a row found by two branches of an OR is one row, and rows of
// different inputs are two.
int rowid(sqlite3_vtab_cursor* base, sqlite3_int64* rowid) {
  const nn::Search& search = *as_cursor(base)->search;
  *rowid = (static_cast<sqlite3_int64>(search.inputs().fingerprint()) << 31) | search.neighbor().id;
  return SQLITE_OK;
}

// No xCreate: the table is there without CREATE VIRTUAL TABLE, and cannot be created. No security flag:
// what it gives depends on the models that the process has loaded and not on its arguments alone, so it
// is not innocuous; and it changes nothing, so views and triggers of a trusted schema may use it.
constexpr sqlite3_module make_module() {
  sqlite3_module module{};
  module.xConnect = connect;
  module.xBestIndex = best_index;
  module.xDisconnect = disconnect;
  module.xOpen = open;
  module.xClose = close;
  module.xFilter = filter;
  module.xNext = next;
  module.xEof = eof;
  module.xColumn = column;
  module.xRowid = rowid;
  return module;
}
constexpr sqlite3_module kModule = make_module();

}  // namespace

int register_glove_nn(sqlite3* db, Engine& engine) {
  return sqlite3_create_module_v2(db, "glove_nn", &kModule, &engine, nullptr);
}

}  // namespace glove::sql
