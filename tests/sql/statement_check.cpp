#include "tests/sql/statement_check.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace glove::testing {
namespace {

constexpr int kDims = 3;
constexpr int kMostStatements = 60;

// One byte for each choice; zeros at the end, which choose what comes first.
class Choices {
 public:
  explicit Choices(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  bool are_left() const { return at_ < bytes_.size(); }
  int below(int count) { return at_ < bytes_.size() ? bytes_[at_++] % count : 0; }
  bool one_in(int count) { return below(count) == count - 1; }
  template <size_t kCount>
  const char* of(const std::array<const char*, kCount>& texts) {
    return texts[static_cast<size_t>(below(kCount))];
  }

 private:
  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
};

// D(a, b) of docs/exactness.md for fewer than eight components.
double dot(const float* a, const float* b) {
  std::array<double, 8> lanes{};
  for (size_t j = 0; j < kDims; ++j) lanes[j] = static_cast<double>(a[j]) * static_cast<double>(b[j]);
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

// scan_cosine(a, b): the similarity, or NULL if there is none.
void scan_cosine(sqlite3_context* context, int, sqlite3_value** values) {
  std::array<std::array<float, kDims>, 2> vectors;
  for (size_t i = 0; i < 2; ++i) {
    if (sqlite3_value_type(values[i]) != SQLITE_BLOB || sqlite3_value_bytes(values[i]) != kDims * 4) return;
    std::memcpy(vectors[i].data(), sqlite3_value_blob(values[i]), kDims * 4);
  }
  const double a = dot(vectors[0].data(), vectors[0].data());
  const double b = dot(vectors[1].data(), vectors[1].data());
  if (!(a > 0 && b > 0)) return;
  const double cosine = dot(vectors[0].data(), vectors[1].data()) / std::sqrt(a * b);
  sqlite3_result_double(context, std::clamp(cosine, -1.0, 1.0));
}

std::string value_text(sqlite3_stmt* statement, int column) {
  char text[64];
  const int type = sqlite3_column_type(statement, column);
  if (type == SQLITE_NULL) return "NULL";
  if (type == SQLITE_FLOAT) {
    std::snprintf(text, sizeof text, "%.17g", sqlite3_column_double(statement, column));
    return text;
  }
  const char quote = type == SQLITE_TEXT ? '\'' : ' ';
  return quote + std::string(reinterpret_cast<const char*>(sqlite3_column_text(statement, column))) + quote;
}

// A ranking as a statement reads it, from the extension's table or from a plain one.
struct Ranking {
  std::string table;          // what stands in FROM, without a name
  std::string condition;      // the inputs, with %s for the name of the table
  std::string key;            // of its rows
  std::string key_elsewhere;  // the column of other tables that has it
};

class Session {
 public:
  explicit Session(std::span<const uint8_t> choices) : choices_(choices) {}
  ~Session() {
    if (db_ != nullptr)
      sqlite3_exec(db_, "ROLLBACK; SELECT glove_unload('statements');", nullptr, nullptr, nullptr);
    sqlite3_close(db_);
  }

  std::string run() {
    if (!open()) return history_ + error_;
    for (int i = 0; i < kMostStatements && choices_.are_left() && error_.empty(); ++i) {
      if (choices_.below(5) < 2)
        change();
      else
        search();
    }
    return error_.empty() ? "" : history_ + error_;
  }

 private:
  // Returns the rows as text, and the number of SQLite's error or 0.
  int rows(const std::string& sql, std::vector<std::string>& found, std::string* message = nullptr) {
    found.clear();
    sqlite3_stmt* statement = nullptr;
    int code = sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr);
    while (code == SQLITE_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
      std::string row;
      for (int i = 0; i < sqlite3_column_count(statement); ++i) row += value_text(statement, i) + "|";
      found.push_back(std::move(row));
      code = SQLITE_OK;
    }
    if (code != SQLITE_DONE && message != nullptr) *message = sqlite3_errmsg(db_);
    sqlite3_finalize(statement);
    return code == SQLITE_DONE ? SQLITE_OK : code;
  }

  // Runs statements that must succeed.
  bool execute(const std::string& sql) {
    history_ += sql + ";\n";
    char* message = nullptr;
    if (sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, &message) == SQLITE_OK) return true;
    error_ = "-- failed: " + std::string(message != nullptr ? message : "?") + "\n";
    sqlite3_free(message);
    return false;
  }

  bool open() {
    char* message = nullptr;
    sqlite3_open(":memory:", &db_);
    sqlite3_enable_load_extension(db_, 1);
    if (sqlite3_load_extension(db_, GLOVE_EXTENSION, "sqlite3_glove_init", &message) != SQLITE_OK) {
      error_ = message;
      sqlite3_free(message);
      return false;
    }
    sqlite3_create_function(db_, "scan_cosine", 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nullptr, scan_cosine,
                            nullptr, nullptr);
    if (!execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, grp INTEGER, name TEXT UNIQUE, vec BLOB, word "
                 "TEXT AS ('w' || id));"
                 "CREATE TABLE tag(id INTEGER, tag TEXT, word TEXT AS ('w' || id));"
                 "CREATE TEMP TABLE scan1(id INTEGER, similarity REAL, rank INTEGER);"
                 "CREATE TEMP TABLE scan2(id INTEGER, similarity REAL, rank INTEGER);"
                 "CREATE TEMP TABLE scan3(id TEXT, similarity REAL, rank INTEGER)"))
      return false;
    const int count = 4 + choices_.below(40);
    for (int i = 0; i < count; ++i)
      if (!execute(filled("INSERT INTO doc VALUES (" + std::to_string(i + 1) + ", {n}, 'n" +
                          std::to_string(i + 1) + "', {vector})")))
        return false;
    if (!execute("INSERT INTO tag(id, tag) SELECT id, 't' || (id % 5) FROM doc; INSERT INTO tag(id, tag) "
                 "SELECT id, 'u' FROM "
                 "doc WHERE id % 3 = 0"))
      return false;
    const std::string lists = choices_.one_in(3) ? ", lists=2" : "";
    if (!execute(
            "CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='vec', dims=3" +
            lists + ")"))
      return false;
    return execute(
        "CREATE TEMP TABLE snapshot AS SELECT word AS id, vec FROM doc WHERE vec IS NOT NULL;"
        "SELECT glove_load_table('statements', 'SELECT id, vec FROM snapshot')");
  }

  // A vector of few small integers, so that many are equal or parallel; sometimes zero, or NULL for a row.
  std::string vector(bool may_be_null) {
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

  std::string number(int below) { return std::to_string(choices_.below(below)); }

  // Fills in a random {id}, {n}, {m} and {vector}.
  std::string filled(std::string text) {
    replace_all(text, "{id}", number(60));
    replace_all(text, "{n}", number(4));
    replace_all(text, "{m}", number(50));
    replace_all(text, "{vector}", vector(true));
    return text;
  }

  void change() {
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
        "ROLLBACK"};
    const std::string text = filled(choices_.of(kChanges));
    if (!is_transaction(text)) {
      execute(text);
      return;
    }
    history_ += text + ";\n";  // there may be no transaction or savepoint of this name
    sqlite3_exec(db_, text.c_str(), nullptr, nullptr, nullptr);
  }

  static bool is_transaction(const std::string& text) {
    static constexpr std::array kCommands = {"SAVEPOINT", "ROLLBACK", "RELEASE", "BEGIN", "COMMIT"};
    return std::ranges::any_of(kCommands, [&](const char* word) { return text.starts_with(word); });
  }

  // Puts the ranking of a scan into a plain table.
  bool scan(const char* table, const char* content, const std::string& query) {
    std::vector<std::string> none;
    const std::string name = std::string("temp.") + table;
    std::string message;
    const bool ok =
        rows("DELETE FROM " + name, none) == SQLITE_OK &&
        rows("INSERT INTO " + name +
                 " SELECT id, s, row_number() OVER (ORDER BY s DESC, place) FROM (SELECT id, rowid AS place, "
                 "scan_cosine(vec, " +
                 query + ") AS s FROM " + content + ") WHERE s IS NOT NULL",
             none, &message) == SQLITE_OK;
    if (!ok) error_ = "-- the scan failed: " + message + "\n";
    return ok;
  }

  // The extension's ranking and the plain one of the same rows, of which there are three.
  std::pair<Ranking, Ranking> ranking(int which, const std::string& query) {
    static constexpr std::array<const char*, 3> kScans = {"scan1", "scan2", "scan3"};
    const bool of_model = which == 2;
    if (!scan(kScans[static_cast<size_t>(which)], of_model ? "snapshot" : "doc", query)) return {};
    Ranking searched{of_model ? "glove_nn" : "doc_vec",
                     of_model ? "%s.model = 'statements' AND %s.expr = " + query : "%s.query = " + query,
                     of_model ? "neighbor" : "id", of_model ? "word" : "id"};
    Ranking scanned{kScans[static_cast<size_t>(which)], "1", "id", searched.key_elsewhere};
    if (!choices_.one_in(3)) return {searched, scanned};
    const std::string k = std::to_string(choices_.below(3) == 0 ? 100000 : choices_.below(20));
    searched.condition += " AND %s.k = " + k;
    scanned.condition = "%s.rank <= " + k;
    return {searched, scanned};
  }

  // A condition on a ranking that is called x, with {key} for its key.
  std::string condition() {
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

  std::string conditions() {
    std::string text;
    for (int count = choices_.below(3); count > 0; --count) text += " AND " + condition();
    return text;
  }

  // A statement with {x} and {y} for rankings called x and y, and {wx} and {wy} for their inputs. Its rows
  // are in a total order if it has a LIMIT.
  std::string statement(bool& is_ordered) {
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
    if (choices_.one_in(2))
      text += " LIMIT " + number(12) + (choices_.one_in(3) ? " OFFSET " + number(5) : "");
    return text;
  }

  static void replace_all(std::string& text, const std::string& from, const std::string& to) {
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
  }

  static std::string with(std::string text, const Ranking& x, const Ranking& y) {
    const auto put = [&](const Ranking& ranking, const std::string& name, const std::string& key) {
      std::string condition = ranking.condition;
      replace_all(condition, "%s", name);
      replace_all(text, "{" + name + "}", ranking.table);
      replace_all(text, "{w" + name + "}", condition);
      replace_all(text, key, ranking.key);
    };
    put(x, "x", "{key}");
    replace_all(text, "{dkey}", x.key_elsewhere);
    put(y, "y", "{ykey}");
    return text;
  }

  // Mostly one of three, whose answers and ranks the extension may have kept.
  std::string query() {
    static constexpr std::array kAgain = {"X'0000803F0000004000000000'", "X'000080BF0000803F0000803F'",
                                          "X'0000004000000000000080BF'"};
    return choices_.one_in(4) ? vector(false) : choices_.of(kAgain);
  }

  void search() {
    const int which = choices_.below(3);
    const auto [x, plain_x] = ranking(which, query());
    const auto [y, plain_y] = ranking((which + 1 + choices_.below(2)) % 3, query());
    if (!error_.empty()) return;
    bool is_ordered = false;
    const std::string text = statement(is_ordered);
    const std::string searching = with(text, x, y);
    const std::string scanning = with(text, plain_x, plain_y);
    history_ += searching + ";\n";
    std::vector<std::string> found, wanted;
    std::string message = "none", plain_message = "none";
    const int code = rows(searching, found, &message);
    const int plain_code = rows(scanning, wanted, &plain_message);
    if (!is_ordered) {
      std::ranges::sort(found);
      std::ranges::sort(wanted);
    }
    if (code == plain_code && found == wanted) return;
    error_ = "-- plain: " + scanning + "\n-- errors: " + message + "; " + plain_message + "\n-- rows:";
    for (const std::string& row : found) error_ += " " + row;
    error_ += "\n-- scan:";
    for (const std::string& row : wanted) error_ += " " + row;
    error_ += "\n";
  }

  Choices choices_;
  sqlite3* db_ = nullptr;
  std::string history_, error_;
};

}  // namespace

std::string check_statements(std::span<const uint8_t> choices) {
  return Session(choices).run();
}

}  // namespace glove::testing
