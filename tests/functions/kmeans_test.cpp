// glove_kmeans and glove_clusters as SQL sees them.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/functions/models.h"
#include "tests/share.h"

namespace glove::testing {
namespace {

// Six words around two directions, one word without a direction, and one more near the first.
constexpr const char* kGroups =
    "north 1 0\n"
    "northish 1 0.1\n"
    "nothing 0 0\n"
    "east 0 1\n"
    "eastish 0.1 1\n"
    "Northern 1 -0.1\n"
    "eastern -0.1 1\n"
    "far 9 1\n";

class KMeansTables : public ::testing::Test {
 protected:
  void SetUp() override {
    unload_all(connection);
    connection.rows("SELECT glove_load(" + sql_text(folder.write("groups.txt", kGroups)) + ", 'groups')");
  }
  void TearDown() override { unload_all(connection); }

  TemporaryFolder folder;
  Connection connection;
};

TEST_F(KMeansTables, GiveTheClusterOfEachWord) {
  EXPECT_EQ(connection.rows("SELECT word, cluster FROM glove_kmeans(2)"), (Rows{{"north", "1"},
                                                                                {"northish", "1"},
                                                                                {"east", "2"},
                                                                                {"eastish", "2"},
                                                                                {"Northern", "1"},
                                                                                {"eastern", "2"},
                                                                                {"far", "1"}}));
  EXPECT_EQ(connection.rows("SELECT cluster, size, label, converged FROM glove_clusters(2)"),
            (Rows{{"1", "4", "north", "1"}, {"2", "3", "east", "1"}}));
  EXPECT_EQ(connection.value("SELECT count(*) FROM glove_kmeans(2) WHERE similarity > 0.98 AND "
                             "abs(distance - (1 - similarity)) < 1e-12 AND silhouette > 0.9"),
            "7");
}

TEST_F(KMeansTables, TheEuclideanMetricHasZeroRowsAndLengths) {
  EXPECT_EQ(connection.rows("SELECT word, similarity IS NULL FROM glove_kmeans(2, NULL, NULL, NULL, "
                            "'{\"metric\":\"euclidean\"}') WHERE cluster = 2 OR word = 'nothing'"),
            (Rows{{"nothing", "1"}, {"far", "0"}}));
  EXPECT_EQ(connection.value("SELECT similarity IS NULL FROM glove_kmeans(8, NULL, NULL, NULL, "
                             "'{\"metric\":\"euclidean\"}') WHERE word = 'nothing'"),
            "1");
}

TEST_F(KMeansTables, WordsChooseTheRows) {
  EXPECT_EQ(connection.rows("SELECT word FROM glove_kmeans(1, 2)"), (Rows{{"north"}, {"northish"}}));
  EXPECT_EQ(connection.rows("SELECT word FROM glove_kmeans(1, '2')"), (Rows{{"north"}, {"northish"}}));
  EXPECT_EQ(connection.value("SELECT count(*) FROM glove_kmeans(1, 1000)"), "7");
  EXPECT_EQ(connection.rows("SELECT word, cluster FROM glove_kmeans(2, '[\"eastern\",null,\"EAST\",\"west\","
                            "\"north\",\"eastern\"]')"),
            (Rows{{"north", "2"}, {"east", "1"}, {"eastern", "1"}}));
  EXPECT_EQ(connection.value("SELECT count(*) FROM glove_kmeans(2, '[]')"), "0");
  EXPECT_EQ(connection.value("SELECT count(*) FROM glove_clusters(2, 0)"), "0");
}

TEST_F(KMeansTables, JoinWithTablesAndWithEachOther) {
  connection.rows(
      "CREATE TABLE item(tag TEXT); "
      "INSERT INTO item VALUES ('east'), ('north'), (NULL), ('eastern'), ('unknown')");
  constexpr const char* kTags = "(SELECT json_group_array(tag) FROM item)";
  EXPECT_EQ(connection.rows(std::string("SELECT i.tag, m.cluster FROM item i LEFT JOIN glove_kmeans(2, ") +
                            kTags + ") m ON m.word = i.tag"),
            (Rows{{"east", "1"}, {"north", "2"}, {"NULL", "NULL"}, {"eastern", "1"}, {"unknown", "NULL"}}));
  EXPECT_EQ(
      connection.rows("SELECT c.label, group_concat(m.word) FROM (SELECT json_group_array(tag) w FROM item) "
                      "t, glove_kmeans(2, t.w) m JOIN glove_clusters(2, t.w) c ON c.cluster = m.cluster "
                      "GROUP BY c.cluster"),
      (Rows{{"east", "east,eastern"}, {"north", "north"}}));
}

TEST_F(KMeansTables, LookupsGiveTheRowsOfAScan) {
  const Rows all = connection.rows("SELECT word, cluster, similarity FROM glove_kmeans(3)");
  ASSERT_EQ(all.size(), 7u);
  for (const Row& row : all)
    EXPECT_EQ(connection.rows("SELECT word, cluster, similarity FROM glove_kmeans(3) WHERE word = " +
                              sql_text(row[0])),
              Rows{row});
  EXPECT_EQ(connection.value("SELECT count(*) FROM glove_kmeans(3) WHERE word = 'NORTH'"), "0");
  EXPECT_EQ(connection.value("SELECT count(*) FROM glove_kmeans(3) WHERE word = 'NORTH' COLLATE NOCASE"),
            "1");
  EXPECT_EQ(connection.value("SELECT count(*) FROM glove_kmeans(3) WHERE word IN ('east', 'north', 5)"), "2");
  EXPECT_EQ(connection.value("SELECT count(*) FROM glove_kmeans(3) WHERE word = 'nothing'"), "0");
  EXPECT_EQ(connection.value("SELECT count(*) FROM glove_kmeans(3) WHERE word = NULL"), "0");
  for (const char* value : {"1", "2", "3", "4", "0", "-1", "1.0", "1.5", "NULL", "9223372036854775807"}) {
    const std::string condition = std::string("cluster = ") + value;
    EXPECT_EQ(connection.rows("SELECT word FROM glove_kmeans(3) WHERE " + condition),
              connection.rows("SELECT word FROM glove_kmeans(3) WHERE +" + condition))
        << condition;
    EXPECT_EQ(connection.rows("SELECT label FROM glove_clusters(3) WHERE " + condition),
              connection.rows("SELECT label FROM glove_clusters(3) WHERE +" + condition))
        << condition;
  }
}

TEST_F(KMeansTables, EachCombinationOfInputsHasItsOwnRows) {
  EXPECT_EQ(connection.rows("SELECT k, count(*) FROM glove_clusters WHERE k IN (1, 2, 3) GROUP BY k"),
            (Rows{{"1", "1"}, {"2", "2"}, {"3", "3"}}));
  EXPECT_EQ(connection.value(
                "SELECT count(*) FROM glove_kmeans WHERE (k = 2 AND words = 4) OR (k = 1 AND words = 2)"),
            "5");
  EXPECT_EQ(
      connection.rows("SELECT DISTINCT k, words, model, options FROM glove_kmeans(2, 4, 'groups', NULL, "
                      "'{\"seed\":3}')"),
      (Rows{{"2", "4", "groups", "{\"seed\":3}"}}));
}

TEST_F(KMeansTables, KeepTheirFits) {
  const std::string count = "SELECT count(*) FROM glove_stats WHERE kind = 'kmeans'";
  const int before = std::stoi(connection.value(count));
  connection.rows("SELECT * FROM glove_kmeans(2, 5)");
  connection.rows("SELECT * FROM glove_kmeans(2, 5, 'groups')");
  connection.rows("SELECT * FROM glove_clusters(2, 5)");
  EXPECT_EQ(std::stoi(connection.value(count)), before + 1);
  connection.rows("SELECT * FROM glove_kmeans(2, 5, NULL, NULL, '{\"seed\":1}')");
  EXPECT_EQ(std::stoi(connection.value(count)), before + 2);
  connection.rows("SELECT glove_load(" + sql_text(folder.path("groups.txt")) + ", 'groups')");
  connection.rows("SELECT * FROM glove_kmeans(2, 5)");
  EXPECT_EQ(std::stoi(connection.value(count)), before + 3);
}

// The centroids as a model assign each word to its cluster.
TEST_F(KMeansTables, CentroidsMakeAModel) {
  connection.rows(
      "SELECT glove_load_table('topics', 'SELECT cluster, centroid FROM glove_clusters WHERE k = 2 AND model "
      "= "
      "''groups''')");
  EXPECT_EQ(
      connection.value("SELECT count(*) FROM glove_kmeans(2, NULL, 'groups') m JOIN glove_words w "
                       "ON w.word = m.word AND w.model = 'groups' JOIN glove_nn n ON n.expr = w.vector AND "
                       "n.model = 'topics' AND n.k = 1 WHERE n.neighbor = m.cluster"),
      "7");
}

TEST_F(KMeansTables, KeysOfATableAreWords) {
  connection.rows(
      "SELECT glove_load_table('rows', 'SELECT 10 AS id, ''[1,0]'' UNION ALL SELECT 20, ''[0,1]'' UNION "
      "ALL SELECT 30, ''[1,0.1]''')");
  EXPECT_EQ(
      connection.rows("SELECT word, typeof(word), cluster FROM glove_kmeans(2, '[30, 20, 10]', 'rows')"),
      (Rows{{"10", "integer", "1"}, {"20", "integer", "2"}, {"30", "integer", "1"}}));
  EXPECT_EQ(connection.value("SELECT cluster FROM glove_kmeans(2, NULL, 'rows') WHERE word = 30"), "1");
}

TEST_F(KMeansTables, ErrorsNameTheInput) {
  const auto error = [&](const std::string& arguments) {
    return connection.error("SELECT * FROM glove_kmeans(" + arguments + ")");
  };
  EXPECT_EQ(error("2.5"), "glove_kmeans: k must be an integer, but is 2.5");
  EXPECT_EQ(error("'many'"), "glove_kmeans: k must be an integer, but is 'many'");
  EXPECT_EQ(error("x'00'"), "glove_kmeans: k must be an integer, but is a BLOB");
  EXPECT_EQ(error("NULL"), "glove_kmeans: k must be the number of clusters, but is NULL");
  EXPECT_EQ(error("0"), "glove_kmeans: k must be at least 1, but is 0");
  EXPECT_EQ(error("8"), "glove_kmeans: k is 8, but there are only 7 rows that have a direction");
  const std::string words =
      ", but must be a non-negative integer n (the first n words), a JSON array of words such as "
      "json_group_array(tag) returns, or NULL (all words)";
  EXPECT_EQ(error("2, 'x'"), "glove_kmeans: words is 'x'" + words);
  EXPECT_EQ(error("2, -1"), "glove_kmeans: words is -1" + words);
  EXPECT_EQ(error("2, 2.5"), "glove_kmeans: words is 2.5" + words);
  EXPECT_EQ(error("2, ''"), "glove_kmeans: words is ''" + words);
  EXPECT_EQ(error("2, '{}'"), "glove_kmeans: words is '{}'" + words);
  EXPECT_EQ(error("2, '[\"a\", [1]]'"),
            "glove_kmeans: element 2 of words must be a word or NULL, but has the JSON type array");
  EXPECT_EQ(error("2, 5, 'nosuch'"), "there is no model 'nosuch'; the loaded models are: 'groups'");
  const std::string choices = connection.error("SELECT glove_config('backend', '?')");
  const size_t first = choices.find("auto");
  EXPECT_EQ(error("2, 5, NULL, 'abacus'"), "glove_kmeans: there is no backend 'abacus'; the backends are: " +
                                               choices.substr(first, choices.find(')') - first));
  const auto option = [&](const std::string& json) { return error("2, 5, NULL, NULL, " + sql_text(json)); };
  EXPECT_EQ(option("[]"),
            "glove_kmeans: the options must be a JSON object such as {\"seed\":1}, but are: []");
  EXPECT_EQ(
      option("{\"metrik\":1}"),
      "glove_kmeans: unknown option \"metrik\"; the options are: metric, init, seed, n_init, max_iter, tol");
  EXPECT_EQ(option("{\"metric\":\"l1\"}"),
            "glove_kmeans: option \"metric\" is \"l1\", but must be \"cosine\" or \"euclidean\"");
  EXPECT_EQ(option("{\"init\":1}"),
            "glove_kmeans: option \"init\" is 1, but must be \"auto\", \"k-means++\" or \"random\"");
  EXPECT_EQ(option("{\"seed\":-1}"),
            "glove_kmeans: option \"seed\" is -1, but must be a non-negative integer");
  EXPECT_EQ(option("{\"n_init\":0}"), "glove_kmeans: option \"n_init\" is 0, but must be a positive integer");
  EXPECT_EQ(option("{\"tol\":[]}"),
            "glove_kmeans: option \"tol\" is an array, but must be a number from 0 to 1");
  EXPECT_EQ(connection.error("SELECT * FROM glove_clusters"),
            "glove_clusters needs its input k; give it as an argument or in a condition of its own with =, "
            "IS or IN (in an outer join, in the ON clause)");
  EXPECT_EQ(connection.error("SELECT words FROM glove_kmeans(2)").substr(0, 56),
            "glove_kmeans: SQLite passed no value for the input words");
}

// A progress handler that asks to stop, and that SQLite calls only if the statement below takes many steps or
// the library looks for interrupts itself.
class StopAtOnce {
 public:
  explicit StopAtOnce(sqlite3* db) : db_(db) {
    sqlite3_progress_handler(
        db, 1000, [](void*) { return 1; }, nullptr);
  }
  ~StopAtOnce() { sqlite3_progress_handler(db_, 0, nullptr, nullptr); }

 private:
  sqlite3* db_;
};

// Long arrays, which end in an element that is an error once it is read.
TEST_F(KMeansTables, AnInterruptEndsTheReadingOfWords) {
  const std::string array = "'[' || replace(hex(zeroblob(400000)), '00', '\"east\",') || 'true]'";
  const std::string fault = "element 400001 of words must be a word or NULL, but has the JSON type boolean";
  for (const std::string& statement :
       {"SELECT count(*) FROM glove_kmeans(2, " + array + ")",
        "SELECT count(*) FROM glove_pca(1, " + array + ")", "SELECT count(*) FROM glove_map(" + array + ")",
        "SELECT glove_derive('new', '{\"words\":' || " + array + " || '}')"}) {
    const std::string message = connection.error(statement);
    EXPECT_EQ(message.substr(message.find(": ") + 2), fault);
    const StopAtOnce stop(connection.handle());
    Rows rows;
    EXPECT_EQ(connection.run(statement, rows), SQLITE_INTERRUPT) << statement;
  }
}

TEST_F(KMeansTables, AMillionRowsOfAUser) {
  constexpr int64_t quarter = 250000 / test::kShare;
  connection.rows(
      "SELECT glove_load_table('rows', 'WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE "
      "i < " +
      std::to_string(4 * quarter) +
      ") SELECT i, iif(i % 4, x''0000803f0000003f'', x''0000003f0000803f'') FROM c')");
  EXPECT_EQ(connection.rows("SELECT cluster, size, converged FROM glove_clusters(2, NULL, 'rows')"),
            (Rows{{"1", std::to_string(3 * quarter), "1"}, {"2", std::to_string(quarter), "1"}}));
  EXPECT_EQ(connection.value(
                "SELECT count(*) FROM glove_kmeans(2, NULL, 'rows') WHERE (cluster = 2) = (word % 4 = 0)"),
            std::to_string(4 * quarter));
}

TEST_F(KMeansTables, AnInterruptEndsAFit) {
  connection.rows(
      "SELECT glove_load_table('many', 'WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c "
      "WHERE i < 30000) SELECT i, json_array(random() % 1000, random() % 1000, random() % 1000, random() "
      "% 1000, 1) FROM c')");
  std::atomic<bool> done = false;
  std::thread interrupter([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    while (!done) {
      sqlite3_interrupt(connection.handle());
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  Rows rows;
  const int code = connection.run(
      "SELECT count(*) FROM glove_kmeans(2000, NULL, 'many', NULL, '{\"tol\":0,\"n_init\":1000}')", rows);
  done = true;
  interrupter.join();
  EXPECT_EQ(code, SQLITE_INTERRUPT);
  EXPECT_EQ(connection.value("SELECT count(*) FROM glove_kmeans(2, NULL, 'groups')"), "7");
}

}  // namespace
}  // namespace glove::testing
