#include "sql/index/index_schema.h"

#include <algorithm>
#include <array>
#include <vector>

#include "sql/adapter/own_statement.h"
#include "sql/adapter/sql_tokens.h"
#include "sql/index/content_schema.h"
#include "sql/index/index_triggers.h"
#include "sql/index/key_table.h"
#include "sql/index/text_model.h"

namespace glove::sql {
namespace {

struct ShadowTable {
  const char* suffix;
  const char* columns;
  const char* former_columns;  // of an index that an older version made
};
// None declares a primary key, so that the session extension, which records the tables that have one, leaves
// them out of its changesets: a replica logs the changes of its content itself.
constexpr std::array<ShadowTable, 7> kTables = {{
    {"_config", "(key TEXT UNIQUE, value)", "(key TEXT PRIMARY KEY, value)"},
    {"_segment", "(id INTEGER UNIQUE, uuid BLOB, rows INTEGER, crc INTEGER)",
     "(id INTEGER PRIMARY KEY, uuid BLOB, rows INTEGER, crc INTEGER)"},
    {"_block", "(segment INTEGER, number INTEGER, data BLOB, UNIQUE(segment, number))",
     "(segment INTEGER, number INTEGER, data BLOB, PRIMARY KEY(segment, number))"},
    {"_dead", "(segment INTEGER UNIQUE, bits BLOB)", "(segment INTEGER PRIMARY KEY, bits BLOB)"},
    {"_vector", "(id INTEGER UNIQUE, vectors BLOB)", "(id INTEGER PRIMARY KEY, vectors BLOB)"},
    {"_key", "", nullptr},  // its columns are those of key_table_columns()
    {"_log", "(id INTEGER UNIQUE, again INTEGER DEFAULT 0)", "(id INTEGER PRIMARY KEY)"},
}};
constexpr std::string_view kAgain = ", again INTEGER DEFAULT 0)";  // the end of a log that counts

constexpr const char* kLog = "_log";
constexpr const char* kKeys = "_key";             // only an index with another key than an integer has it
constexpr std::string_view kOfTexts = "_vector";  // only an index of texts has it

// Returns the text of a table without the column that the log of an older version lacks.
std::string without_count(std::string_view text) {
  return text.ends_with(kAgain) ? std::string(text.substr(0, text.size() - kAgain.size())) + ")"
                                : std::string(text);
}

// Whether the log has a place for the number of times that a key was logged again.
Result<bool> log_counts(sqlite3* db, const IndexDefinition& index) {
  const std::string log = index.name + kLog;
  GLOVE_ASSIGN_OR_RETURN(const std::string sql,
                         master_query(db, index, "sql", kTableOrView, log).next_text());
  return sql.ends_with(kAgain);
}

bool has_table(const IndexDefinition& index, const ShadowTable& table) {
  return (index.is_text || table.suffix != kOfTexts) &&
         (index.has_key_table || table.suffix != std::string_view(kKeys));
}

std::string columns_of_table(const IndexDefinition& index, const ShadowTable& table) {
  return table.suffix == std::string_view(kKeys) ? key_table_columns(index) : table.columns;
}

// Checks that a table of the index exists and is what create_tables() makes: a view, a virtual table and
// another table are not, and reading or writing them may run whatever statements.
Status check_table(sqlite3* db, const IndexDefinition& index, const ShadowTable& table) {
  const std::string name = index.name + table.suffix;
  const std::string rebuild = "run " + index.command("rebuild") + ", which makes it again";
  OwnQuery run = master_query(db, index, "type, sql", kTableOrView, name);
  GLOVE_ASSIGN_OR_RETURN(const bool exists, run.next());
  if (!exists) return index_error(index, "its table '", name, "' was dropped; ", rebuild);
  const std::string create = "CREATE TABLE " + quoted_name(name);
  const std::string found = without_count(run.text(1));
  if (found == create + without_count(columns_of_table(index, table))) return {};
  if (table.former_columns != nullptr && found == create + table.former_columns) return {};
  const std::string kind = run.text(0) == "view" ? "VIEW " : "TABLE ";
  return index_error(index, "'", name, "' is not the table that the index has made; run DROP ", kind,
                     index.object(table.suffix), ", and then ", rebuild);
}

// True of an index of texts, unless it is of format version 1, which had no table for them. REQUIRES: there
// is a table NAME_config.
Result<bool> stores_vectors(sqlite3* db, const IndexDefinition& index) {
  if (!index.is_text) return false;
  OwnQuery run(db, index.name, "SELECT value FROM " + index.object("_config") + " WHERE key = 'version'");
  GLOVE_ASSIGN_OR_RETURN(const int64_t version, run.next_integer());
  return version != 1;
}

// A trigger on the log, or on the table of the keys, could keep keys out of it.
Status check_has_no_trigger(sqlite3* db, const IndexDefinition& index, const char* suffix) {
  const std::string log = index.name + suffix;
  OwnQuery run = master_query(db, index, "name", "type = 'trigger' AND tbl_name = ? COLLATE NOCASE", log);
  GLOVE_ASSIGN_OR_RETURN(const bool found, run.next());
  if (!found) return {};
  return index_error(index, "there is a trigger '", run.text(0), "' on its table '", log,
                     "', which may keep changes from being logged; run DROP TRIGGER ",
                     quoted_name(index.schema), ".", quoted_name(run.text(0)), ", and then ",
                     index.command("rebuild"));
}

// Returns a column of sqlite_master for the triggers that exist of kTriggers; empty: there is none.
Result<std::array<std::string, kTriggers.size()>> of_triggers(sqlite3* db, const IndexDefinition& index,
                                                              const std::string& column) {
  std::array<std::string, kTriggers.size()> texts;
  for (size_t i = 0; i < kTriggers.size(); ++i) {
    const std::string name = index.name + kTriggers[i];
    GLOVE_ASSIGN_OR_RETURN(
        texts[i], master_query(db, index, column, "type = 'trigger' AND name = ?", name).next_text());
  }
  return texts;
}

// An error unless the triggers are those that create_triggers() makes, or those that an older version made. A
// column that was renamed and renamed back may be written with other capitals than before.
Status check_triggers(sqlite3* db, const IndexDefinition& index, const std::vector<ContentColumn>& columns) {
  GLOVE_RETURN_IF_ERROR(check_has_no_trigger(db, index, kLog));
  GLOVE_RETURN_IF_ERROR(check_has_no_trigger(db, index, kKeys));
  GLOVE_ASSIGN_OR_RETURN(const ContentTraits traits, traits_of(db, index, columns));
  GLOVE_ASSIGN_OR_RETURN(const auto texts, of_triggers(db, index, "substr(sql, 16)"));  // from their names on
  GLOVE_ASSIGN_OR_RETURN(const bool counts, log_counts(db, index));
  ContentTraits without_json = traits;
  without_json.json = false;
  const auto is = [&](size_t i, TriggerForm form) {
    if (!has_trigger(index, i)) return true;
    if (i >= kFirstCheck && texts[i] == trigger_text(index, i, without_json, form)) return true;
    if (form == TriggerForm::kFormer && i >= kFormerTriggers && i < kFirstCheck) return texts[i].empty();
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
    return index_error(index, "the trigger '", index.name, kTriggers[i], "' on '", index.content, "' was ",
                       texts[i].empty() ? "dropped" : "changed",
                       ", so the index may have missed changes; run SELECT glove_repair('",
                       index.schema == "main" || index.is_attached ? "" : index.schema + ".", index.name,
                       "') or ", index.command("rebuild"),
                       ", which make the triggers again and read every row");
  return {};
}

// An index in temp does not see what another connection does to its tables.
Status check_attached(sqlite3* db, const IndexDefinition& index) {
  const std::string attach = "run SELECT glove_attach('" + index.schema + "')";
  GLOVE_ASSIGN_OR_RETURN(const bool exists, has_object(db, index, "table", index.name + "_config"));
  if (!exists)
    return index_error(index, "the schema ", index.schema,
                       " no longer has its tables; if the index was dropped, ", attach,
                       ", which removes it here, too, otherwise ", index.command("rebuild"));
  GLOVE_RETURN_IF_ERROR(check_table(db, index, kTables[0]));
  GLOVE_ASSIGN_OR_RETURN(
      const std::string stored,
      OwnQuery(db, index.name, "SELECT value FROM " + index.object("_config") + " WHERE key = ?",
               std::string_view(kStoredArguments))
          .next_text());
  if (stored == index.arguments()) return {};
  return index_error(index, "it was dropped and made again with other arguments; ", attach);
}

}  // namespace

Status find_metric(Connection& connection, IndexDefinition& index) {
  if (!index.is_text || index.has_metric) return {};
  GLOVE_ASSIGN_OR_RETURN(const bool exists,
                         has_object(connection.db(), index, "table", index.name + "_config"));
  std::optional<RowMetric> metric;
  if (!exists) {
    GLOVE_ASSIGN_OR_RETURN(metric, TextModel(connection, index).metric());
  } else if (check_table(connection.db(), index, kTables[0]).ok()) {
    GLOVE_ASSIGN_OR_RETURN(const std::string name,
                           OwnQuery(connection.db(), index.name,
                                    "SELECT value FROM " + index.object("_config") + " WHERE key = 'metric'")
                               .next_text());
    metric = metric_named(name);
  }
  if (!metric || *metric == RowMetric::kCosine || index.lists > 0) return {};
  index.metric = *metric;
  index.lists = 0;
  return {};
}

bool is_shadow_suffix(std::string_view suffix) {
  return std::any_of(kTables.begin(), kTables.end(), [&](const ShadowTable& table) {
    return std::string_view(table.suffix).substr(1) == suffix && table.suffix != std::string_view(kLog) &&
           table.suffix != std::string_view(kKeys);
  });
}

Status check_content(sqlite3* db, const IndexDefinition& index) {
  return checked_columns(db, index).status();
}

Status check_trigger_names(sqlite3* db, const IndexDefinition& index) {
  for (size_t i = 0; i < kTriggers.size() && has_trigger(index, i); ++i) {
    const std::string name = index.name + kTriggers[i];
    GLOVE_ASSIGN_OR_RETURN(const bool exists, has_object(db, index, "trigger", name));
    if (exists)
      return index_error(index, "there is already a trigger '", name,
                         "', a name that the index needs for its own; choose another name for the "
                         "index, or drop the trigger");
  }
  return {};
}

Result<bool> has_config(sqlite3* db, const IndexDefinition& index) {
  const Status found = check_table(db, index, kTables[0]);
  if (!found.ok() && found.error().code != ErrorCode::kInvalidArgument) return found.error();
  return found.ok();
}

Status lock_for_writing(sqlite3* db, const IndexDefinition& index) {
  if (!index.is_attached) return {};
  const std::string config = index.object("_config");
  const Status locked = execute(db,
                                "DELETE FROM " + index.content_table() + " WHERE 0; INSERT INTO " + config +
                                    " SELECT * FROM " + config + " WHERE 0",
                                index.name);
  return !locked.ok() && locked.error().code != ErrorCode::kInvalidArgument ? locked : Status();
}

Status check_index(sqlite3* db, const IndexDefinition& index) {
  if (index.is_attached) GLOVE_RETURN_IF_ERROR(check_attached(db, index));
  const auto columns = checked_columns(db, index);
  if (!columns.ok() && columns.error().code != ErrorCode::kInvalidArgument) return columns.error();
  if (!columns.ok()) {
    const auto tables = of_triggers(db, index, "tbl_name");
    return changed_content(db, index, columns.error(), tables.ok() ? tables.value()[0] : std::string());
  }
  for (const ShadowTable& table : kTables) {
    if (!has_table(index, table)) continue;
    if (table.suffix == kOfTexts) {
      GLOVE_ASSIGN_OR_RETURN(const bool stores, stores_vectors(db, index));
      if (!stores) continue;
    }
    GLOVE_RETURN_IF_ERROR(check_table(db, index, table));
  }
  return check_triggers(db, index, columns.value());
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
    if (changes_rows_of(run.text(1), index.table_schema(), index.name)) return std::string(run.text(0));
  }
}

Status create_tables(sqlite3* db, const IndexDefinition& index, const std::string& create) {
  for (const ShadowTable& table : kTables)
    if (has_table(index, table))
      GLOVE_RETURN_IF_ERROR(
          execute(db, create + index.object(table.suffix) + columns_of_table(index, table), index.name));
  return {};
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
  GLOVE_ASSIGN_OR_RETURN(ContentTraits traits, traits_of(db, index, columns));
  traits.json = OwnQuery(db, index.name, "SELECT json_valid(1) FROM json_each('[1]')").next().ok();
  GLOVE_ASSIGN_OR_RETURN(const bool counts, log_counts(db, index));
  const TriggerForm form = counts ? TriggerForm::kCounting : TriggerForm::kUncounting;
  for (size_t i = 0; i < kTriggers.size() && has_trigger(index, i); ++i) {
    GLOVE_RETURN_IF_ERROR(execute(
        db, "CREATE TRIGGER " + quoted_name(index.schema) + "." + trigger_text(index, i, traits, form),
        index.name));
    const std::string name = index.name + kTriggers[i];
    GLOVE_ASSIGN_OR_RETURN(const bool made, has_object(db, index, "trigger", name));
    if (!made)
      return index_error(index, "the trigger '", name, "' on '", index.content,
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
  for (size_t i = 0; i < kTriggers.size() && has_trigger(index, i); ++i)
    GLOVE_RETURN_IF_ERROR(execute(db, "DROP TRIGGER IF EXISTS " + index.object(kTriggers[i]), index.name));
  return {};
}

Status rename_index(sqlite3* db, const IndexDefinition& index, const std::string& new_name) {
  IndexDefinition renamed = index;
  renamed.name = new_name;
  GLOVE_RETURN_IF_ERROR(check_name(renamed));
  if (index.is_attached) GLOVE_RETURN_IF_ERROR(check_name_is_free(db, renamed));
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
