#include "sql/index/index_triggers.h"

#include "base/require.h"
#include "sql/adapter/own_statement.h"
#include "sql/adapter/sql_tokens.h"
#include "sql/index/key_table.h"

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
  return std::string(row) + "." + quoted_name(index.key.front().name);
}

// What a statement that logs the id of a row inserts. `more`: further columns, with a comma before each.
std::string id_of(const IndexDefinition& index, const char* row, const char* more = "") {
  if (!index.has_key_table) return "VALUES (" + key_of(index, row) + more + ")";
  return std::string("SELECT k.id") + more + " FROM " + quoted_name(index.name + "_key") + " AS k WHERE " +
         has_entry(index, row);
}

// The condition that an UPDATE changes the key.
std::string changes_key(const IndexDefinition& index) {
  std::string changes;
  for (const KeyColumn& key : index.key) {
    const std::string name = quoted_name(key.name);
    changes += (changes.empty() ? "new." : " OR new.") + name + " IS NOT old." + name + " COLLATE BINARY";
  }
  return "(" + changes + ")";
}

// UPDATE ... SET rowid names no column. SQLite does not say which columns a generated one depends on.
std::string update_event(const IndexDefinition& index, const ContentTraits& content) {
  if (content.generated) return "UPDATE";
  std::string event = "UPDATE OF rowid, oid, _rowid_";
  for (const KeyColumn& key : index.key) event += ", " + quoted_name(key.name);
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
  return "(SELECT max(k) + (max(k) < 9223372036854775807) FROM (SELECT ifnull(max(" + key + "), 0) AS k" +
         from + " UNION ALL SELECT CAST(seq AS INTEGER) FROM sqlite_sequence WHERE name = " +
         quoted_text(index.content) + " COLLATE NOCASE))";
}

// Fires unless the content has the row as it is to be inserted: DO UPDATE and OR IGNORE leave many such rows.
// The texts of equal numbers may differ, as 10 and 10.0 do.
// SQLite shows a trigger before the INSERT the key -1 for a row that has none yet. A new key counts from -1,
// so that it has 0, like most others, when the row is there: readers look for other numbers.
std::string insert_before(const IndexDefinition& index, const ContentTraits& content, bool count) {
  const std::string key = key_of(index, "new");
  std::string same;
  for (const KeyColumn& column : index.key) {
    const std::string name = quoted_name(column.name);
    same += (same.empty() ? "c." : " AND c.") + name + " = new." + name;
    if (index.has_key_table) same += " AND c." + name + " IS new." + name + " COLLATE BINARY";
  }
  for (const std::string& column : index.columns) {
    const std::string name = quoted_name(column);
    same += " AND c." + name + " IS new." + name + " COLLATE BINARY";
    if (index.is_text) same += " AND typeof(c." + name + ") = typeof(new." + name + ")";
  }
  const std::string absent =
      "NOT EXISTS (SELECT 1 FROM " + quoted_name(index.content) + " AS c WHERE " + same;
  if (index.has_key_table)
    return "BEFORE INSERT ON " + quoted_name(index.content) + " WHEN " + absent + ") BEGIN " +
           enter_statement(index, "new") +
           log_statement(index, id_of(index, "new", ", -1"), true, "(id, again) ");
  return "BEFORE INSERT ON " + quoted_name(index.content) + " WHEN " + key + " = -1 OR " + absent +
         ") BEGIN " +
         log_statement(index,
                       "VALUES (CASE " + key + " WHEN -1 THEN " + next_key(index, content.autoincrement) +
                           " ELSE " + key + (count ? " END, -1)" : " END)"),
                       count, count ? "(id, again) " : "(id) ");
}

// Refuses a vector. SQLite before 3.47 allows no other message than a literal, and OR IGNORE does not yield
// to RAISE(ABORT).
std::string refusal(const IndexDefinition& index, const std::string& what) {
  return " THEN RAISE(ABORT, " +
         quoted_text(index.name + ": the vector " + what +
                     "; write a vector of the index or NULL, or create the index without check='yes'") +
         ") ";
}

// What the triggers do that check a vector.
std::string check_vector(const IndexDefinition& index, const ContentTraits& content) {
  const std::string vector = "new." + quoted_name(index.columns.front());
  const std::string dims =
      "(SELECT value FROM " + quoted_name(index.name + "_config") + " WHERE key = 'dims' AND value > 0)";
  const std::string size = std::to_string(element_bytes(index.type));
  const bool is_bits = index.type == ElementType::kBits;
  const std::string length = refusal(index, "is not as long as those of the index");
  std::string text =
      "SELECT CASE typeof(" + vector + ") WHEN 'null' THEN 0 WHEN 'blob' THEN CASE WHEN length(" + vector +
      ") = 0 OR length(" + vector + ") % " + size + " <> 0" +
      refusal(index,
              is_bits ? "is a BLOB without bits"
                      : "is no BLOB of " + counted(element_bytes(index.type), "bytes") + " per component") +
      "WHEN length(" + vector + ") <> " + size + " * " + dims + length + "END";
  if (is_bits) return text + " ELSE CASE WHEN 1" + refusal(index, "is no BLOB of bits") + "END END; ";
  text += " WHEN 'text' THEN ";
  if (content.json)
    text += "CASE WHEN NOT json_valid(" + vector + ")" + refusal(index, "is a text that is no JSON") +
            "WHEN json_type(" + vector + ") <> 'array'" + refusal(index, "is no JSON array") +
            "WHEN EXISTS (SELECT 1 FROM json_each(" + vector + ") WHERE type NOT IN ('integer', 'real'))" +
            refusal(index, "has a component that is no number") + "WHEN json_array_length(" + vector +
            ") IS 0 OR json_array_length(" + vector + ") <> " + dims + length + "END";
  else
    text += "0";
  return text + " ELSE CASE WHEN 1" + refusal(index, "is a number") + "END END; ";
}

}  // namespace

std::string trigger_text(const IndexDefinition& index, size_t trigger, const ContentTraits& content,
                         TriggerForm form) {
  GLOVE_REQUIRE(has_trigger(index, trigger));
  if (trigger >= kFirstCheck) {
    const std::string vector = quoted_name(index.columns.front());
    const std::string event = trigger == kFirstCheck ? "INSERT"
                              : content.generated    ? "UPDATE"
                                                     : "UPDATE OF " + vector;
    const std::string when =
        content.generated && trigger > kFirstCheck ? " WHEN new." + vector + " IS NOT old." + vector : "";
    return quoted_name(index.name + kTriggers[trigger]) + " BEFORE " + event + " ON " +
           quoted_name(index.content) + when + " BEGIN " + check_vector(index, content) + "END";
  }
  GLOVE_REQUIRE(form != TriggerForm::kFormer || trigger < kFormerTriggers);
  const bool count = form == TriggerForm::kCounting;
  const std::string on = " ON " + quoted_name(index.content) + " BEGIN ";
  const std::string old_key = key_of(index, "old");
  const std::string new_key = key_of(index, "new");
  const std::string enter = index.has_key_table ? enter_statement(index, "new") : std::string();
  const std::string log_old = log_statement(index, id_of(index, "old"), count);
  const std::string log_new = enter + log_statement(index, id_of(index, "new"), count);
  const std::string update = update_event(index, content) + on;
  std::string before = log_statement(index, "VALUES (" + old_key + "), (" + new_key + ")", false);
  std::string after = form == TriggerForm::kFormer ? log_old + log_new : before;
  if (count) {
    before =
        log_old + log_statement(index, "SELECT " + new_key + " WHERE " + new_key + " <> " + old_key, true);
    after = enter + log_statement(index, id_of(index, "new"), false);
  }
  if (index.has_key_table)
    before = log_old + enter + log_statement(index, id_of(index, "new") + " AND " + changes_key(index), true);
  const std::array<std::string, kFirstCheck> bodies = {
      "AFTER INSERT" + on + log_new,        "AFTER " + update + after,   "AFTER DELETE" + on + log_old,
      insert_before(index, content, count), "BEFORE " + update + before,
  };
  return quoted_name(index.name + kTriggers[trigger]) + " " + bodies[trigger] + "END";
}

}  // namespace glove::sql
