#include "tests/sql/statement_grammar.h"

#include <cstdio>
#include <cstring>

namespace glove::testing {
namespace {

// The ranking of a scan. Writes {rows}, {query} and {admissible}, a condition on id.
constexpr const char* kScan =
    "SELECT id, s AS similarity, row_number() OVER (ORDER BY s DESC, place) AS rank FROM (SELECT id, place, "
    "scan_cosine(vec, {query}) AS s "
    "FROM (SELECT id, vec, row_number() OVER () AS place FROM ({rows})) WHERE {admissible}) WHERE s IS NOT "
    "NULL";

// Their names.
constexpr std::array kTriggers = {"follow", "stop", "drop_next", "copy"};

}  // namespace

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

std::string scan_of(size_t which, const std::string& query, const std::string& admissible) {
  std::string text = kScan;
  replace_all(text, "{rows}", kRanked[which].rows);
  replace_all(
      text, "{query}",
      query.front() == '\'' ? "glove_text_vec(" + query + ", 'statements', '{\"components\":0}')" : query);
  replace_all(text, "{admissible}", admissible);
  return text;
}

std::string Grammar::text(bool may_be_null) {
  if (may_be_null && choices_.one_in(16)) return "NULL";
  std::string words;
  for (int count = choices_.below(4); count > 0; --count) words += " w" + number(50);
  return "'" + words + "'";
}

std::string Grammar::vector(bool may_be_null) {
  if (may_be_null && choices_.one_in(16)) return "NULL";
  std::string blob = "X'";
  for (int j = 0; j < kDims; ++j) {
    const auto value = static_cast<float>(choices_.below(5) - 2);
    std::array<unsigned char, 4> bytes;
    std::memcpy(bytes.data(), &value, 4);
    char digits[16];
    std::snprintf(digits, sizeof digits, "%02X%02X%02X%02X", bytes[0], bytes[1], bytes[2], bytes[3]);
    blob += digits;
  }
  return blob + "'";
}

std::string Grammar::filled(std::string text) {
  replace_all(text, "{id}", number(60));
  replace_all(text, "{n}", number(4));
  replace_all(text, "{m}", number(50));
  replace_all(text, "{vector}", vector(true));
  if (text.find("{text}") != std::string::npos) replace_all(text, "{text}", this->text(true));
  return text;
}

std::string Grammar::change() {
  // REPLACE deletes the row that has the name without a trigger, unless recursive_triggers is on.
  static constexpr std::array kChanges = {
      "INSERT OR REPLACE INTO doc VALUES ({id}, {n}, 'n' || ({id} % 50), {vector})",
      "UPDATE doc SET vec = {vector} WHERE id = {id}",
      "DELETE FROM doc WHERE id = {id}",
      "UPDATE doc SET vec = {vector} WHERE grp = {n}",
      "UPDATE OR IGNORE doc SET id = id + 100 WHERE id = {id}",
      "INSERT OR REPLACE INTO doc(grp, name, vec) VALUES (1, 'n{m}', {vector})",
      "INSERT INTO doc_vec(doc_vec) VALUES ('sync')",
      "INSERT INTO doc_vec(doc_vec) VALUES ('merge')",
      "INSERT INTO doc_vec(doc_vec) VALUES ('rebuild')",
      "CREATE INDEX IF NOT EXISTS by_grp ON doc(grp)",
      "CREATE INDEX IF NOT EXISTS by_tag ON tag(tag)",
      "DROP INDEX IF EXISTS by_grp",
      "ANALYZE",
      "SAVEPOINT s{n}",
      "ROLLBACK TO s{n}",
      "RELEASE s{n}",
      "BEGIN",
      "COMMIT",
      "ROLLBACK",
      "INSERT INTO note(grp, body) VALUES ({n}, {text})",
      "UPDATE note SET body = {text} WHERE id % 4 = {n}",
      "DELETE FROM note WHERE id = {n}",
      "INSERT OR REPLACE INTO note SELECT id, grp, 'w' || id FROM doc WHERE grp = {n}",
      "INSERT INTO note_vec(note_vec) VALUES ('sync')",
      "INSERT INTO note_vec(note_vec) VALUES ('merge')",
      "INSERT INTO doc(id, grp, vec) VALUES ({id}, {n}, {vector}) ON CONFLICT(id) DO UPDATE SET vec = "
      "excluded.vec, grp = grp + 1",
      "INSERT INTO tag(id, tag) VALUES ({id}, 'go{n}')",
      "INSERT INTO tag(id, tag) VALUES ({id}, 'go{n}')",
      "DROP TRIGGER IF EXISTS {trigger}",
      "{create}",
      "{create}",
      "PRAGMA recursive_triggers = {n}",
      "SELECT count(*) FROM doc_vec WHERE query = {vector} AND k = {n} AND among = {id}"};
  std::string text = choices_.of(kChanges);
  if (text == "{create}") text = trigger();
  if (text.find("{trigger}") != std::string::npos) replace_all(text, "{trigger}", choices_.of(kTriggers));
  return filled(text);
}

std::string Grammar::trigger() {
  static constexpr std::array kCreate = {
      "CREATE TEMP TRIGGER IF NOT EXISTS follow AFTER INSERT ON tag WHEN new.tag GLOB 'go*' BEGIN "
      "UPDATE doc SET vec = {vector} WHERE id = new.id; INSERT INTO seen SELECT x.id, x.similarity, x.rank "
      "FROM doc_vec x WHERE x.query = {q} "
      "AND x.k = 5; INSERT INTO wanted SELECT * FROM ({scan}) WHERE rank <= 5; DELETE FROM doc WHERE id = "
      "new.id + 1; "
      "INSERT INTO seen SELECT x.id, x.similarity, x.rank FROM doc_vec x WHERE x.query = {q} AND x.id IN "
      "(3, new.id); "
      "INSERT INTO wanted SELECT * FROM ({scan}) WHERE id IN (3, new.id); END",
      "CREATE TEMP TRIGGER IF NOT EXISTS stop BEFORE UPDATE OF vec ON doc WHEN new.grp = 3 BEGIN SELECT "
      "RAISE(IGNORE); END",
      "CREATE TEMP TRIGGER IF NOT EXISTS drop_next AFTER INSERT ON doc WHEN new.id > 5 BEGIN DELETE FROM "
      "doc WHERE id = new.id - 1; "
      "UPDATE doc SET vec = new.vec WHERE id = {n}; END",
      "CREATE TEMP TRIGGER IF NOT EXISTS copy AFTER DELETE ON doc BEGIN INSERT OR REPLACE INTO note VALUES "
      "(old.id, old.grp, 'w' || old.id); "
      "INSERT INTO seen SELECT x.id, x.similarity, x.rank FROM note_vec x WHERE x.query = {q} AND x.rank "
      "<= 3; "
      "INSERT INTO wanted SELECT * FROM ({notes}) WHERE rank <= 3; END"};
  std::string text = choices_.of(kCreate);
  const std::string asked = query();
  replace_all(text, "{scan}", scan_of(0, asked, "1"));
  replace_all(text, "{notes}", scan_of(kOfTexts, asked, "1"));
  replace_all(text, "{q}", asked);
  return text;
}

std::pair<std::string, std::string> Grammar::among() {
  const std::string n = number(5), id = number(60), other = number(60);
  switch (choices_.below(5)) {
    case 0:
      return {"(SELECT glove_keys(id) FROM doc WHERE grp = " + n + ")",
              "id IN (SELECT id FROM doc WHERE grp = " + n + ")"};
    case 1:
      return {"'[" + id + ", " + other + ", 7, 7, -1]'", "id IN (" + id + ", " + other + ", 7)"};
    case 2:
      return {"(SELECT glove_keys(id) FROM tag WHERE tag <> 't" + n + "')",
              "id IN (SELECT id FROM tag WHERE tag <> 't" + n + "')"};
    case 3:
      return {"(SELECT glove_keys(value) FROM json_each('[1, 2, 3, 5, 8, 13, " + id + "]'))",
              "id IN (1, 2, 3, 5, 8, 13, " + id + ")"};
    default:
      return {choices_.one_in(2) ? "NULL" : "x''", "0"};
  }
}

// A condition on a ranking that is called x, with {key} for its key.
std::string Grammar::condition() {
  static constexpr std::array kValues = {"3",   "7",   "'5'", "2.0",   "2.5", "NULL",
                                         "'a'", "0.5", "-1",  "X'00'", "1e3", "'3.0'"};
  static constexpr std::array kOperators = {"=", "<", "<=", ">", ">=", "<>", "IS", "IS NOT"};
  static constexpr std::array kColumns = {"x.rank", "x.similarity", "x.{key}", "x.rank + 0", "+x.{key}"};
  switch (choices_.below(8)) {
    case 0:
      return "x.{key} IN (" + number(60) + ", " + number(60) + ", '" + number(60) + "')";
    case 1:
      return "x.{key} IN (SELECT {dkey} FROM doc WHERE grp = " + number(4) + ")";
    case 2:
      return "x.rank BETWEEN " + number(9) + " AND " + number(30);
    case 3:
      return "(x.rank < " + number(9) + " OR x.{key} = " + number(60) + ")";
    case 4:
      return "NOT (x.similarity > 0.4 AND x.{key} < " + number(60) + ")";
    case 5:
      return "EXISTS (SELECT 1 FROM tag t WHERE t.{dkey} = x.{key} AND t.tag = 't" + number(5) + "')";
    default:
      break;
  }
  const std::string column = choices_.of(kColumns);
  const std::string how = choices_.of(kOperators);
  return column + " " + how + " " + choices_.of(kValues);
}

std::string Grammar::conditions() {
  std::string text;
  for (int count = choices_.below(3); count > 0; --count) text += " AND " + condition();
  return text;
}

std::string Grammar::statement(bool& is_ordered) {
  static constexpr std::array kShapes = {
      "SELECT x.{key}, x.similarity, x.rank FROM {x} x WHERE {wx}{c}",
      "SELECT d.id, d.grp, x.rank FROM {x} x JOIN doc d ON d.{dkey} = x.{key} WHERE {wx} AND d.grp = "
      "{n}{c}",
      "SELECT d.id, x.rank, x.similarity FROM doc d JOIN {x} x ON x.{key} = d.{dkey} WHERE {wx}{c}",
      "SELECT d.id, x.rank FROM doc d LEFT JOIN {x} x ON x.{key} = d.{dkey} AND {wx} WHERE d.grp <= {n}",
      "SELECT d.id, x.similarity FROM doc d CROSS JOIN {x} x ON x.{key} = d.{dkey} WHERE {wx}{c}",
      "SELECT t.tag, x.rank FROM tag t JOIN {x} x ON x.{key} = t.{dkey} WHERE t.tag = 't{n}' AND {wx}{c}",
      "SELECT x.rank, y.rank, x.similarity + y.similarity FROM {x} x JOIN {y} y ON y.{ykey} = x.{key} "
      "WHERE {wx} AND {wy}{c}",
      "SELECT x.rank, y.rank FROM {x} x LEFT JOIN {y} y ON y.{ykey} = x.{key} AND {wy} WHERE {wx}{c}",
      "SELECT d.grp, count(*), min(x.rank), max(x.similarity) FROM {x} x JOIN doc d ON d.{dkey} = x.{key} "
      "WHERE {wx}{c} GROUP BY d.grp",
      "SELECT count(*), sum(x.rank) FROM {x} x WHERE {wx}{c}",
      "WITH found AS MATERIALIZED (SELECT x.{key} AS id, x.rank AS rank FROM {x} x WHERE {wx}{c}) SELECT "
      "found.rank, d.grp FROM found JOIN doc d ON d.{dkey} = found.id",
      "SELECT x.{key}, sum(x.rank) OVER (ORDER BY x.rank ROWS 2 PRECEDING) FROM {x} x WHERE {wx}{c}",
      "SELECT d.id, (SELECT x.rank FROM {x} x WHERE x.{key} = d.{dkey} AND {wx}{c}) FROM doc d",
      "SELECT d.id FROM doc d WHERE d.{dkey} IN (SELECT x.{key} FROM {x} x WHERE {wx}{c})",
      "SELECT d.id FROM doc d WHERE NOT EXISTS (SELECT 1 FROM {x} x WHERE x.{key} = d.{dkey} AND {wx}{c})",
      "SELECT x.{key}, x.rank FROM {x} x WHERE {wx}{c} UNION SELECT y.{ykey}, y.rank FROM {y} y WHERE {wy}",
      "SELECT x.{key}, x.rank FROM {x} x WHERE {wx}{c} UNION ALL SELECT id, grp FROM doc",
      "SELECT DISTINCT d.grp FROM {x} x JOIN doc d ON d.{dkey} = x.{key} WHERE {wx}{c}",
      "SELECT x.rank, y.rank FROM {x} x, {y} y WHERE {wx} AND {wy} AND x.rank + y.rank = {n}{c}",
      "SELECT max(x.rank) FROM {x} x WHERE {wx}{c} HAVING count(*) > {n}"};
  const int shape = choices_.below(static_cast<int>(kShapes.size()));
  std::string text = kShapes[static_cast<size_t>(shape)];
  replace_all(text, "{c}", conditions());
  replace_all(text, "{n}", number(6));
  is_ordered = false;
  if (shape > 5 || choices_.below(2) == 0) return text;
  static constexpr std::array kOrders = {"x.rank", "x.similarity DESC", "x.rank DESC", "x.similarity",
                                         "x.{key}"};
  text +=
      std::string(" ORDER BY ") + choices_.of(kOrders) + ", x.{key}, 1, 2";  // the columns are a row's own
  is_ordered = true;
  if (choices_.one_in(2)) text += " LIMIT " + number(12) + (choices_.one_in(3) ? " OFFSET " + number(5) : "");
  return text;
}

std::string Grammar::query() {
  static constexpr std::array kAgain = {"X'0000803F0000004000000000'", "X'000080BF0000803F0000803F'",
                                        "X'0000004000000000000080BF'"};
  return choices_.one_in(4) ? vector(false) : choices_.of(kAgain);
}

}  // namespace glove::testing
