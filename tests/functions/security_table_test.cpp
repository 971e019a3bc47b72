// Every SQL object of the extension in every place of a database file from which SQL runs: docs/sql.md,
// "Security", has the same table. The files are made without the extension, so that they may hold what a
// newer SQLite refuses to create.
// HACKING.md has the command that runs it with another SQLite.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "tests/functions/models.h"

namespace glove::testing {
namespace {

enum Place { kView, kTrigger, kCheck, kDefault, kGenerated, kIndex, kPartialIndex, kPlaces };

struct PlaceText {
  const char* name;
  const char* create;  // %: an expression that calls the object
  const char* use;
};
constexpr PlaceText kPlaceTexts[kPlaces] = {
    {"view", "CREATE VIEW place AS SELECT % AS a", "SELECT a FROM place"},
    {"trigger", "CREATE TABLE place(a); CREATE TRIGGER r AFTER INSERT ON place BEGIN SELECT %; END",
     "INSERT INTO place VALUES (1)"},
    {"CHECK", "CREATE TABLE place(a, CHECK ((%) IS NOT a))", "INSERT INTO place VALUES (1234567)"},
    {"DEFAULT", "CREATE TABLE place(a, b DEFAULT (%))", "INSERT INTO place(a) VALUES (1)"},
    {"generated column", "CREATE TABLE place(a, b AS (%))",
     "INSERT INTO place(a) VALUES (1); SELECT b FROM place"},
    {"index", "CREATE TABLE place(a); CREATE INDEX i ON place(%)", "INSERT INTO place VALUES (1)"},
    {"partial index", "CREATE TABLE place(a); CREATE INDEX i ON place(a) WHERE (%) IS NOT a",
     "INSERT INTO place VALUES (1)"},
};

// Where an object works. An untrusted schema may use only what is innocuous.
enum class Works {
  kNowhere,
  kEverywhere,
  kEverywhereInnocuous,
  kInQueries,           // views and triggers
  kInQueriesInnocuous,  // the same
  kUnlessStored,        // not in generated columns and indexes, whose values must not change
};

constexpr int kGeneratedColumns = 3031000;  // and PRAGMA trusted_schema
constexpr int kLiveIndexes = 3026000;       // with PRAGMA table_xinfo

struct Object {
  const char* name;
  const char* expression;
  Works works;
};
constexpr Object kObjects[] = {
    {"glove_load", "glove_load('tiny.txt', 'loaded')", Works::kNowhere},
    {"glove_unload", "glove_unload('tiny')", Works::kNowhere},
    {"glove_load_table", "glove_load_table('loaded', 'SELECT 1, ''[1,2]''')", Works::kNowhere},
    {"glove_derive", "glove_derive('derived', '{\"center\":true}')", Works::kNowhere},
    {"glove_save", "glove_save('tiny', 'victim', '{\"overwrite\":true}')", Works::kNowhere},
    {"glove_config", "glove_config('threads', 3)", Works::kNowhere},
    {"glove_recall", "glove_recall('tiny', 'king', 1, 1)", Works::kNowhere},
    {"glove_repair", "glove_repair('doc_vec')", Works::kNowhere},
    {"glove_attach", "glove_attach()", Works::kNowhere},
    {"cos_sim", "cos_sim('king', 'queen')", Works::kEverywhere},
    {"dot_product", "dot_product('king', 'queen')", Works::kEverywhere},
    {"l2_distance", "l2_distance('king', 'queen')", Works::kEverywhere},
    {"glove_vec", "glove_vec('king')", Works::kEverywhere},
    {"glove_text_vec", "glove_text_vec('king')", Works::kEverywhere},
    {"glove_expand", "glove_expand('king', 1)", Works::kEverywhere},
    {"glove_oov", "glove_oov('king')", Works::kEverywhere},
    {"glove_project", "glove_project(NULL, NULL)", Works::kEverywhere},
    {"glove_atax", "glove_atax(NULL)", Works::kEverywhere},
    {"glove_convolve", "glove_convolve('[[1]]', '[[1]]')", Works::kEverywhereInnocuous},
    {"glove_f16", "glove_f16('[1]')", Works::kEverywhereInnocuous},
    {"glove_bf16", "glove_bf16('[1]')", Works::kEverywhereInnocuous},
    {"glove_i8", "glove_i8('[1]')", Works::kEverywhereInnocuous},
    {"glove_f32", "glove_f32('[1]', 'int8')", Works::kEverywhereInnocuous},
    {"glove_version", "glove_version()", Works::kUnlessStored},
    {"glove_encode", "glove_encode('king')", Works::kUnlessStored},
    {"glove_mean", "glove_mean('king')", Works::kInQueries},
    {"glove_density", "glove_density(1, 2)", Works::kInQueriesInnocuous},
    {"glove_svg", "glove_svg(1, 2, 'a', 'b')", Works::kInQueriesInnocuous},
    {"glove_keys", "glove_keys(1)", Works::kInQueriesInnocuous},
    {"glove_nn", "(SELECT count(*) FROM glove_nn('king', NULL, 1))", Works::kInQueries},
    {"glove_words", "(SELECT count(*) FROM glove_words)", Works::kInQueries},
    {"glove_models", "(SELECT count(*) FROM glove_models)", Works::kInQueries},
    {"glove_stats", "(SELECT count(*) FROM glove_stats)", Works::kInQueries},
    {"glove_kmeans", "(SELECT count(*) FROM glove_kmeans(1))", Works::kInQueries},
    {"glove_clusters", "(SELECT count(*) FROM glove_clusters(1))", Works::kInQueries},
    {"glove_pca", "(SELECT count(*) FROM glove_pca(1))", Works::kInQueries},
    {"glove_map",
     "(SELECT count(*) FROM glove_map('[\"king\",\"queen\",\"man\"]', NULL, NULL, '{\"method\":\"pca\"}'))",
     Works::kInQueries},
    {"glove_mmr", "(SELECT count(*) FROM glove_mmr('tiny', 'king'))", Works::kInQueries},
    {"glove_pairs", "(SELECT count(*) FROM glove_pairs('tiny') WHERE pairs = 1)", Works::kInQueries},
    {"glove_groups", "(SELECT count(*) FROM glove_groups('tiny', 0.5))", Works::kInQueries},
    {"glove_tokens", "(SELECT count(*) FROM glove_tokens('king'))", Works::kInQueries},
    {"glove_indexes", "(SELECT count(*) FROM glove_indexes)", Works::kInQueries},
    {"glove_index", "(SELECT count(*) FROM indexed WHERE query = '[1,1,1]')", Works::kInQueries},
};

bool works(const Object& object, Place place, bool trusted) {
  switch (object.works) {
    case Works::kNowhere:
      return false;
    case Works::kEverywhere:
      return trusted;
    case Works::kEverywhereInnocuous:
      return true;
    case Works::kInQueries:
      return trusted && place <= kTrigger;
    case Works::kInQueriesInnocuous:
      return place <= kTrigger;
    case Works::kUnlessStored:
      return trusted && place <= kDefault;
  }
  return false;
}

std::string bytes_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class SecurityTable : public TinyModelTest {
 protected:
  // Makes a file whose schema calls the object there. Returns the error, or nothing if that was possible.
  std::string make(const Object& object, Place place, const std::string& path) {
    std::string create = kPlaceTexts[place].create;
    std::string expression = object.expression;
    for (const char* const name : {"tiny.txt", "victim"})
      if (const size_t at = expression.find("'" + std::string(name) + "'"); at != std::string::npos)
        expression.replace(at + 1, std::string(name).size(), folder.path(name));
    create.replace(create.find('%'), 1, expression);
    if (std::string(object.name) == "glove_index")
      Connection(path).rows(
          "CREATE TABLE doc(id INTEGER PRIMARY KEY, e); INSERT INTO doc VALUES (1, '[1,2,3]');"
          "CREATE VIRTUAL TABLE indexed USING glove_index(content='doc', rowid='id', vector='e')");
    Connection maker(path, false);
    const auto returns_null = [](sqlite3_context* context, int, sqlite3_value**) {
      sqlite3_result_null(context);
    };
    sqlite3_create_function_v2(maker.handle(), object.name, -1,
                               SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, nullptr, returns_null,
                               nullptr, nullptr, nullptr);
    Rows none;
    return maker.run("PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY; " + create, none) == SQLITE_OK
               ? ""
               : sqlite3_errmsg(maker.handle());
  }

  // Uses what make() has made. Returns the error, or nothing if it worked.
  static std::string use(Place place, bool trusted, const std::string& path) {
    Connection victim(path);
    Rows rows;
    const std::string trust = std::string("PRAGMA trusted_schema = ") + (trusted ? "ON; " : "OFF; ");
    return victim.run(trust + kPlaceTexts[place].use, rows) == SQLITE_OK ? ""
                                                                         : sqlite3_errmsg(victim.handle());
  }
};

TEST_F(SecurityTable, ListsEveryObject) {
  if (sqlite3_libversion_number() < kGeneratedColumns) GTEST_SKIP() << "SQLite does not list its functions";
  Connection plain(":memory:", false);
  constexpr const char* kNames =
      "SELECT DISTINCT name FROM pragma_function_list UNION SELECT name FROM pragma_module_list";
  std::set<Row> expected, listed;
  for (const Row& row : connection.rows(kNames)) expected.insert(row);
  for (const Row& row : plain.rows(kNames)) expected.erase(row);
  for (const Object& object : kObjects) listed.insert({object.name});
  EXPECT_EQ(listed, expected);
  EXPECT_EQ(listed.size(), 43U);
}

// True if what happens depends on the SQLite: this one lacks something, or does not see that the schema is
// not trusted.
bool depends_on_version(const Object& object, Place place, bool trusted) {
  const int version = sqlite3_libversion_number();
  if (version < kGeneratedColumns && (place == kGenerated || !trusted)) return true;
  if (version < kLiveIndexes && std::string(object.name) == "glove_index") return true;
  return object.works == Works::kUnlessStored && place == kCheck && !trusted;
}

TEST_F(SecurityTable, IsWhatHappens) {
  const std::string victim = folder.write("victim", "precious");
  const Rows models = connection.rows("SELECT name, path FROM glove_models");
  const std::string threads = connection.value("SELECT glove_config('threads')");
  int number = 0;
  for (const Object& object : kObjects)
    for (int which = 0; which < kPlaces; ++which)
      for (const bool trusted : {true, false}) {
        const auto place = static_cast<Place>(which);
        if (depends_on_version(object, place, trusted)) continue;
        const std::string path = folder.path(std::to_string(number++));
        std::string error = make(object, place, path);
        if (error.empty()) error = use(place, trusted, path);
        const std::string what = std::string(object.name) + " in a " + kPlaceTexts[place].name +
                                 (trusted ? "" : " that is not trusted") + ": " + error;
        EXPECT_EQ(error.empty(), works(object, place, trusted)) << what;
        ASSERT_EQ(bytes_of_file(victim), "precious") << what;
        ASSERT_EQ(connection.rows("SELECT name, path FROM glove_models"), models) << what;
        ASSERT_EQ(connection.value("SELECT glove_config('threads')"), threads) << what;
      }
}

}  // namespace
}  // namespace glove::testing
