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

#include "tests/sql/statement_grammar.h"

namespace glove::testing {
namespace {

constexpr int kMostStatements = 60;

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

class Session {
 public:
  explicit Session(std::span<const uint8_t> choices) : grammar_(choices) {}
  ~Session() {
    if (db_ != nullptr)
      sqlite3_exec(db_, "ROLLBACK; SELECT glove_unload('statements');", nullptr, nullptr, nullptr);
    sqlite3_close(db_);
  }

  std::string run() {
    if (!open()) return history_ + error_;
    for (int i = 0; i < kMostStatements && grammar_.choices().are_left() && error_.empty(); ++i) {
      if (grammar_.choices().below(5) < 2)
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
    if (!execute(
            "CREATE TABLE doc(id INTEGER PRIMARY KEY, grp INTEGER, name TEXT UNIQUE, vec BLOB, word "
            "TEXT AS ('w' || id));"
            "CREATE TABLE tag(id INTEGER, tag TEXT, word TEXT AS ('w' || id));"
            "CREATE TEMP TABLE scan1(id INTEGER, similarity REAL, rank INTEGER);"
            "CREATE TEMP TABLE scan2(id INTEGER, similarity REAL, rank INTEGER);"
            "CREATE TEMP TABLE scan3(id TEXT, similarity REAL, rank INTEGER);"
            "CREATE TEMP TABLE scan4(id INTEGER, similarity REAL, rank INTEGER);"
            "CREATE TABLE note(id INTEGER PRIMARY KEY, grp INTEGER, body TEXT);"
            "CREATE TEMP TABLE seen(id, similarity, rank); CREATE TEMP TABLE wanted(id, similarity, rank)"))
      return false;
    const int count = 4 + grammar_.choices().below(40);
    for (int i = 0; i < count; ++i)
      if (!execute(grammar_.filled("INSERT INTO doc VALUES (" + std::to_string(i + 1) + ", {n}, 'n" +
                                   std::to_string(i + 1) + "', {vector})")))
        return false;
    if (!execute("INSERT INTO tag(id, tag) SELECT id, 't' || (id % 5) FROM doc; INSERT INTO tag(id, tag) "
                 "SELECT id, 'u' FROM "
                 "doc WHERE id % 3 = 0"))
      return false;
    const std::string lists = grammar_.choices().one_in(3) ? ", lists=2" : "";
    if (!execute(
            "CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='vec', dims=3" +
            lists + ")"))
      return false;
    if (!execute(
            "CREATE TEMP TABLE snapshot AS SELECT word AS id, vec FROM doc WHERE vec IS NOT NULL UNION ALL "
            "SELECT 'w0', X'0000803F0000803F00000000';"
            "SELECT glove_load_table('statements', 'SELECT id, vec FROM snapshot')"))
      return false;
    for (int i = grammar_.choices().below(12); i > 0; --i)
      if (!execute(grammar_.filled("INSERT INTO note(grp, body) VALUES ({n}, {text})"))) return false;
    if (!execute("CREATE VIRTUAL TABLE note_vec USING glove_index(content='note', rowid='id', text='body', "
                 "model='statements', "
                 "options='{\"components\":0}')"))
      return false;
    return grammar_.choices().one_in(2) || execute(grammar_.filled(grammar_.trigger()));
  }

  void change() {
    const std::string text = grammar_.change();
    if (text.starts_with("SELECT")) {  // of a wrong type
      std::vector<std::string> none;
      history_ += text + ";\n";
      if (rows(text, none) == SQLITE_OK) error_ = "-- among is no set of keys\n";
      return;
    }
    if (!is_transaction(text)) {
      execute(text);
      compare_seen();
      return;
    }
    history_ += text + ";\n";  // there may be no transaction or savepoint of this name
    sqlite3_exec(db_, text.c_str(), nullptr, nullptr, nullptr);
  }

  static bool is_transaction(const std::string& text) {
    static constexpr std::array kCommands = {"SAVEPOINT", "ROLLBACK", "RELEASE", "BEGIN", "COMMIT"};
    return std::ranges::any_of(kCommands, [&](const char* word) { return text.starts_with(word); });
  }

  // What triggers have found is what they would have found by scans.
  void compare_seen() {
    std::vector<std::string> seen, wanted, none;
    rows("SELECT * FROM seen ORDER BY 1, 2, 3", seen);
    rows("SELECT * FROM wanted ORDER BY 1, 2, 3", wanted);
    if (seen.empty() && wanted.empty()) return;
    if (seen != wanted) differ("in a trigger", seen, wanted);
    rows("DELETE FROM seen", none);
    rows("DELETE FROM wanted", none);
  }

  void differ(const std::string& what, const std::vector<std::string>& found,
              const std::vector<std::string>& wanted) {
    error_ = "-- " + what + "\n-- rows:";
    for (const std::string& row : found) error_ += " " + row;
    error_ += "\n-- scan:";
    for (const std::string& row : wanted) error_ += " " + row;
    error_ += "\n";
  }

  // Puts the ranking of a scan into a plain table.
  bool scan(size_t which, const std::string& query, const std::string& admissible) {
    std::vector<std::string> none;
    const std::string name = std::string("temp.") + kRanked[which].scan;
    std::string message;
    const bool ok =
        rows("DELETE FROM " + name, none) == SQLITE_OK &&
        rows("INSERT INTO " + name + " " + scan_of(which, query, admissible), none, &message) == SQLITE_OK;
    if (!ok) error_ = "-- the scan failed: " + message + "\n";
    return ok;
  }

  // The extension's ranking and the plain one of the same rows.
  std::pair<Ranking, Ranking> ranking(size_t which) {
    const Ranked& ranked = kRanked[which];
    const std::string asked =
        which == kOfTexts && grammar_.choices().one_in(2) ? grammar_.text(true) : grammar_.query();
    std::string admissible = "1", inputs = ranked.inputs;
    if (which != kOfModel && grammar_.choices().one_in(4)) {
      auto [keys, condition] = grammar_.among();
      inputs += " AND %s.among = " + keys;
      admissible = condition;
    }
    if (!scan(which, asked, admissible)) return {};
    Ranking searched{ranked.table, inputs + " AND %s." + ranked.query + " = " + asked, ranked.key,
                     ranked.key_elsewhere};
    Ranking scanned{ranked.scan, "1", "id", searched.key_elsewhere};
    if (!grammar_.choices().one_in(3)) return {searched, scanned};
    const std::string k =
        std::to_string(grammar_.choices().below(3) == 0 ? 100000 : grammar_.choices().below(20));
    searched.condition += " AND %s.k = " + k;
    scanned.condition = "%s.rank <= " + k;
    // Of so few rows these are all.
    if (grammar_.choices().one_in(3))
      searched.condition += grammar_.choices().one_in(4)
                                ? " AND %s.recall = NULL"
                                : " AND %s.recall = 0.5 + 0.1 * " + grammar_.number(6);
    return {searched, scanned};
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

  void search() {
    constexpr int kCount = static_cast<int>(kRanked.size());
    const int which = grammar_.choices().below(kCount);
    const auto [x, plain_x] = ranking(static_cast<size_t>(which));
    if (!error_.empty()) return;
    const auto [y, plain_y] =
        ranking(static_cast<size_t>((which + 1 + grammar_.choices().below(kCount - 1)) % kCount));
    if (!error_.empty()) return;
    bool is_ordered = false;
    const std::string text = grammar_.statement(is_ordered);
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
    differ("plain: " + scanning + "\n-- errors: " + message + "; " + plain_message, found, wanted);
  }

  Grammar grammar_;
  sqlite3* db_ = nullptr;
  std::string history_, error_;
};

}  // namespace

std::string check_statements(std::span<const uint8_t> choices) {
  return Session(choices).run();
}

}  // namespace glove::testing
