// The user's table as an index finds it: its columns, and the key that identifies its rows.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "sql/adapter/boundary.h"
#include "sql/adapter/own_statement.h"
#include "sql/index/index_definition.h"
#include "sql/index/index_triggers.h"

namespace glove::sql {

// Asks sqlite_master of the index's schema for columns of what `condition`, with these values, is true of.
template <class... Values>
OwnQuery master_query(sqlite3* db, const IndexDefinition& index, const std::string& columns,
                      const std::string& condition, const Values&... values) {
  return OwnQuery(
      db, index.name,
      "SELECT " + columns + " FROM " + quoted_name(index.schema) + ".sqlite_master WHERE " + condition,
      values...);
}
constexpr const char* kTableOrView = "type IN ('table', 'view') AND name = ? COLLATE NOCASE";

// `type`: "table", "view" or "trigger".
Result<bool> has_object(sqlite3* db, const IndexDefinition& index, const char* type, const std::string& name);

// A column of the content, as PRAGMA table_xinfo reports it.
struct ContentColumn {
  std::string name;
  std::string type;
  bool key = false;  // part of the PRIMARY KEY
  bool generated = false;
};

// Finds out what the key is that the definition names: whether it is an INTEGER PRIMARY KEY and, if it is
// not, the types and collations of its columns. What the schema lacks is left to checked_columns(). An error
// if the schema cannot be read now, because it is locked, or has changed since this connection read it.
Status find_key(sqlite3* db, IndexDefinition& index);

// Calls use() with the schema, the name and the statement of each index of the connection's databases.
// `function` begins the messages.
using UseIndex =
    std::function<Status(const std::string& schema, const std::string& name, std::string_view sql)>;
Status for_each_index(sqlite3* db, const char* function, const UseIndex& use);

// Returns the index of this name, or of the name 'schema.name', that a statement finds; nullopt if there is
// none. `function` begins the messages.
Result<std::optional<IndexDefinition>> find_index(sqlite3* db, const char* function, std::string_view name);

// An error if a schema of the connection but temp has a table or view of the index's name, or if there is
// a table-valued function of it, which a virtual table in temp would hide.
Status check_name_is_free(sqlite3* db, const IndexDefinition& index);

// Checks that the content is a table that can be indexed by the key, and has the columns, all of which it
// returns. The error says what is wrong.
Result<std::vector<ContentColumn>> checked_columns(sqlite3* db, const IndexDefinition& index);

// Returns the error of an index whose content cannot be followed any more, as `problem` of checked_columns()
// says. `indexed`: the table that has the triggers of the index; empty: there are none.
Error changed_content(sqlite3* db, const IndexDefinition& index, const Error& problem,
                      const std::string& indexed);

// REQUIRES: these are the content's columns.
Result<ContentTraits> traits_of(sqlite3* db, const IndexDefinition& index,
                                const std::vector<ContentColumn>& columns);

// True if REPLACE can delete rows of the content that are not logged, because there is a UNIQUE index besides
// the key.
Result<bool> can_lose_rows(sqlite3* db, const IndexDefinition& index);

}  // namespace glove::sql
