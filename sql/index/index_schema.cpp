#include "sql/index/index_schema.h"

#include <algorithm>
#include <array>
#include <vector>

#include "sql/adapter/own_statement.h"
#include "sql/adapter/sql_tokens.h"
#include "sql/index/index_triggers.h"

namespace glove::sql {
namespace {

struct ShadowTable {
  const char* suffix;
  const char* columns;
  const char* former_columns;  // of an index that an older version made
};
// None declares a primary key, so that the session extension, which records the tables that have one, leaves
// them out of its changesets: a replica logs the changes of its content itself.
constexpr std::array<ShadowTable, 6> kTables = {{
    {"_config", "(key TEXT UNIQUE, value)", "(key TEXT PRIMARY KEY, value)"},
    {"_segment", "(id INTEGER UNIQUE, uuid BLOB, rows INTEGER, crc INTEGER)",
     "(id INTEGER PRIMARY KEY, uuid BLOB, rows INTEGER, crc INTEGER)"},
    {"_block", "(segment INTEGER, number INTEGER, data BLOB, UNIQUE(segment, number))",
     "(segment INTEGER, number INTEGER, data BLOB, PRIMARY KEY(segment, number))"},
    {"_dead", "(segment INTEGER UNIQUE, bits BLOB)", "(segment INTEGER PRIMARY KEY, bits BLOB)"},
    {"_vector", "(id INTEGER UNIQUE, vectors BLOB)", "(id INTEGER PRIMARY KEY, vectors BLOB)"},
    {"_log", "(id INTEGER UNIQUE, again INTEGER DEFAULT 0)", "(id INTEGER PRIMARY KEY)"},
}};
constexpr std::string_view kAgain = ", again INTEGER DEFAULT 0)";  // the end of a log that counts

constexpr std::string_view kOfTexts = "_vector";  // only an index of texts has it

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

// A column of the content, as PRAGMA table_xinfo reports it.
struct ContentColumn {
  std::string name;
  std::string type;
  bool key = false;
  bool generated = false;
};

Result<std::vector<ContentColumn>> content_columns(sqlite3* db, const IndexDefinition& index) {
  OwnQuery run(db, index.name,
               "PRAGMA " + quoted_name(index.schema) + ".table_xinfo(" + quoted_name(index.content) + ")");
  std::vector<ContentColumn> columns;
  GLOVE_RETURN_IF_ERROR(run.for_each([&] {
    columns.push_back({std::string(run.text(1)), std::string(run.text(2)), run.integer(5) > 0,
                       run.integer(6) == 2 || run.integer(6) == 3});
    return Status();
  }));
  return columns;
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

// True if the primary key is an index of its own: the table is WITHOUT ROWID, or its key is no alias of the
// rowid.
Result<bool> has_key_index(sqlite3* db, const IndexDefinition& index) {
  return has_index(db, index, [](const OwnQuery& run) { return run.text(3) == "pk"; });
}

Status check_kind(sqlite3* db, const IndexDefinition& index) {
  OwnQuery run = master_query(db, index, "type, sql LIKE 'CREATE VIRTUAL%'", kTableOrView, index.content);
  GLOVE_ASSIGN_OR_RETURN(const bool found, run.next());
  if (!found)
    return index_error(index,
                       "there is no table '" + index.content + "' in the schema " + index.schema +
                           ", where the index is; the content of an index must be a table of its own schema");
  if (run.text(0) == "view")
    return index_error(index, "'" + index.content +
                                  "' is a view; only a table's changes can be followed, so index its table");
  if (run.integer(1) != 0)
    return index_error(
        index,
        "'" + index.content + "' is a virtual table, which cannot have triggers; index an ordinary table");
  return {};
}

Status check_key(sqlite3* db, const IndexDefinition& index, const std::vector<ContentColumn>& columns) {
  const ContentColumn* const key = find_column(columns, index.rowid);
  const auto keys =
      std::count_if(columns.begin(), columns.end(), [](const auto& column) { return column.key; });
  GLOVE_ASSIGN_OR_RETURN(const bool key_index, has_key_index(db, index));
  if (key != nullptr && key->key && keys == 1 && !key_index &&
      sqlite3_stricmp(key->type.c_str(), "INTEGER") == 0)
    return {};
  std::string what = key == nullptr
                         ? "has no column '" + index.rowid + "'"
                         : "has the column '" + index.rowid + "', but it is not its INTEGER PRIMARY KEY";
  return index_error(
      index, "the table '" + index.content + "' " + what +
                 "; rowid must be the INTEGER PRIMARY KEY of a table that is not WITHOUT ROWID, because "
                 "VACUUM may change other rowids. Create a table with one, and copy the rows into it");
}

Result<std::vector<ContentColumn>> checked_columns(sqlite3* db, const IndexDefinition& index) {
  GLOVE_RETURN_IF_ERROR(check_kind(db, index));
  GLOVE_ASSIGN_OR_RETURN(auto columns, content_columns(db, index));
  GLOVE_RETURN_IF_ERROR(check_key(db, index, columns));
  for (const std::string& name : index.columns)
    if (find_column(columns, name) == nullptr)
      return index_error(index, "the table '" + index.content + "' has no column '" + name +
                                    "', which the argument " + (index.is_text ? "text" : "vector") +
                                    " names");
  return columns;
}

// `type`: "table", "view" or "trigger".
Result<bool> has_object(sqlite3* db, const IndexDefinition& index, const char* type,
                        const std::string& name) {
  return master_query(db, index, "1", "type = ? AND name = ? COLLATE NOCASE", type, name).next();
}

// Returns the text of a table without the column that the log of an older version lacks.
std::string without_count(std::string_view text) {
  return text.ends_with(kAgain) ? std::string(text.substr(0, text.size() - kAgain.size())) + ")"
                                : std::string(text);
}

// Whether the log has a place for the number of times that a key was logged again.
Result<bool> log_counts(sqlite3* db, const IndexDefinition& index) {
  const std::string log = index.name + kTables.back().suffix;
  OwnQuery run = master_query(db, index, "sql", kTableOrView, log);
  GLOVE_ASSIGN_OR_RETURN(const bool exists, run.next());
  return exists && run.text(0).ends_with(kAgain);
}

bool has_table(const IndexDefinition& index, const ShadowTable& table) {
  return index.is_text || table.suffix != kOfTexts;
}

// Checks that a table of the index exists and is what create_tables() makes: a view, a virtual table and
// another table are not, and reading or writing them may run whatever statements.
Status check_table(sqlite3* db, const IndexDefinition& index, const ShadowTable& table) {
  const std::string name = index.name + table.suffix;
  const std::string rebuild = "run " + index.command("rebuild") + ", which makes it again";
  OwnQuery run = master_query(db, index, "type, sql", kTableOrView, name);
  GLOVE_ASSIGN_OR_RETURN(const bool exists, run.next());
  if (!exists) return index_error(index, "its table '" + name + "' was dropped; " + rebuild);
  const std::string create = "CREATE TABLE " + quoted_name(name);
  const std::string found = without_count(run.text(1));
  if (found == create + without_count(table.columns) || found == create + table.former_columns) return {};
  const std::string kind = run.text(0) == "view" ? "VIEW " : "TABLE ";
  return index_error(index, "'" + name + "' is not the table that the index has made; run DROP " + kind +
                                index.object(table.suffix) + ", and then " + rebuild);
}

// True of an index of texts, unless it is of format version 1, which had no table for them. REQUIRES: there
// is a table NAME_config.
Result<bool> stores_vectors(sqlite3* db, const IndexDefinition& index) {
  if (!index.is_text) return false;
  OwnQuery run(db, index.name, "SELECT value FROM " + index.object("_config") + " WHERE key = 'version'");
  GLOVE_ASSIGN_OR_RETURN(const bool found, run.next());
  return !found || run.integer(0) != 1;
}

Status create_tables(sqlite3* db, const IndexDefinition& index, const std::string& create) {
  for (const ShadowTable& table : kTables)
    if (has_table(index, table))
      GLOVE_RETURN_IF_ERROR(execute(db, create + index.object(table.suffix) + table.columns, index.name));
  return {};
}

Result<ContentTraits> traits_of(sqlite3* db, const IndexDefinition& index,
                                const std::vector<ContentColumn>& columns) {
  ContentTraits traits;
  for (const std::string& name : index.columns) {
    const ContentColumn* const column = find_column(columns, name);
    traits.generated = traits.generated || column == nullptr || column->generated;
  }
  OwnQuery run = master_query(db, index, "sql", "type = 'table' AND name = ? COLLATE NOCASE", index.content);
  GLOVE_ASSIGN_OR_RETURN(const bool found, run.next());
  traits.autoincrement = found && has_word(run.text(0), "AUTOINCREMENT");
  return traits;
}

// A trigger on the log could keep keys out of it.
Status check_log_has_no_trigger(sqlite3* db, const IndexDefinition& index) {
  const std::string log = index.name + kTables.back().suffix;
  OwnQuery run = master_query(db, index, "name", "type = 'trigger' AND tbl_name = ? COLLATE NOCASE", log);
  GLOVE_ASSIGN_OR_RETURN(const bool found, run.next());
  if (!found) return {};
  return index_error(index, "there is a trigger '" + std::string(run.text(0)) + "' on its table '" + log +
                                "', which may keep changes from being logged; run DROP TRIGGER " +
                                quoted_name(index.schema) + "." + quoted_name(run.text(0)) + ", and then " +
                                index.command("rebuild"));
}

// Returns a column of sqlite_master for the triggers that exist of kTriggers; empty: there is none.
Result<std::array<std::string, kTriggers.size()>> of_triggers(sqlite3* db, const IndexDefinition& index,
                                                              const std::string& column) {
  std::array<std::string, kTriggers.size()> texts;
  for (size_t i = 0; i < kTriggers.size(); ++i) {
    const std::string name = index.name + kTriggers[i];
    OwnQuery run = master_query(db, index, column, "type = 'trigger' AND name = ?", name);
    GLOVE_ASSIGN_OR_RETURN(const bool found, run.next());
    if (found) texts[i] = run.text(0);
  }
  return texts;
}

// An error unless the triggers are those that create_triggers() makes, or those that an older version made. A
// column that was renamed and renamed back may be written with other capitals than before.
Status check_triggers(sqlite3* db, const IndexDefinition& index, const std::vector<ContentColumn>& columns) {
  GLOVE_RETURN_IF_ERROR(check_log_has_no_trigger(db, index));
  GLOVE_ASSIGN_OR_RETURN(const ContentTraits traits, traits_of(db, index, columns));
  GLOVE_ASSIGN_OR_RETURN(const auto texts, of_triggers(db, index, "substr(sql, 16)"));  // from their names on
  GLOVE_ASSIGN_OR_RETURN(const bool counts, log_counts(db, index));
  const auto is = [&](size_t i, TriggerForm form) {
    if (form == TriggerForm::kFormer && i >= kFormerTriggers) return texts[i].empty();
    return sqlite3_stricmp(texts[i].c_str(), trigger_text(index, i, traits, form).c_str()) == 0;
  };
  const auto first_other = [&](TriggerForm form) {
    size_t i = 0;
    while (i < kTriggers.size() && is(i, form)) ++i;
    return i;
  };
  const size_t uncounting = first_other(TriggerForm::kUncounting);
  if (uncounting == kTriggers.size() || first_other(TriggerForm::kFormer) == kTriggers.size()) return {};
  const size_t i = counts ? std::max(uncounting, first_other(TriggerForm::kCounting)) : uncounting;
  if (i < kTriggers.size())
    return index_error(index, "the trigger '" + index.name + kTriggers[i] + "' on '" + index.content +
                                  "' was " + (texts[i].empty() ? "dropped" : "changed") +
                                  ", so the index may have missed changes; run " + index.command("rebuild") +
                                  ", which makes the triggers again and reads every row");
  return {};
}

// Returns the error of an index whose content cannot be followed any more, as `problem` says.
Error changed_content(sqlite3* db, const IndexDefinition& index, const Error& problem,
                      const std::string& rebuild) {
  const Result<bool> table = has_object(db, index, "table", index.content);
  const Result<bool> view = has_object(db, index, "view", index.content);
  if (table.ok() && view.ok() && !table.value() && !view.value()) {
    const std::string missing = "there is no table '" + index.content + "' in the schema " + index.schema;
    const auto tables = of_triggers(db, index, "tbl_name");  // SQLite drops a table's triggers with it
    if (!tables.ok() || tables.value()[0].empty())
      return index_error(index, missing + "; it was dropped since it was indexed: create it again and " +
                                    rebuild + ", or drop the index");
    return index_error(index, missing + "; it was renamed to '" + tables.value()[0] +
                                  "' since it was indexed: give it its old name again, or drop the index and "
                                  "create it for that table");
  }
  return {problem.code, problem.message +
                            "; the table was changed since it was indexed: change it back and " + rebuild +
                            ", or drop the index and create it for the table as it is now"};
}

}  // namespace

bool is_shadow_suffix(std::string_view suffix) {
  return std::any_of(kTables.begin(), kTables.end(), [&](const ShadowTable& table) {
    return std::string_view(table.suffix).substr(1) == suffix && table.suffix != kTables.back().suffix;
  });
}

Status check_content(sqlite3* db, const IndexDefinition& index) {
  return checked_columns(db, index).status();
}

Status check_trigger_names(sqlite3* db, const IndexDefinition& index) {
  for (const char* const suffix : kTriggers) {
    const std::string name = index.name + suffix;
    GLOVE_ASSIGN_OR_RETURN(const bool exists, has_object(db, index, "trigger", name));
    if (exists)
      return index_error(index, "there is already a trigger '" + name +
                                    "', a name that the index needs for its own; choose another name for the "
                                    "index, or drop the trigger");
  }
  return {};
}

Status check_index(sqlite3* db, const IndexDefinition& index) {
  const std::string rebuild = "run " + index.command("rebuild");
  const auto columns = checked_columns(db, index);
  if (!columns.ok() && columns.error().code != ErrorCode::kInvalidArgument) return columns.error();
  if (!columns.ok()) return changed_content(db, index, columns.error(), rebuild);
  for (const ShadowTable& table : kTables) {
    if (table.suffix == kOfTexts) {
      GLOVE_ASSIGN_OR_RETURN(const bool stores, stores_vectors(db, index));
      if (!stores) continue;
    }
    GLOVE_RETURN_IF_ERROR(check_table(db, index, table));
  }
  return check_triggers(db, index, columns.value());
}

Result<bool> can_lose_rows(sqlite3* db, const IndexDefinition& index) {
  return has_index(db, index, [](const OwnQuery& run) { return run.integer(2) != 0; });
}

Result<bool> has_former_triggers(sqlite3* db, const IndexDefinition& index) {
  GLOVE_ASSIGN_OR_RETURN(const bool newest,
                         has_object(db, index, "trigger", index.name + kTriggers[kFormerTriggers]));
  return !newest;
}

Result<bool> counts_changes(sqlite3* db, const IndexDefinition& index) {
  GLOVE_ASSIGN_OR_RETURN(const auto texts, of_triggers(db, index, "sql"));
  return texts[0].ends_with(std::string(kCounts) + "END");
}

// SQLite's log cuts messages off after about 200 bytes.
std::string former_triggers_remedy(const IndexDefinition& index) {
  return "run " + index.command("rebuild") +
         " for the triggers of this version; its older ones miss rows that change although their statement "
         "fails";
}

Result<std::string> trigger_that_changes(sqlite3* db, const IndexDefinition& index) {
  const std::string triggers = "type = 'trigger'";
  OwnQuery run =
      master_query(db, index, "name, sql",
                   triggers + " UNION ALL SELECT name, sql FROM sqlite_temp_master WHERE " + triggers);
  while (true) {
    GLOVE_ASSIGN_OR_RETURN(const bool more, run.next());
    if (!more) return std::string();
    if (changes_rows_of(run.text(1), index.schema, index.name)) return std::string(run.text(0));
  }
}

Status create_tables(sqlite3* db, const IndexDefinition& index) {
  return create_tables(db, index, "CREATE TABLE ");
}

Status create_missing_tables(sqlite3* db, const IndexDefinition& index) {
  GLOVE_RETURN_IF_ERROR(create_tables(db, index, "CREATE TABLE IF NOT EXISTS "));
  for (const ShadowTable& table : kTables)
    if (has_table(index, table)) GLOVE_RETURN_IF_ERROR(check_table(db, index, table));
  GLOVE_ASSIGN_OR_RETURN(const bool counts, log_counts(db, index));
  if (counts) return {};
  return execute(db, "ALTER TABLE " + index.object("_log") + " ADD COLUMN again INTEGER DEFAULT 0",
                 index.name);
}

Status create_triggers(sqlite3* db, const IndexDefinition& index) {
  GLOVE_ASSIGN_OR_RETURN(const auto columns, checked_columns(db, index));
  GLOVE_ASSIGN_OR_RETURN(const ContentTraits traits, traits_of(db, index, columns));
  GLOVE_ASSIGN_OR_RETURN(const bool counts, log_counts(db, index));
  const TriggerForm form = counts ? TriggerForm::kCounting : TriggerForm::kUncounting;
  for (size_t i = 0; i < kTriggers.size(); ++i) {
    GLOVE_RETURN_IF_ERROR(execute(
        db, "CREATE TRIGGER " + quoted_name(index.schema) + "." + trigger_text(index, i, traits, form),
        index.name));
    const std::string name = index.name + kTriggers[i];
    GLOVE_ASSIGN_OR_RETURN(const bool made, has_object(db, index, "trigger", name));
    if (!made)
      return index_error(index,
                         "the trigger '" + name + "' on '" + index.content +
                             "' was not made, because the authorizer of this connection ignores CREATE "
                             "TRIGGER (SQLITE_IGNORE); let it allow the triggers of the index");
  }
  return {};
}

Status drop_tables(sqlite3* db, const IndexDefinition& index) {
  for (const ShadowTable& table : kTables) {
    if (!has_table(index, table)) continue;
    GLOVE_ASSIGN_OR_RETURN(const bool is_view, has_object(db, index, "view", index.name + table.suffix));
    const std::string drop = is_view ? "DROP VIEW " : "DROP TABLE IF EXISTS ";
    GLOVE_RETURN_IF_ERROR(execute(db, drop + index.object(table.suffix), index.name));
  }
  return {};
}

Status drop_triggers(sqlite3* db, const IndexDefinition& index) {
  for (const char* const trigger : kTriggers)
    GLOVE_RETURN_IF_ERROR(execute(db, "DROP TRIGGER IF EXISTS " + index.object(trigger), index.name));
  return {};
}

Status rename_index(sqlite3* db, const IndexDefinition& index, const std::string& new_name) {
  IndexDefinition renamed = index;
  renamed.name = new_name;
  GLOVE_RETURN_IF_ERROR(check_name(renamed));
  GLOVE_RETURN_IF_ERROR(check_index(db, index));
  GLOVE_RETURN_IF_ERROR(drop_triggers(db, index));
  for (const ShadowTable& table : kTables)
    if (has_table(index, table))
      GLOVE_RETURN_IF_ERROR(execute(
          db,
          "ALTER TABLE " + index.object(table.suffix) + " RENAME TO " + quoted_name(new_name + table.suffix),
          index.name));
  return create_triggers(db, renamed);
}

}  // namespace glove::sql
