// The adapter for tables that users create: CREATE VIRTUAL TABLE name USING module(arguments). In addition to
// what sql/adapter/table.h describes, such a table defines:
//
//   class T {
//    public:
//     using Definition = ...;
//     static Result<Definition> define(std::span<const char* const> arguments);   // those of xCreate
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

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "sql/adapter/database_code.h"
#include "sql/adapter/table.h"

namespace glove::sql::vtab {
namespace detail {

// SQLite's callbacks for one Table that users create.
template <class Table>
class CreatedCallbacks : public Callbacks<Table> {
  using Base = Callbacks<Table>;
  using Base::table_of;
  using typename Base::Object;

 public:
  static int create(sqlite3* db, void* engine, int argc, const char* const* argv, sqlite3_vtab** table,
                    char** message) noexcept {
    return make(db, engine, {argv, static_cast<size_t>(argc)}, table, message, true);
  }

  static int connect(sqlite3* db, void* engine, int argc, const char* const* argv, sqlite3_vtab** table,
                     char** message) noexcept {
    return make(db, engine, {argv, static_cast<size_t>(argc)}, table, message, false);
  }

  static int destroy(sqlite3_vtab* base) noexcept {
    const int code =
        with_database_code([&] { return guard(base, [&] { return table_of(base).destroy(); }); });
    return code == SQLITE_OK ? Base::disconnect(base) : without_message(base, code);
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

  // A query reads and writes the database, too, so it may find it busy or full.
  static int filter(sqlite3_vtab_cursor* base, int plan, const char* plan_text, int count,
                    sqlite3_value** values) noexcept {
    return with_database_code([&] { return Base::filter(base, plan, plan_text, count, values); });
  }

  static int next(sqlite3_vtab_cursor* base) noexcept {
    return with_database_code([&] { return Base::next(base); });
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
    sqlite3_module module = Base::make_scan_module();
    module.iVersion = 4;
    module.xCreate = create;
    module.xConnect = connect;
    module.xDestroy = destroy;
    module.xRename = rename;
    module.xUpdate = update;
    module.xFilter = filter;
    module.xNext = next;
    module.xShadowName = shadow_name;
    module.xIntegrity = integrity;
    return module;
  }

 private:
  // SQLite neither shows nor frees the message of an error of xDestroy and xIntegrity.
  static int without_message(sqlite3_vtab* base, int code) noexcept {
    sqlite3_free(std::exchange(base->zErrMsg, nullptr));
    return code;
  }

  static int make(sqlite3* db, void* engine, std::span<const char* const> arguments, sqlite3_vtab** table,
                  char** message, bool is_new) noexcept {
    try {
      auto definition = Table::define(arguments);
      if (!definition.ok()) {
        *message = sqlite_message(definition.error().message);
        return SQLITE_ERROR;
      }
      auto object = std::make_unique<Object>(Connection::of(db, *static_cast<Engine*>(engine)),
                                             std::move(definition).value());
      if (is_new) {
        const int code = with_database_code([&] {
          return guard(static_cast<sqlite3_vtab*>(object.get()), [&] { return object->table.create(); });
        });
        *message = std::exchange(object->zErrMsg, nullptr);
        if (code != SQLITE_OK) return code;
      }
      if (const int code = sqlite3_declare_vtab(db, object->table.schema().c_str()); code != SQLITE_OK)
        return code;
      *table = object.release();
      return SQLITE_OK;
    } catch (...) {
      return SQLITE_NOMEM;
    }
  }
};

template <class Table>
inline constexpr sqlite3_module kCreatedModule = CreatedCallbacks<Table>::make_module();

}  // namespace detail

// Registers the module with the connection. Returns an SQLite code. `engine` must outlive the connection.
template <class Table>
int register_created_table(sqlite3* db, Engine& engine) {
  return sqlite3_create_module_v2(db, Table::kName, &detail::kCreatedModule<Table>, &engine, nullptr);
}

}  // namespace glove::sql::vtab
