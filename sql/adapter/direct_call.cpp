#include "sql/adapter/direct_call.h"

#include <array>
#include <string>
#include <string_view>

#include "sql/adapter/own_statement.h"
#include "sql/adapter/sql_tokens.h"

namespace glove::sql {
namespace {

constexpr std::array<std::string_view, 9> kDirectFunctions = {
    "glove_load", "glove_unload", "glove_config", "glove_derive", "glove_load_table",
    "glove_save", "glove_recall", "glove_repair", "glove_attach"};

bool running_statement_calls(sqlite3* db, std::string_view function) {
  for (sqlite3_stmt* statement = sqlite3_next_stmt(db, nullptr); statement != nullptr;
       statement = sqlite3_next_stmt(db, statement)) {
    if (sqlite3_stmt_busy(statement) == 0) continue;
    const char* const sql = sqlite3_sql(statement);  // null if this SQLite does not keep it
    if (sql != nullptr && !is_explained(sql) && !called_function(sql, {&function, 1}).empty()) return true;
  }
  return false;
}

// Whether a statement of the connection may be reading or writing the database.
bool in_use(sqlite3* db, const std::string& schema) {
  return !sqlite_has(kSqliteTxnState) || sqlite3_txn_state(db, schema.c_str()) != SQLITE_TXN_NONE;
}

// Where SQLite does not know SQLITE_DIRECTONLY, views and triggers could call the functions, too.
bool may_run(std::string_view sql) {
  return !sqlite_has(kSqliteDirectOnly) || defines_table(sql);
}

// Returns the end of a message that names an object of the database that calls one of the functions; empty if
// there is none.
Result<std::string> calling_object(sqlite3* db, const std::string& schema, const std::string& subject) {
  OwnQuery object(db, subject, "SELECT name, sql FROM " + quoted_name(schema) + ".sqlite_master");
  while (true) {
    GLOVE_ASSIGN_OR_RETURN(const bool more, object.next());
    if (!more) return std::string();
    const std::string_view sql = object.text(1);
    const std::string_view called = called_function(sql, kDirectFunctions);
    if (!called.empty() && may_run(sql))
      return "the definition of " + shown_value(object.value(0)) + " in the database " + quoted_name(schema) +
             " calls " + std::string(called) +
             ", which only a statement of the application may call; drop it, or detach the database";
  }
}

Status check_schemas(sqlite3* db, const std::string& function) {
  const std::string subject = function + ": cannot see whether a table calls such functions";
  OwnQuery database(db, subject, "PRAGMA database_list");
  return database.for_each([&]() -> Status {
    const std::string schema(database.text(1));
    const bool used = in_use(db, schema);
    if (!used && sqlite3_get_autocommit(db) == 0) return {};
    const Result<std::string> found = calling_object(db, schema, subject);
    if (!found.ok() && !used && found.error().code != ErrorCode::kInterrupted) return {};
    GLOVE_RETURN_IF_ERROR(found);
    return found.value().empty() ? Status() : invalid_value(function, found.value());
  });
}

}  // namespace

Status check_direct_step(sqlite3_context* context) {
  sqlite3* const db = sqlite3_context_db_handle(context);
  const std::string function(function_name_of(context));
  if (connection_of(context).loads_rows())
    return invalid_value(function, "the SELECT must not call ", function);
  if (!running_statement_calls(db, function))
    return invalid_value(
        function,
        "no statement that runs calls it in its own text; views, triggers, CHECK constraints "
        "and defaults must not call it; write SELECT ",
        function, "(...)");
  return check_schemas(db, function);
}

Status check_direct_call(sqlite3_context* context) {
  const bool checked = sqlite3_get_auxdata(context, 0) != nullptr;  // before, in this run of the statement
  if (checked && !connection_of(context).loads_rows()) return {};
  GLOVE_RETURN_IF_ERROR(check_direct_step(context));
  sqlite3_set_auxdata(context, 0, sqlite3_user_data(context), nullptr);
  return {};
}

}  // namespace glove::sql
