#include "sql/index/content_schema.h"

#include <algorithm>
#include <cctype>

#include "base/concat.h"
#include "sql/adapter/sql_tokens.h"

namespace glove::sql {
namespace {

Result<std::vector<ContentColumn>> content_columns(sqlite3* db, const IndexDefinition& index) {
  OwnQuery run(db, index.name,
               "PRAGMA " + quoted_name(index.schema) +
                   (sqlite_has(3026000) ? ".table_xinfo(" : ".table_info(") + quoted_name(index.content) +
                   ")");
  std::vector<ContentColumn> columns;
  GLOVE_RETURN_IF_ERROR(run.for_each([&] {
    columns.push_back({std::string(run.text(1)), std::string(run.text(2)), run.integer(5) > 0,
                       run.integer(6) == 2 || run.integer(6) == 3});
  }));
  return columns;
}

// Returns the statement that made a table of the index's schema; empty if there is none.
Result<std::string> sql_of_table(sqlite3* db, const IndexDefinition& index, const std::string& table) {
  return master_query(db, index, "sql", "type = 'table' AND name = ? COLLATE NOCASE", table).next_text();
}

const ContentColumn* find_column(const std::vector<ContentColumn>& columns, const std::string& name) {
  for (const ContentColumn& column : columns)
    if (sqlite3_stricmp(column.name.c_str(), name.c_str()) == 0) return &column;
  return nullptr;
}

// True if is_it(run), whose row is one of PRAGMA index_list, is true of an index of the content.
template <class IsIt>
Result<bool> has_index(sqlite3* db, const IndexDefinition& index, const IsIt& is_it) {
  OwnQuery run(db, index.name,
               "PRAGMA " + quoted_name(index.schema) + ".index_list(" + quoted_name(index.content) + ")");
  while (true) {
    GLOVE_ASSIGN_OR_RETURN(const bool more, run.next());
    if (!more) return false;
    if (is_it(run)) return true;
  }
}

// Whether the columns are those of the index's key, in any order.
bool are_key(const IndexDefinition& index, const std::vector<std::string>& columns) {
  return columns.size() == index.key.size() &&
         std::all_of(columns.begin(), columns.end(),
                     [&index](const std::string& column) { return index.has_key_column(column); });
}

std::vector<std::string> primary_key(const std::vector<ContentColumn>& columns) {
  std::vector<std::string> names;
  for (const ContentColumn& column : columns)
    if (column.key) names.push_back(column.name);
  return names;
}

// Whether no two rows can have the same key: it is the PRIMARY KEY, or has a UNIQUE index of all rows.
Result<bool> is_unique(sqlite3* db, const IndexDefinition& index, const std::vector<ContentColumn>& columns) {
  if (are_key(index, primary_key(columns))) return true;
  Status status;
  GLOVE_ASSIGN_OR_RETURN(const bool found, has_index(db, index, [&](const OwnQuery& run) {
                           if (run.integer(2) == 0 || run.integer(4) != 0 || !status.ok()) return false;
                           std::vector<std::string> names;
                           OwnQuery info(db, index.name,
                                         "PRAGMA " + quoted_name(index.schema) + ".index_info(" +
                                             quoted_name(run.text(1)) + ")");
                           status = info.for_each([&] {
                             names.emplace_back(info.text(2));  // empty: an expression
                           });
                           return are_key(index, names);
                         }));
  GLOVE_RETURN_IF_ERROR(status);
  return found;
}

// The key is an alias of the rowid unless it has an index of its own: that of a table WITHOUT ROWID, or that
// of INTEGER PRIMARY KEY DESC.
Result<bool> is_integer_key(sqlite3* db, const IndexDefinition& index,
                            const std::vector<ContentColumn>& columns) {
  const ContentColumn* const key = find_column(columns, index.key.front().name);
  if (key == nullptr || sqlite3_stricmp(key->type.c_str(), "INTEGER") != 0 ||
      !are_key(index, primary_key(columns)))
    return false;
  GLOVE_ASSIGN_OR_RETURN(const bool has_own,
                         has_index(db, index, [](const OwnQuery& run) { return run.text(3) == "pk"; }));
  return !has_own;
}

// The affinity that SQLite gives a column of this type. ANY has none in a STRICT table, and is no type
// elsewhere.
const char* affinity_of(std::string type, bool has_any) {
  std::transform(type.begin(), type.end(), type.begin(), [](unsigned char c) { return std::toupper(c); });
  const auto has = [&type](const char* word) { return type.find(word) != std::string::npos; };
  if (has("INT")) return "INTEGER";
  if (has("CHAR") || has("CLOB") || has("TEXT")) return "TEXT";
  if (has("BLOB") || type.empty() || (has_any && type == "ANY")) return "BLOB";
  return has("REAL") || has("FLOA") || has("DOUB") ? "REAL" : "NUMERIC";
}

Status check_kind(sqlite3* db, const IndexDefinition& index) {
  OwnQuery run = master_query(db, index, "type, sql LIKE 'CREATE VIRTUAL%'", kTableOrView, index.content);
  GLOVE_ASSIGN_OR_RETURN(const bool found, run.next());
  if (!found)
    return index_error(index, "there is no table '", index.content, "' in the schema ", index.schema,
                       ", where the index is; the content of an index must be a table of its own schema");
  if (run.text(0) == "view")
    return index_error(index, "'", index.content,
                       "' is a view; only a table's changes can be followed, so index its table");
  if (run.integer(1) != 0)
    return index_error(index, "'", index.content,
                       "' is a virtual table, which cannot have triggers; index an ordinary table");
  return {};
}

Status check_key(sqlite3* db, const IndexDefinition& index, const std::vector<ContentColumn>& columns) {
  const std::string table = "the table '" + index.content + "' ";
  std::string names;
  for (const KeyColumn& column : index.key) {
    if (find_column(columns, column.name) == nullptr)
      return index_error(index, table, "has no column '", column.name,
                         "'; rowid must name the columns of a PRIMARY KEY or a UNIQUE index");
    names += (names.empty() ? "" : ", ") + column.name;
  }
  GLOVE_ASSIGN_OR_RETURN(const bool suits, index.has_key_table ? is_unique(db, index, columns)
                                                               : is_integer_key(db, index, columns));
  if (suits) return {};
  if (!index.has_key_table)
    return index_error(index, table, "has the column '", names,
                       "', but it is not its INTEGER PRIMARY KEY, as it was when it was indexed");
  return index_error(index, table, "may have several rows with the same value of '", names,
                     "'; rowid must name all columns of a PRIMARY KEY or of a UNIQUE index ("
                     "CREATE UNIQUE INDEX makes one), because VACUUM may change other rowids");
}

}  // namespace

Result<bool> has_object(sqlite3* db, const IndexDefinition& index, const char* type,
                        const std::string& name) {
  return master_query(db, index, "1", "type = ? AND name = ? COLLATE NOCASE", type, name).next();
}

Status find_key(sqlite3* db, IndexDefinition& index) {
  const auto columns = content_columns(db, index);
  const Result<std::string> content = sql_of_table(db, index, index.content);
  const Result<std::string> keys = sql_of_table(db, index, index.name + "_key");
  for (const Status& read : {columns.status(), content.status(), keys.status()})
    if (!read.ok()) return read.error().code == ErrorCode::kInvalidArgument ? Status() : read;
  const Result<bool> is_integer = is_integer_key(db, index, columns.value());
  index.has_key_table =
      !keys.value().empty() || (!columns.value().empty() && is_integer.ok() && !is_integer.value());
  const bool is_strict = has_word(content.value().substr(content.value().rfind(')') + 1), "STRICT");
  size_t number = 0;
  for (KeyColumn& key : index.key) {
    const ContentColumn* const column = find_column(columns.value(), key.name);
    // An index of an earlier version took ANY for a type in every table.
    const bool has_any = keys.value().find(concat("k", ++number, " BLOB")) != std::string::npos || is_strict;
    if (!index.has_key_table || column == nullptr) continue;
    key.name = column->name;
    key.type = affinity_of(column->type, has_any);
    const char *type = nullptr, *collation = nullptr;
    int not_null = 0, primary = 0, increments = 0;
    if (sqlite3_table_column_metadata(db, index.schema.c_str(), index.content.c_str(), key.name.c_str(),
                                      &type, &collation, &not_null, &primary, &increments) == SQLITE_OK &&
        collation != nullptr)
      key.collation = collation;
  }
  return {};
}

Result<std::vector<ContentColumn>> checked_columns(sqlite3* db, const IndexDefinition& index) {
  if (!sqlite_has(3024000))
    return index_error(index,
                       "an index needs SQLite 3.24 or newer, as does each program that writes its table; "
                       "this is ",
                       sqlite3_libversion());
  GLOVE_RETURN_IF_ERROR(check_kind(db, index));
  GLOVE_ASSIGN_OR_RETURN(auto columns, content_columns(db, index));
  GLOVE_RETURN_IF_ERROR(check_key(db, index, columns));
  for (const std::string& name : index.columns)
    if (find_column(columns, name) == nullptr)
      return index_error(index, "the table '", index.content, "' has no column '", name,
                         "', which the argument ", index.is_text ? "text" : "vector", " names");
  return columns;
}

Error changed_content(sqlite3* db, const IndexDefinition& index, const Error& problem,
                      const std::string& indexed) {
  const std::string rebuild = "run " + index.command("rebuild");
  const Result<bool> table = has_object(db, index, "table", index.content);
  const Result<bool> view = has_object(db, index, "view", index.content);
  if (table.ok() && view.ok() && !table.value() && !view.value()) {
    const std::string missing = "there is no table '" + index.content + "' in the schema " + index.schema;
    if (indexed.empty())  // SQLite drops a table's triggers with it
      return index_error(index, missing, "; it was dropped since it was indexed: create it again and ",
                         rebuild, ", or drop the index");
    return index_error(index, missing, "; it was renamed to '", indexed,
                       "' since it was indexed: give it its old name again, or drop the index and "
                       "create it for that table");
  }
  return {problem.code, problem.message +
                            "; the table was changed since it was indexed: change it back and " + rebuild +
                            ", or drop the index and create it for the table as it is now"};
}

Result<ContentTraits> traits_of(sqlite3* db, const IndexDefinition& index,
                                const std::vector<ContentColumn>& columns) {
  ContentTraits traits;
  std::vector<std::string> read = index.columns;
  for (const KeyColumn& key : index.key) read.push_back(key.name);
  for (const std::string& name : read) {
    const ContentColumn* const column = find_column(columns, name);
    traits.generated = traits.generated || column == nullptr || column->generated;
  }
  GLOVE_ASSIGN_OR_RETURN(const std::string sql, sql_of_table(db, index, index.content));
  traits.autoincrement = has_word(sql, "AUTOINCREMENT");
  return traits;
}

Result<bool> can_lose_rows(sqlite3* db, const IndexDefinition& index) {
  if (index.has_key_table) return true;  // the key has such an index, and the collation may be another one
  return has_index(db, index, [](const OwnQuery& run) { return run.integer(2) != 0; });
}

Status check_name_is_free(sqlite3* db, const IndexDefinition& index) {
  OwnQuery schemas(db, index.name, "PRAGMA database_list");
  GLOVE_RETURN_IF_ERROR(schemas.for_each([&]() -> Status {
    IndexDefinition other = index;
    other.schema = schemas.text(1);
    if (other.schema == "temp") return {};
    OwnQuery table = master_query(db, other, "type", kTableOrView, index.name);
    GLOVE_ASSIGN_OR_RETURN(const bool taken, table.next());
    if (!taken) return {};
    return index_error(index, "the schema ", other.schema, " has a ", table.text(0),
                       " of this name, which the index in temp would hide; choose another name, or drop it");
  }));
  OwnQuery function(db, index.name, "PRAGMA main.table_info(" + quoted_name(index.name) + ")");
  GLOVE_ASSIGN_OR_RETURN(const bool taken, function.next());
  if (!taken) return {};
  return index_error(index,
                     "there is a table-valued function of this name, which the index in temp would hide; "
                     "choose another name");
}

Status for_each_index(sqlite3* db, const char* function, const UseIndex& use) {
  OwnQuery schemas(db, function, "PRAGMA database_list");
  return schemas.for_each([&] {
    const std::string schema(schemas.text(1));
    OwnQuery tables(db, function,
                    "SELECT name, sql FROM " + quoted_name(schema) +
                        ".sqlite_master WHERE sql LIKE 'CREATE VIRTUAL TABLE %' ORDER BY name");
    return tables.for_each([&] {
      const std::string_view sql = tables.text(1);
      return module_of(sql) == "glove_index" ? use(schema, std::string(tables.text(0)), sql) : Status();
    });
  });
}

Result<std::optional<IndexDefinition>> find_index(sqlite3* db, const char* function, std::string_view name) {
  const std::string wanted(name);
  std::optional<IndexDefinition> found;
  GLOVE_RETURN_IF_ERROR(for_each_index(
      db, function, [&](const std::string& schema, const std::string& table, std::string_view sql) -> Status {
        const bool is_it = sqlite3_stricmp(table.c_str(), wanted.c_str()) == 0 ||
                           sqlite3_stricmp((schema + "." + table).c_str(), wanted.c_str()) == 0;
        if (!is_it || (found && schema != "temp")) return {};
        GLOVE_ASSIGN_OR_RETURN(found, read_index_definition(schema, table, sql));
        return find_key(db, *found);
      }));
  return found;
}

}  // namespace glove::sql
