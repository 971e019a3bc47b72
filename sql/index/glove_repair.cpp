// glove_repair(name): makes the triggers of a live index again, as after a migration that remade its table,
// and indexes the rows that have changed meanwhile. name is that of the index, or schema.name.
//
//   SELECT glove_repair('doc_vec');                                      doc_vec
//
// glove_attach([schema]): makes in temp, for this connection, the virtual tables of the indexes whose other
// tables lie in the schema, or in any, and removes those whose tables are gone. Returns a line for each: its
// name and, behind a colon, what is wrong with it. NULL if there are none.
//
//   SELECT glove_attach();                                               doc_vec
//
// Both are direct-only.
#include <optional>
#include <string>
#include <vector>

#include "base/scope_exit.h"
#include "sql/adapter/direct_call.h"
#include "sql/adapter/own_statement.h"
#include "sql/adapter/sql_tokens.h"
#include "sql/index/content_schema.h"
#include "sql/index/index_definition.h"
#include "sql/index/index_schema.h"
#include "sql/register.h"

namespace glove::sql {
namespace {

constexpr const char* kRepair = "glove_repair";
constexpr const char* kAttach = "glove_attach";

Status repair(sqlite3_context* context, Arguments arguments) {
  GLOVE_ASSIGN_OR_RETURN(const std::string_view name, required_text(arguments, 0, kRepair, "name"));
  sqlite3* const db = sqlite3_context_db_handle(context);
  GLOVE_ASSIGN_OR_RETURN(const std::optional<IndexDefinition> index, find_index(db, kRepair, name));
  if (!index)
    return invalid_value(kRepair, "there is no index ", shown_value(arguments[0]),
                         "; write its name, or schema.name; glove_indexes lists them");
  GLOVE_RETURN_IF_ERROR(execute(
      db, "INSERT INTO " + index->table() + "(" + quoted_name(index->name) + ") VALUES ('repair')", kRepair));
  sqlite3_result_value(context, arguments[0]);
  return {};
}

// What is written in a file is a text that anybody may have changed: it becomes a definition, and only what
// that says goes into a statement.
class Attaching {
 public:
  explicit Attaching(sqlite3* db) : db_(db) {}

  // Makes the virtual tables of a schema's indexes.
  Status attach(const std::string& schema) {
    std::vector<std::string> names;
    OwnQuery tables(
        db_, kAttach,
        "SELECT name FROM " + quoted_name(schema) +
            ".sqlite_master WHERE type = 'table' AND name LIKE '%\\_config' ESCAPE '\\' ORDER BY name");
    GLOVE_RETURN_IF_ERROR(tables.for_each([&] {
      names.emplace_back(
          tables.text(0).substr(0, tables.text(0).size() - std::string_view("_config").size()));
    }));
    for (const std::string& name : names) {
      IndexDefinition index;
      index.schema = schema;
      index.name = name;
      GLOVE_ASSIGN_OR_RETURN(const bool has, has_config(db_, index));
      if (!has) continue;
      OwnQuery stored(db_, kAttach, "SELECT value FROM " + index.object("_config") + " WHERE key = ?",
                      std::string_view(kStoredArguments));
      const Result<bool> found = stored.next();
      if (!found.ok()) tell(name, named_error(name, found.error()));
      if (found.ok() && found.value()) tell(name, attach(index, std::string(stored.text(0))));
    }
    return {};
  }

  // Removes the virtual tables whose tables a schema does not have, or all with those of a schema that is
  // detached if there is none.
  Status remove_gone(const std::optional<std::string>& schema) {
    std::vector<IndexDefinition> gone;
    OwnQuery tables(db_, kAttach, "SELECT name, sql FROM sqlite_temp_master WHERE type = 'table'");
    GLOVE_RETURN_IF_ERROR(tables.for_each([&]() -> Status {
      std::optional<IndexDefinition> index = attached(std::string(tables.text(0)), tables.text(1));
      if (!index || (schema && sqlite3_stricmp(index->schema.c_str(), schema->c_str()) != 0)) return {};
      GLOVE_ASSIGN_OR_RETURN(const bool has, has_config(db_, *index));
      if (!has) gone.push_back(std::move(*index));
      return {};
    }));
    for (const IndexDefinition& index : gone)
      if (const Status dropped = drop(index); !dropped.ok()) tell(index.name, dropped);
    return {};
  }

  const std::string& lines() const { return lines_; }

 private:
  // The definition of a virtual table in temp, if it is an index whose other tables lie elsewhere.
  static std::optional<IndexDefinition> attached(const std::string& name, std::string_view sql) {
    if (module_of(sql) != "glove_index") return std::nullopt;
    Result<IndexDefinition> index = read_index_definition("temp", name, sql);
    if (!index.ok() || !index.value().is_attached) return std::nullopt;
    return std::move(index).value();
  }

  Status attach(const IndexDefinition& found, const std::string& stored) {
    if (found.schema.find('.') != std::string::npos)
      return index_error(found, "an index in temp cannot name its schema '", found.schema,
                         "', because of the '.'; attach the file under another name");
    GLOVE_ASSIGN_OR_RETURN(IndexDefinition index,
                           read_index_definition(found.schema, found.name, "(" + stored + ")"));
    if (index.arguments() != stored)
      return index_error(found, "its arguments in ", found.object("_config"),
                         " are not as an index writes them; drop its tables and create it again");
    GLOVE_RETURN_IF_ERROR(check_name_is_free(db_, index));
    GLOVE_ASSIGN_OR_RETURN(
        const std::string taken,
        OwnQuery(db_, kAttach, "SELECT sql FROM sqlite_temp_master WHERE name = ? COLLATE NOCASE", index.name)
            .next_text());
    if (!taken.empty()) {
      const std::optional<IndexDefinition> other = attached(index.name, taken);
      if (!other || sqlite3_stricmp(other->schema.c_str(), index.schema.c_str()) != 0)
        return index_error(index, "there is another table of this name in temp; drop it and run SELECT ",
                           kAttach, "('", index.schema, "') again");
      if (other->arguments() == stored) return check(index);
      GLOVE_RETURN_IF_ERROR(drop(index));
    }
    GLOVE_RETURN_IF_ERROR(execute(db_,
                                  "CREATE VIRTUAL TABLE temp." + quoted_name(index.name) +
                                      " USING glove_index(" + index.arguments(index.schema + ".") + ")",
                                  kAttach));
    return check(index);
  }

  // What a search would say.
  Status check(IndexDefinition& index) {
    GLOVE_RETURN_IF_ERROR(find_key(db_, index));
    index.is_attached = true;
    return check_index(db_, index);
  }

  Status drop(const IndexDefinition& index) {
    return execute(db_, "DROP TABLE temp." + quoted_name(index.name), index.name);
  }

  void tell(const std::string& name, const Status& status) {
    if (!lines_.empty()) lines_ += '\n';
    lines_ += status.ok() ? name : status.error().message;
  }

  sqlite3* const db_;
  std::string lines_;
};

Status attach(sqlite3_context* context, Arguments arguments) {
  sqlite3* const db = sqlite3_context_db_handle(context);
  std::optional<std::string> schema;
  if (!arguments.empty()) {
    GLOVE_ASSIGN_OR_RETURN(const std::string_view given, required_text(arguments, 0, kAttach, "schema"));
    schema = std::string(given);
  }
  Connection& connection = connection_of(context);
  connection.set_attaches(true);
  const ScopeExit ending([&connection] { connection.set_attaches(false); });
  Attaching attaching(db);
  GLOVE_RETURN_IF_ERROR(attaching.remove_gone(schema));
  std::vector<std::string> schemas;
  OwnQuery list(db, kAttach, "PRAGMA database_list");
  GLOVE_RETURN_IF_ERROR(list.for_each([&] {
    if (!schema || sqlite3_stricmp(schema->c_str(), std::string(list.text(1)).c_str()) == 0)
      schemas.emplace_back(list.text(1));
  }));
  if (schema && schemas.empty())
    return invalid_value(kAttach, "there is no schema ", shown_value(arguments[0]),
                         "; PRAGMA database_list names them");
  for (const std::string& one : schemas)
    if (one != "temp") GLOVE_RETURN_IF_ERROR(attaching.attach(one));
  if (!attaching.lines().empty()) return_text(context, attaching.lines());
  return {};
}

}  // namespace

// DIRECTONLY, because they change the schema, and glove_repair reads the whole table.
constexpr SqlObject kGloveRepair = direct_function<repair>(kRepair, 1, 1);
constexpr SqlObject kGloveAttach = direct_function<attach>(kAttach, 0, 1);

}  // namespace glove::sql
