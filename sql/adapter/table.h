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
//   constexpr SqlObject kGloveT = vtab::table_object<T>();
//
// Two optional members of Cursor let a table return values from memory without a guard, whose cost per row is
// measurable. They are noexcept, and must not call anything that can throw or that allocates in C++:
//
//   bool next_buffered() noexcept;      // moves to the next row; false: it has not moved, call next()
//   bool column_buffered(sqlite3_context* context, int column) noexcept;   // false: call column()
//
// sql/adapter/inputs.h plans and reads the inputs of a table; sql/adapter/snapshot.h is for small tables
// whose rows are computed at once. These tables are read-only and eponymous, so they exist without CREATE
// VIRTUAL TABLE. A table that users create, CREATE VIRTUAL TABLE name USING module(arguments), defines in
// addition to that (is_new: for xCreate rather than xConnect):
//
//   class T {
//    public:
//     using Definition = ...;
//     static Result<Definition> define(Connection&, std::span<const char* const> arguments, bool is_new);
//     T(Connection& connection, Definition definition);
//     std::string schema() const;                     // for sqlite3_declare_vtab, in place of kSchema
//     Status create();                                // xCreate, after the constructor
//     Status destroy();                               // xDestroy
//     Status rename(const std::string& new_name);     // xRename
//     Status insert(Arguments columns);               // xUpdate: INSERT
//     Error cannot_change() const;                    // xUpdate: UPDATE and DELETE
//     Result<std::string> problem();                  // xIntegrity: what is wrong, or nothing
//     static bool is_shadow_suffix(std::string_view suffix);   // xShadowName
//   };
#pragma once

#include <exception>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "base/float_environment.h"
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

// SQLite's callbacks for one Table.
template <class Table>
class Callbacks {
  using Object = TableObject<Table>;
  using Cursor = typename Table::Cursor;

  static Table& table_of(sqlite3_vtab* base) { return static_cast<Object*>(base)->table; }
  static Cursor& cursor_of(sqlite3_vtab_cursor* base) noexcept {
    return static_cast<CursorObject<Table>*>(base)->cursor;
  }

 public:
  static int connect(sqlite3* db, void* engine, int, const char* const*, sqlite3_vtab** table,
                     char** message) noexcept {
    try {
      auto object = std::make_unique<Object>(Connection::of(db, *static_cast<Engine*>(engine)));
      if (const int code = declare_table(db, Table::kSchema, message); code != SQLITE_OK) return code;
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
    return query(base, [&] {
      return cursor_of(base).start(plan, plan_text, Arguments(values, static_cast<size_t>(count)));
    });
  }

  static int next(sqlite3_vtab_cursor* base) noexcept {
    if constexpr (requires(Cursor & cursor) { cursor.next_buffered(); }) {
      static_assert(noexcept(cursor_of(base).next_buffered()));
      if (cursor_of(base).next_buffered()) return SQLITE_OK;
    }
    return query(base, [&] { return cursor_of(base).next(); });
  }

  static int eof(sqlite3_vtab_cursor* base) noexcept {
    static_assert(noexcept(std::declval<const Cursor&>().at_end()));
    return cursor_of(base).at_end() ? 1 : 0;
  }

  static int column(sqlite3_vtab_cursor* base, sqlite3_context* context, int index) noexcept {
    if constexpr (requires(Cursor & cursor) { cursor.column_buffered(context, index); }) {
      static_assert(noexcept(cursor_of(base).column_buffered(context, index)));
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

  // The other callbacks are those of tables that users create.

  // CREATE VIRTUAL TABLE makes a new table.
  template <bool kIsNew>
  static int make(sqlite3* db, void* engine, int argc, const char* const* argv, sqlite3_vtab** table,
                  char** message) noexcept {
    const ScopedFloatEnvironment float_environment;
    try {
      ConnectionPtr connection = Connection::of(db, *static_cast<Engine*>(engine));
      std::unique_ptr<Object> object;
      const int defined = with_database_code([&] {
        auto definition = Table::define(*connection, {argv, static_cast<size_t>(argc)}, kIsNew);
        if (!definition.ok()) {
          *message = sqlite_message(definition.error().message);
          return SQLITE_ERROR;
        }
        object = std::make_unique<Object>(connection, std::move(definition).value());
        return SQLITE_OK;
      });
      if (defined != SQLITE_OK) return defined;
      if constexpr (kIsNew) {
        const int code = with_database_code([&] {
          return guard(static_cast<sqlite3_vtab*>(object.get()), [&] { return object->table.create(); });
        });
        *message = std::exchange(object->zErrMsg, nullptr);
        if (code != SQLITE_OK) return code;
      }
      if (const int code = declare_table(db, object->table.schema().c_str(), message); code != SQLITE_OK)
        return code;
      *table = object.release();
      return SQLITE_OK;
    } catch (const std::bad_alloc&) {
      return SQLITE_NOMEM;
    } catch (const std::exception& error) {
      *message = sqlite3_mprintf("%s", error.what());
      return SQLITE_ERROR;
    } catch (...) {
      return SQLITE_ERROR;
    }
  }

  static int destroy(sqlite3_vtab* base) noexcept {
    const int code =
        with_database_code([&] { return guard(base, [&] { return table_of(base).destroy(); }); });
    return code == SQLITE_OK ? disconnect(base) : without_message(base, code);
  }

  static int rename(sqlite3_vtab* base, const char* new_name) noexcept {
    return with_database_code([&] { return guard(base, [&] { return table_of(base).rename(new_name); }); });
  }

  // An INSERT has two arguments for the rowid before those of the columns, the first of them NULL.
  // last_insert_rowid() stays what it was, although the table may insert rows into tables of its own.
  static int update(sqlite3_vtab* base, int argc, sqlite3_value** argv, sqlite3_int64* rowid) noexcept {
    sqlite3* const db = static_cast<Object*>(base)->connection->db();
    *rowid = sqlite3_last_insert_rowid(db);
    const int code = with_database_code([&] {
      return guard(base, [&]() -> Status {
        if (argc < 2 || !is_null(argv[0])) return table_of(base).cannot_change();
        return table_of(base).insert(Arguments(argv, static_cast<size_t>(argc)).subspan(2));
      });
    });
    // After a success SQLite sets it to *rowid itself.
    if (code != SQLITE_OK && sqlite_has(kSqliteSetLastInsertRowid)) sqlite3_set_last_insert_rowid(db, *rowid);
    return code;
  }

  static int shadow_name(const char* suffix) noexcept { return Table::is_shadow_suffix(suffix) ? 1 : 0; }

  static int integrity(sqlite3_vtab* base, const char*, const char*, int, char** problem) noexcept {
    const int code = guard(base, [&]() -> Status {
      GLOVE_ASSIGN_OR_RETURN(const std::string found, table_of(base).problem());
      if (!found.empty()) *problem = sqlite_message(found);
      return {};
    });
    return without_message(base, code);
  }

  static constexpr sqlite3_module make_module() {
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
    if constexpr (requires { typename Table::Definition; }) {
      module.iVersion = 4;
      module.xCreate = make<true>;
      module.xConnect = make<false>;
      module.xDestroy = destroy;
      module.xRename = rename;
      module.xUpdate = update;
      module.xShadowName = shadow_name;
      module.xIntegrity = integrity;
    } else {
      module.xConnect = connect;
    }
    return module;
  }

 private:
  // Runs body(), guarded. It may run statements of its own, which may find the database busy or full.
  template <class Body>
  static int query(sqlite3_vtab_cursor* base, const Body& body) noexcept {
    return with_database_code([&] { return guard(base->pVtab, body); });
  }

  // SQLite neither shows nor frees the message of an error of xDestroy and xIntegrity.
  static int without_message(sqlite3_vtab* base, int code) noexcept {
    sqlite3_free(std::exchange(base->zErrMsg, nullptr));
    return code;
  }
};

template <class Table>
inline constexpr sqlite3_module kModule = Callbacks<Table>::make_module();

}  // namespace detail

// Returns the table, or the module of tables that users create, to be registered.
template <class Table>
constexpr SqlObject table_object() {
  return {Table::kName, &detail::kModule<Table>};
}

}  // namespace glove::sql::vtab
