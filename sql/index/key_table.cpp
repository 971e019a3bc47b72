#include "sql/index/key_table.h"

#include <algorithm>

#include "base/concat.h"
#include "sql/values/row_keys.h"

namespace glove::sql {
namespace {

// Joins make(key, i) of each column of the key, where i counts from 1.
template <class Make>
std::string joined(const IndexDefinition& index, const char* separator, const Make& make) {
  std::string text;
  for (size_t i = 0; i < index.key.size(); ++i) text += (i == 0 ? "" : separator) + make(index.key[i], i + 1);
  return text;
}

std::string entries(const IndexDefinition& index) {
  return joined(index, ", ", [](const KeyColumn&, size_t i) { return concat("k", i); });
}

std::string key_values(const IndexDefinition& index, const std::string& row) {
  return joined(index, ", ", [&](const KeyColumn& key, size_t) { return row + "." + quoted_name(key.name); });
}

std::string is_whole(const IndexDefinition& index, const std::string& row) {
  return joined(index, " AND ", [&](const KeyColumn& key, size_t) {
    return row + "." + quoted_name(key.name) + " NOT NULL";
  });
}

std::string key_shown(const IndexDefinition& index, const std::string& row) {
  return joined(index, " || ', ' || ", [&](const KeyColumn& key, size_t i) {
    return "quote(" + (row == "k" ? concat("k", i) : row + "." + quoted_name(key.name)) + ")";
  });
}

}  // namespace

std::string key_table_columns(const IndexDefinition& index) {
  const auto column = [](const KeyColumn& key, size_t i) { return concat("k", i, " ", key.type); };
  return "(id INTEGER UNIQUE, " + joined(index, ", ", column) + ", UNIQUE(" + entries(index) + "))";
}

std::string row_id(const IndexDefinition& index) {
  return index.has_key_table ? "k.id" : "d." + quoted_name(index.key.front().name);
}

std::string row_source(const IndexDefinition& index) {
  if (!index.has_key_table) return index.content_table() + " d";
  return index.object("_key") + " k CROSS JOIN " + index.content_table() + " d ON " + is_entry_of_row(index);
}

// The first condition is one of the content's key, with its collation, so that SQLite uses that; the second
// compares bytes.
std::string is_entry_of_row(const IndexDefinition& index) {
  return joined(index, " AND ", [](const KeyColumn& key, size_t i) {
    const std::string same = concat("d.", quoted_name(key.name), " = k.k", i);
    return key.collation == "BINARY" ? same : same + " AND " + same + " COLLATE BINARY";
  });
}

std::string has_entry(const IndexDefinition& index, const std::string& row) {
  return joined(index, " AND ", [&](const KeyColumn& key, size_t i) {
    return concat("k.k", i, " = ", row, ".", quoted_name(key.name));
  });
}

// OR IGNORE would yield to the conflict clause of the statement that fires the trigger; ON CONFLICT does not.
// A key with a NULL takes the largest id, which is a conflict, or 0 in an empty table. INSERT ... SELECT from
// the same table would take a temporary one.
std::string enter_statement(const IndexDefinition& index, const std::string& row) {
  const std::string table = quoted_name(index.name + "_key");
  return "INSERT INTO " + table + "(id, " + entries(index) + ") VALUES (ifnull((SELECT max(id) FROM " +
         table + "), 0) + (" + is_whole(index, row) + "), " + key_values(index, row) +
         ") ON CONFLICT DO NOTHING; ";
}

// NOT INDEXED: in the order of the rows, and not of the keys.
std::string KeyTable::missing_rows() const {
  return " FROM " + index_.content_table() + " d NOT INDEXED WHERE " + is_whole(index_, "d") +
         " AND NOT EXISTS (SELECT 1 FROM " + table() + " k WHERE " + has_entry(index_, "d") + ")";
}

Status KeyTable::add_missing() {
  GLOVE_ASSIGN_OR_RETURN(int64_t id, query("SELECT max(id) FROM " + table()).next_integer());
  OwnStatement insert;
  const std::string places = joined(index_, ", ", [](const KeyColumn&, size_t) { return std::string("?"); });
  GLOVE_RETURN_IF_ERROR(
      prepare(insert, "INSERT INTO " + table() + "(id, " + entries(index_) + ") VALUES (?, " + places + ")"));
  OwnQuery rows = query("SELECT " + key_values(index_, "d") + missing_rows());
  return rows.for_each([&]() -> Status {
    OwnStatement::Run run(insert);
    run.bind(++id);
    for (size_t i = 0; i < index_.key.size(); ++i) run.bind(rows.value(static_cast<int>(i)));
    return run.finish();
  });
}

Status KeyTable::remove_gone() {
  return execute("DELETE FROM " + table() + " AS k WHERE k.id < (SELECT max(id) FROM " + table() +
                 ") AND NOT EXISTS (SELECT 1 FROM " + index_.content_table() + " d WHERE " +
                 is_entry_of_row(index_) + ")");
}

Result<std::string> KeyTable::missing_key() {
  return query("SELECT " + key_shown(index_, "d") + missing_rows() + " LIMIT 1").next_text();
}

Result<int64_t> KeyTable::null_keys() {
  return query("SELECT count(*) FROM " + index_.content_table() + " d WHERE NOT (" + is_whole(index_, "d") +
               ")")
      .next_integer();
}

Result<std::vector<int64_t>> KeyTable::in_order() {
  return query("SELECT id FROM " + table() + " ORDER BY " + entries(index_)).integers();
}

// Where the content compares keys by another collation, its own index finds them.
std::string KeyTable::find_statement() const {
  const bool by_bytes =
      std::ranges::all_of(index_.key, [](const auto& key) { return key.collation == "BINARY"; });
  const auto is_part = [by_bytes](const KeyColumn& key, size_t i) {
    return by_bytes ? concat("k.k", i, " = ?") : "d." + quoted_name(key.name) + " = ?";
  };
  const std::string from =
      by_bytes ? table() + " k"
               : index_.content_table() + " d CROSS JOIN " + table() + " k ON " + has_entry(index_, "d");
  return "SELECT k.id FROM " + from + " WHERE " + joined(index_, " AND ", is_part);
}

// A number equals any text that is written as one, where SQLite compares numbers.
Result<std::optional<std::vector<int64_t>>> KeyTable::find(std::span<sqlite3_value* const> key) {
  GLOVE_RETURN_IF_ERROR(prepare(find_, find_statement()));
  OwnStatement::Run run(find_);
  for (size_t i = 0; i < key.size(); ++i) {
    const int type = sqlite3_value_type(key[i]);
    const bool may_hold_text = index_.key[i].type == "TEXT" || index_.key[i].type == "BLOB";
    if (may_hold_text && type != SQLITE_TEXT && type != SQLITE_BLOB)
      return std::optional<std::vector<int64_t>>();
    run.bind(key[i]);
  }
  GLOVE_ASSIGN_OR_RETURN(std::vector<int64_t> ids, run.integers());
  return std::optional(std::move(ids));
}

Result<std::vector<int64_t>> KeyTable::find_set(sqlite3_value* among, const InterruptCheck& interrupted) {
  GLOVE_RETURN_IF_ERROR(prepare(find_, find_statement()));
  std::vector<int64_t> ids;
  const auto find_one = [&](std::span<const KeyPart> key) -> Status {
    OwnStatement::Run run(find_);
    for (const KeyPart& part : key) {
      if (part.type == SQLITE_INTEGER) run.bind(part.integer);
      if (part.type == SQLITE_FLOAT) run.bind_real(part.real);
      if (part.type == SQLITE_TEXT) run.bind(std::string_view(part.bytes));
      if (part.type == SQLITE_BLOB) run.bind_blob(part.bytes);
    }
    return run.for_each([&] { ids.push_back(run.integer(0)); });
  };
  GLOVE_RETURN_IF_ERROR(read_keys(among, index_.key.size(), find_one, interrupted));
  return ids;
}

// Calls use(run) at the row of the key, if there is one.
template <class Use>
Status KeyTable::use_parts(int64_t id, const Use& use) {
  GLOVE_RETURN_IF_ERROR(prepare(parts_, "SELECT " + entries(index_) + " FROM " + table() + " WHERE id = ?"));
  OwnStatement::Run run(parts_);
  run.bind(id);
  GLOVE_ASSIGN_OR_RETURN(const bool found, run.next());
  if (found) use(run);
  return {};
}

Status KeyTable::return_part(sqlite3_context* context, int64_t id, int part) {
  return use_parts(id, [&](OwnStatement::Run& run) { sqlite3_result_value(context, run.value(part)); });
}

Status KeyTable::return_key(sqlite3_context* context, int64_t id) {
  return use_parts(id, [&](OwnStatement::Run& run) {
    std::vector<sqlite3_value*> parts;
    parts.reserve(static_cast<size_t>(run.columns()));
    for (int i = 0; i < run.columns(); ++i) parts.push_back(run.value(i));
    if (parts.size() == 1)
      sqlite3_result_value(context, parts.front());
    else
      return_text(context, json_key(parts));
  });
}

Result<std::string> KeyTable::text(int64_t id) {
  GLOVE_ASSIGN_OR_RETURN(
      std::string key,
      query("SELECT " + key_shown(index_, "k") + " FROM " + table() + " k WHERE id = ?", id).next_text());
  return key.empty() ? std::to_string(id) : key;
}

}  // namespace glove::sql
