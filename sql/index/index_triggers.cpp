#include "sql/index/index_triggers.h"

#include "base/require.h"
#include "sql/adapter/own_statement.h"

namespace glove::sql {
namespace {

// A statement that logs keys, each once; `rows` begins with VALUES or SELECT. OR IGNORE would yield to the
// conflict clause of the statement that fires the trigger; ON CONFLICT (SQLite 3.24) does not.
std::string log_statement(const IndexDefinition& index, const std::string& rows, bool count,
                          const char* columns = "(id) ") {
  return "INSERT INTO " + quoted_name(index.name + "_log") + columns + rows +
         (count ? kCounts : " ON CONFLICT DO NOTHING; ");
}

std::string key_of(const IndexDefinition& index, const char* row) {
  return std::string(row) + "." + quoted_name(index.rowid);
}

// UPDATE ... SET rowid names no column. SQLite does not say which columns a generated one depends on.
std::string update_event(const IndexDefinition& index, const ContentTraits& content) {
  if (content.generated) return "UPDATE";
  std::string event = "UPDATE OF rowid, oid, _rowid_, " + quoted_name(index.rowid);
  for (const std::string& name : index.columns) event += ", " + quoted_name(name);
  return event;
}

// The key that SQLite will choose for a row without one: that after the largest, which never was one of a
// deleted row if the key is AUTOINCREMENT. After the largest possible key it chooses at random.
std::string next_key(const IndexDefinition& index, bool autoincrement) {
  const std::string key = key_of(index, "c");
  const std::string from = " FROM " + quoted_name(index.content) + " AS c";
  if (!autoincrement)
    return "ifnull((SELECT " + key + " + (" + key + " < 9223372036854775807)" + from + " ORDER BY " + key +
           " DESC LIMIT 1), 1)";
  std::string name;
  for (const char c : index.content) name.append(c == '\'' ? 2 : 1, c);
  return "(SELECT max(k) + (max(k) < 9223372036854775807) FROM (SELECT ifnull(max(" + key + "), 0) AS k" +
         from + " UNION ALL SELECT CAST(seq AS INTEGER) FROM sqlite_sequence WHERE name = '" + name +
         "' COLLATE NOCASE))";
}

// Fires unless the content has the row as it is to be inserted: DO UPDATE and OR IGNORE leave many such rows.
// The texts of equal numbers may differ, as 10 and 10.0 do.
// SQLite shows a trigger before the INSERT the key -1 for a row that has none yet. A new key counts from -1,
// so that it has 0, like most others, when the row is there: readers look for other numbers.
std::string insert_before(const IndexDefinition& index, const ContentTraits& content, bool count) {
  const std::string key = key_of(index, "new");
  std::string same = key_of(index, "c") + " = " + key;
  for (const std::string& column : index.columns) {
    const std::string name = quoted_name(column);
    same += " AND c." + name + " IS new." + name + " COLLATE BINARY";
    if (index.is_text) same += " AND typeof(c." + name + ") = typeof(new." + name + ")";
  }
  return "BEFORE INSERT ON " + quoted_name(index.content) + " WHEN " + key +
         " = -1 OR NOT EXISTS (SELECT 1 FROM " + quoted_name(index.content) + " AS c WHERE " + same +
         ") BEGIN " +
         log_statement(index,
                       "VALUES (CASE " + key + " WHEN -1 THEN " + next_key(index, content.autoincrement) +
                           " ELSE " + key + (count ? " END, -1)" : " END)"),
                       count, count ? "(id, again) " : "(id) ");
}

}  // namespace

std::string trigger_text(const IndexDefinition& index, size_t trigger, const ContentTraits& content,
                         TriggerForm form) {
  GLOVE_REQUIRE(form != TriggerForm::kFormer || trigger < kFormerTriggers);
  const bool count = form == TriggerForm::kCounting;
  const std::string on = " ON " + quoted_name(index.content) + " BEGIN ";
  const std::string old_key = key_of(index, "old");
  const std::string new_key = key_of(index, "new");
  const std::string log_old = log_statement(index, "VALUES (" + old_key + ")", count);
  const std::string log_new = log_statement(index, "VALUES (" + new_key + ")", count);
  const std::string update = update_event(index, content) + on;
  std::string before = log_statement(index, "VALUES (" + old_key + "), (" + new_key + ")", false);
  std::string after = form == TriggerForm::kFormer ? log_old + log_new : before;
  if (count) {
    before =
        log_old + log_statement(index, "SELECT " + new_key + " WHERE " + new_key + " <> " + old_key, true);
    after = log_statement(index, "VALUES (" + new_key + ")", false);
  }
  const std::array<std::string, kTriggers.size()> bodies = {
      "AFTER INSERT" + on + log_new,        "AFTER " + update + after,   "AFTER DELETE" + on + log_old,
      insert_before(index, content, count), "BEFORE " + update + before,
  };
  return quoted_name(index.name + kTriggers[trigger]) + " " + bodies[trigger] + "END";
}

}  // namespace glove::sql
