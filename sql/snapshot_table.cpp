#include "sql/snapshot_table.h"

#include <memory>
#include <utility>

#include "sql/boundary.h"

namespace glove::sql {
namespace {

// The module's client data.
struct Module {
  const SnapshotTable& definition;
  Engine& engine;
};

struct Table : sqlite3_vtab {
  const Module* module;
};

struct Cursor : sqlite3_vtab_cursor {
  std::vector<SnapshotRow> rows;
  size_t position = 0;
};

int connect(sqlite3* db, void* client_data, int, const char* const*, sqlite3_vtab** table, char**) {
  const auto* module = static_cast<const Module*>(client_data);
  const int code = sqlite3_declare_vtab(db, module->definition.declaration);
  if (code != SQLITE_OK) return code;
  auto* made = new (std::nothrow) Table{};
  if (made == nullptr) return SQLITE_NOMEM;
  made->module = module;
  *table = made;
  return SQLITE_OK;
}

int disconnect(sqlite3_vtab* table) {
  delete static_cast<Table*>(table);
  return SQLITE_OK;
}

// Always a full scan; SQLite applies the conditions.
int best_index(sqlite3_vtab*, sqlite3_index_info* plan) {
  plan->estimatedCost = 1000;
  plan->estimatedRows = 100;
  return SQLITE_OK;
}

int open(sqlite3_vtab*, sqlite3_vtab_cursor** cursor) {
  *cursor = new (std::nothrow) Cursor{};
  return *cursor == nullptr ? SQLITE_NOMEM : SQLITE_OK;
}

int close(sqlite3_vtab_cursor* cursor) {
  delete static_cast<Cursor*>(cursor);
  return SQLITE_OK;
}

int filter(sqlite3_vtab_cursor* base, int, const char*, int, sqlite3_value**) {
  auto* cursor = static_cast<Cursor*>(base);
  return guard(base->pVtab, [cursor]() -> Status {
    cursor->position = 0;
    const Module& module = *static_cast<Table*>(cursor->pVtab)->module;
    GLOVE_ASSIGN_OR_RETURN(cursor->rows, module.definition.rows(module.engine));
    return Status();
  });
}

int next(sqlite3_vtab_cursor* cursor) {
  ++static_cast<Cursor*>(cursor)->position;
  return SQLITE_OK;
}

int eof(sqlite3_vtab_cursor* base) {
  const auto* cursor = static_cast<Cursor*>(base);
  return cursor->position >= cursor->rows.size();
}

struct ReturnValue {
  sqlite3_context* context;
  void operator()(std::nullptr_t) const { sqlite3_result_null(context); }
  void operator()(int64_t value) const { sqlite3_result_int64(context, value); }
  void operator()(double value) const { sqlite3_result_double(context, value); }
  void operator()(const std::string& value) const {
    sqlite3_result_text64(context, value.data(), value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  }
};

int column(sqlite3_vtab_cursor* base, sqlite3_context* context, int index) {
  const auto* cursor = static_cast<Cursor*>(base);
  const SnapshotRow& row = cursor->rows[cursor->position];
  if (static_cast<size_t>(index) < row.size())
    std::visit(ReturnValue{context}, row[static_cast<size_t>(index)]);
  return SQLITE_OK;
}

int rowid(sqlite3_vtab_cursor* cursor, sqlite3_int64* id) {
  *id = static_cast<sqlite3_int64>(static_cast<Cursor*>(cursor)->position) + 1;
  return SQLITE_OK;
}

// Without xCreate the table is eponymous only: it exists, and nobody can create another.
const sqlite3_module kModule = [] {
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
}();

}  // namespace

int register_snapshot_table(sqlite3* db, Engine& engine, const SnapshotTable& table) {
  auto* module = new (std::nothrow) Module{table, engine};
  if (module == nullptr) return SQLITE_NOMEM;
  // SQLite destroys the module when it is replaced, when the connection closes, and when this call fails.
  return sqlite3_create_module_v2(db, table.name, &kModule, module,
                                  [](void* client_data) { delete static_cast<Module*>(client_data); });
}

}  // namespace glove::sql
