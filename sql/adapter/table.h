// The adapter between SQLite's virtual tables and C++ classes. It owns the objects that SQLite passes to the
// callbacks and guards every callback (sql/adapter/boundary.h). A table only defines its schema, its plan and
// its rows:
//
//   class T {                                  // one object per connection that uses the table
//    public:
//     static constexpr const char* kName = "glove_t";
//     static constexpr const char* kSchema = "CREATE TABLE glove_t(...)";
//     explicit T(Connection& connection);  // which outlives the table
//     Status plan(sqlite3_index_info* info);   // xBestIndex
//
//     class Cursor {                           // one scan; T outlives it
//      public:
//       Cursor(T& table, Connection::Pin& models);   // the models that the scan sees; they outlive it too
//       Status start(int plan, const char* plan_text, Arguments values);  // xFilter: to the first row
//       Status next();                                                    // xNext
//       bool at_end() const noexcept;                                     // xEof
//       Status column(sqlite3_context* context, int column);              // xColumn
//       Result<int64_t> rowid();                                          // xRowid
//     };
//   };
//   int register_glove_t(sqlite3* db, Engine& engine) { return vtab::register_table<T>(db, engine); }
//
// Two optional members of Cursor let a table return values from memory without a guard, whose cost per row is
// measurable. They are noexcept, and must not call anything that can throw or that allocates in C++:
//
//   bool next_buffered() noexcept;      // moves to the next row; false: it has not moved, call next()
//   bool column_buffered(sqlite3_context* context, int column) noexcept;   // false: call column()
//
// sql/adapter/inputs.h plans and reads the inputs of a table; sql/adapter/snapshot.h is for small tables
// whose rows are computed at once. These tables are read-only and eponymous, so they exist without CREATE
// VIRTUAL TABLE; sql/adapter/created_table.h is for those that the user creates.
#pragma once

#include <concepts>
#include <memory>
#include <utility>

#include "search/engine.h"
#include "sql/adapter/arguments.h"
#include "sql/adapter/connection.h"

namespace glove::sql::vtab {

using ConnectionPtr = std::shared_ptr<Connection>;

namespace detail {

// The table object of SQLite, created by xConnect and freed by xDisconnect. `arguments` are those that the
// table takes besides the connection.
template <class Table>
struct TableObject : sqlite3_vtab {
  template <class... Arguments>
  explicit TableObject(ConnectionPtr of, Arguments&&... arguments)
      : sqlite3_vtab{},
        connection(std::move(of)),
        table(*connection, std::forward<Arguments>(arguments)...) {}
  const ConnectionPtr connection;
  Table table;
};

// The cursor object of SQLite, created by xOpen and freed by xClose. Pins the models in between.
template <class Table>
struct CursorObject : sqlite3_vtab_cursor {
  explicit CursorObject(TableObject<Table>& object)
      : sqlite3_vtab_cursor{}, models(object.connection), cursor(object.table, models) {}
  Connection::Pin models;
  typename Table::Cursor cursor;
};

template <class Cursor>
concept HasBufferedRows = requires(Cursor& cursor) {
  { cursor.next_buffered() }
  noexcept->std::same_as<bool>;
};

template <class Cursor>
concept HasBufferedColumns = requires(Cursor& cursor, sqlite3_context* context, int column) {
  { cursor.column_buffered(context, column) }
  noexcept->std::same_as<bool>;
};

// SQLite's callbacks for one Table.
template <class Table>
class Callbacks {
 protected:
  using Object = TableObject<Table>;
  using Cursor = typename Table::Cursor;

  static Table& table_of(sqlite3_vtab* base) { return static_cast<Object*>(base)->table; }

 private:
  static Cursor& cursor_of(sqlite3_vtab_cursor* base) {
    return static_cast<CursorObject<Table>*>(base)->cursor;
  }

 public:
  // There is no table yet that could carry a message, and the only possible failure is lack of memory.
  static int connect(sqlite3* db, void* engine, int, const char* const*, sqlite3_vtab** table,
                     char**) noexcept {
    try {
      auto object = std::make_unique<Object>(Connection::of(db, *static_cast<Engine*>(engine)));
      if (const int code = sqlite3_declare_vtab(db, Table::kSchema); code != SQLITE_OK) return code;
      *table = object.release();
      return SQLITE_OK;
    } catch (...) {
      return SQLITE_NOMEM;
    }
  }

  static int disconnect(sqlite3_vtab* base) noexcept {
    delete static_cast<Object*>(base);
    return SQLITE_OK;
  }

  static int best_index(sqlite3_vtab* base, sqlite3_index_info* info) noexcept {
    return guard(base, [&] { return table_of(base).plan(info); });
  }

  static int open(sqlite3_vtab* base, sqlite3_vtab_cursor** cursor) noexcept {
    return guard(base, [&] {
      *cursor = new CursorObject<Table>(*static_cast<Object*>(base));
      return Status();
    });
  }

  static int close(sqlite3_vtab_cursor* base) noexcept {
    delete static_cast<CursorObject<Table>*>(base);
    return SQLITE_OK;
  }

  static int filter(sqlite3_vtab_cursor* base, int plan, const char* plan_text, int count,
                    sqlite3_value** values) noexcept {
    return guard(base->pVtab, [&] {
      return cursor_of(base).start(plan, plan_text, Arguments(values, static_cast<size_t>(count)));
    });
  }

  static int next(sqlite3_vtab_cursor* base) noexcept {
    if constexpr (HasBufferedRows<Cursor>) {
      if (cursor_of(base).next_buffered()) return SQLITE_OK;
    }
    return guard(base->pVtab, [&] { return cursor_of(base).next(); });
  }

  static int eof(sqlite3_vtab_cursor* base) noexcept {
    static_assert(noexcept(std::declval<const Cursor&>().at_end()));
    return cursor_of(base).at_end() ? 1 : 0;
  }

  static int column(sqlite3_vtab_cursor* base, sqlite3_context* context, int index) noexcept {
    if constexpr (HasBufferedColumns<Cursor>) {
      if (cursor_of(base).column_buffered(context, index)) return SQLITE_OK;
    }
    return guard(context, [&] { return cursor_of(base).column(context, index); });
  }

  static int rowid(sqlite3_vtab_cursor* base, sqlite3_int64* result) noexcept {
    return guard(base->pVtab, [&]() -> Status {
      GLOVE_ASSIGN_OR_RETURN(*result, cursor_of(base).rowid());
      return {};
    });
  }

  static constexpr sqlite3_module make_module() {
    sqlite3_module module = make_scan_module();
    module.xConnect = connect;
    return module;
  }

 protected:
  // Everything except how a table is connected.
  static constexpr sqlite3_module make_scan_module() {
    sqlite3_module module{};
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
};

template <class Table>
inline constexpr sqlite3_module kModule = Callbacks<Table>::make_module();

}  // namespace detail

// Registers the table with the connection. Returns an SQLite code. `engine` must outlive the connection.
template <class Table>
int register_table(sqlite3* db, Engine& engine) {
  return sqlite3_create_module_v2(db, Table::kName, &detail::kModule<Table>, &engine, nullptr);
}

}  // namespace glove::sql::vtab
