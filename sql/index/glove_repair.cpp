// glove_repair(name): makes the triggers of a live index again, as after a migration that remade its table,
// and indexes the rows that have changed meanwhile. name is that of the index, or schema.name. Direct-only.
//
//   SELECT glove_repair('doc_vec');                                      doc_vec
#include <string>

#include "sql/adapter/direct_call.h"
#include "sql/adapter/own_statement.h"
#include "sql/adapter/sql_tokens.h"
#include "sql/register.h"

namespace glove::sql {
namespace {

constexpr const char* kFunction = "glove_repair";

Result<bool> is_index(sqlite3* db, const std::string& schema, const std::string& name) {
  OwnQuery table(db, kFunction,
                 "SELECT sql FROM " + quoted_name(schema) +
                     ".sqlite_master WHERE type = 'table' AND name = ? COLLATE NOCASE",
                 name);
  GLOVE_ASSIGN_OR_RETURN(const bool found, table.next());
  return found && module_of(table.text(0)) == "glove_index";
}

Status repair(sqlite3_context* context, Arguments arguments) {
  GLOVE_ASSIGN_OR_RETURN(const std::string_view given, required_text(arguments, 0, kFunction, "name"));
  sqlite3* const db = sqlite3_context_db_handle(context);
  const size_t point = given.find('.');
  const bool has_schema = point != std::string_view::npos;
  const std::string schema(has_schema ? given.substr(0, point) : "main");
  const std::string name(has_schema ? given.substr(point + 1) : given);
  const Result<bool> found = is_index(db, schema, name);
  if (!found.ok() || !found.value())
    return invalid_value(kFunction, "there is no index ", shown_value(arguments[0]),
                         "; write its name, or schema.name; glove_indexes lists them");
  const std::string table = quoted_name(name);
  GLOVE_RETURN_IF_ERROR(
      execute(db, "INSERT INTO " + quoted_name(schema) + "." + table + "(" + table + ") VALUES ('repair')",
              kFunction));
  sqlite3_result_value(context, arguments[0]);
  return {};
}

}  // namespace

int register_glove_repair(sqlite3* db, Engine& engine) {
  // DIRECTONLY, because it changes the schema and reads the whole table.
  return register_direct_function<repair>(db, engine, kFunction, 1, 1);
}

}  // namespace glove::sql
