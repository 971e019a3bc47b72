// Forms of SQL that other search tables answer wrongly or not at all. They must return the same rows as over
// an ordinary table or, if SQLite offers no plan, a message.
#include "tests/sql/nn_test.h"

namespace glove::testing {
namespace {

using Shapes = NnTest;

TEST_F(Shapes, 01_TwoSearchesJoinedByOrEachWithItsOwnRange) {
  expect_same(
      "SELECT word, neighbor, rank FROM glove_nn WHERE (word = 'king' AND rank <= 3) OR (word = 'man' AND "
      "rank "
      "<= 2) "
      "ORDER BY word, rank",
      "SELECT word, neighbor, rank FROM r WHERE (word = 'king' AND rank <= 3) OR (word = 'man' AND rank <= "
      "2) "
      "ORDER BY word, rank");
  expect_same(
      "SELECT word, neighbor, rank FROM glove_nn WHERE (word = 'king' AND rank <= 3) OR (word = 'king' AND "
      "rank "
      ">= 2) "
      "ORDER BY word, rank",
      "SELECT word, neighbor, rank FROM r WHERE word = 'king' ORDER BY word, rank");
}

TEST_F(Shapes, 02_ABatchAndAnOrOverItsRows) {
  expect_same(
      "SELECT word, neighbor, rank FROM glove_nn WHERE word IN (SELECT word FROM glove_words WHERE id < 4) "
      "AND "
      "(rank <= 3 OR similarity > 0.8) ORDER BY word, rank",
      "SELECT word, neighbor, rank FROM r WHERE word IN ('the', 'king', 'queen', 'man') AND "
      "(rank <= 3 OR similarity > 0.8) ORDER BY word, rank");
}

// SQLite applies LIMIT itself, and counts the rows that its own conditions keep.
TEST_F(Shapes, 03_LimitWithConditionsThatSQLiteChecks) {
  expect_same(
      "SELECT neighbor FROM glove_nn('king') WHERE neighbor = lower(neighbor) LIMIT 3",
      "SELECT neighbor FROM r WHERE word = 'king' AND neighbor = lower(neighbor) ORDER BY rank LIMIT 3");
  expect_same("SELECT neighbor FROM glove_nn('king') WHERE similarity < 0.5 LIMIT 2",
              "SELECT neighbor FROM r WHERE word = 'king' AND similarity < 0.5 ORDER BY rank LIMIT 2");
  expect_same(
      "SELECT neighbor FROM glove_nn('king') WHERE (rank, neighbor) >= (3, 'q') LIMIT 2",
      "SELECT neighbor FROM r WHERE word = 'king' AND (rank, neighbor) >= (3, 'q') ORDER BY rank LIMIT 2");
  expect_same("SELECT neighbor FROM glove_nn('king') LIMIT 3 OFFSET 2",
              "SELECT neighbor FROM r WHERE word = 'king' ORDER BY rank LIMIT 3 OFFSET 2");
}

TEST_F(Shapes, 04_LimitOverUnionAll) {
  expect_same(
      "SELECT neighbor FROM glove_nn('king') UNION ALL SELECT neighbor FROM glove_nn('man') LIMIT 12 OFFSET "
      "8",
      "SELECT * FROM (SELECT neighbor FROM r WHERE word = 'king' ORDER BY rank) UNION ALL "
      "SELECT * FROM (SELECT neighbor FROM r WHERE word = 'man' ORDER BY rank) LIMIT 12 OFFSET 8");
}

TEST_F(Shapes, 05_JoinsOverOtherCollationsAndTypes) {
  db.rows("CREATE TEMP TABLE u(nocase TEXT COLLATE NOCASE, number INTEGER, bytes BLOB)");
  db.rows("INSERT INTO u VALUES ('PARIS', 5, x'5061726973'), ('Queen', 7, x'35'), ('5', 1, 'paris')");
  for (const char* condition :
       {"n.neighbor = u.nocase", "u.nocase = n.neighbor", "n.neighbor = u.number", "u.number = n.neighbor",
        "n.neighbor = u.bytes", "n.neighbor IN (SELECT number FROM u)",
        "n.neighbor IN (SELECT nocase FROM u)", "n.neighbor COLLATE NOCASE IN (SELECT nocase FROM u)",
        "n.neighbor IN (5, 'man')"})
    expect_same("SELECT n.neighbor, n.rank, u.nocase FROM glove_nn('king') n, u WHERE " +
                    std::string(condition) + " ORDER BY n.rank, u.nocase",
                "SELECT n.neighbor, n.rank, u.nocase FROM r n, u WHERE n.word = 'king' AND " +
                    std::string(condition) + " ORDER BY n.rank, u.nocase");
}

// A word is compared as a number with a number: 5 is equal to both '5' and '05'.
TEST_F(Shapes, 06_AWordThatIsComparedAsANumber) {
  EXPECT_EQ(db.rows("SELECT neighbor FROM glove_nn('king') WHERE neighbor = CAST('5' AS NUMERIC)"),
            (Rows{{"5"}, {"05"}}));
  EXPECT_EQ(db.rows("SELECT neighbor FROM glove_nn('king') WHERE neighbor IN (SELECT CAST('5' AS NUMERIC))"),
            (Rows{{"5"}, {"05"}}));
  EXPECT_EQ(db.rows("SELECT neighbor FROM glove_nn('king') WHERE neighbor = '5'"), (Rows{{"5"}}));
}

// SQLite omits its own check of an argument for 16 conditions only, and NULL = NULL is not true.
TEST_F(Shapes, 07_ANullArgumentAndTwelveMoreConditions) {
  std::string more;
  for (int i = 1; i <= 12; ++i) more += " AND n.rank < " + std::to_string(1000 + i);
  EXPECT_EQ(db.rows("SELECT neighbor FROM glove_nn('king', NULL, 2) n WHERE 1" + more),
            (Rows{{"queen"}, {"Paris"}}));
  for (int i = 13; i <= 16; ++i) more += " AND n.rank < " + std::to_string(1000 + i);
  EXPECT_EQ(
      db.error("SELECT neighbor FROM glove_nn('king', NULL, 2) n WHERE 1" + more),
      "glove_nn: the input expr is NULL, which counts as not given, so it can be neither read nor compared. "
      "Beside an OR or 16 other conditions SQLite compares it itself; omit the condition there");
  EXPECT_EQ(db.rows("SELECT neighbor FROM glove_nn('king') n WHERE n.k = 2" + more),
            (Rows{{"queen"}, {"Paris"}}));
}

TEST_F(Shapes, 08_ACommonTableUsedTwice) {
  for (const char* how : {"AS", "AS MATERIALIZED", "AS NOT MATERIALIZED"})
    expect_same(
        "WITH c " + std::string(how) +
            " (SELECT neighbor, rank FROM glove_nn WHERE word IN ('king', 'man') AND "
            "k IN (2, 3)) SELECT x.neighbor, y.neighbor FROM c x JOIN c y ON x.rank = y.rank ORDER BY 1, 2",
        "WITH c AS (SELECT neighbor, rank FROM r WHERE word IN ('king', 'man') AND rank <= 2 UNION ALL "
        "SELECT neighbor, rank FROM r WHERE word IN ('king', 'man') AND rank <= 3) "
        "SELECT x.neighbor, y.neighbor FROM c x JOIN c y ON x.rank = y.rank ORDER BY 1, 2");
}

TEST_F(Shapes, 09_InputsFromAnotherTable) {
  db.rows("CREATE TEMP TABLE t(id INTEGER PRIMARY KEY, tag TEXT, k INTEGER)");
  db.rows("INSERT INTO t(tag, k) VALUES ('king', 2), ('man', 1), ('nobody', 3), ('paris', NULL)");
  const std::string ordinary =
      "SELECT t.id, n.neighbor FROM t JOIN r n ON n.word = t.tag AND (t.k IS NULL OR n.rank <= t.k) "
      "ORDER BY t.id, n.rank";
  expect_same(
      "SELECT t.id, n.neighbor FROM t JOIN glove_nn n ON n.word = t.tag AND n.k = t.k ORDER BY t.id, n.rank",
      ordinary);
  expect_same("SELECT t.id, n.neighbor FROM t, glove_nn(t.tag, NULL, t.k) n ORDER BY t.id, n.rank", ordinary);
  expect_same("SELECT t.id, n.neighbor FROM glove_nn(t.tag, NULL, t.k) n, t ORDER BY t.id, n.rank", ordinary);
}

TEST_F(Shapes, 10_NeighboursOfNeighbours) {
  expect_same(
      "SELECT a.neighbor, b.neighbor FROM glove_nn('king', NULL, 2) a, glove_nn(a.neighbor, NULL, 2) b ORDER "
      "BY a.rank, "
      "b.rank",
      "SELECT a.neighbor, b.neighbor FROM r a, r b WHERE a.word = 'king' AND a.rank <= 2 AND b.word = "
      "a.neighbor AND "
      "b.rank <= 2 ORDER BY a.rank, b.rank");
}

TEST_F(Shapes, 11_SubqueriesOfEveryKind) {
  db.rows("CREATE TEMP TABLE t(tag TEXT)");
  db.rows("INSERT INTO t VALUES ('king'), ('man'), ('far'), ('nobody')");
  expect_same(
      "SELECT tag FROM t WHERE EXISTS (SELECT 1 FROM glove_nn(t.tag) n WHERE n.similarity > 0.9)",
      "SELECT tag FROM t WHERE EXISTS (SELECT 1 FROM r n WHERE n.word = t.tag AND n.similarity > 0.9)");
  expect_same(
      "SELECT tag FROM t WHERE tag NOT IN (SELECT neighbor FROM glove_nn('king', NULL, 8))",
      "SELECT tag FROM t WHERE tag NOT IN (SELECT neighbor FROM r WHERE word = 'king' AND rank <= 8)");
  expect_same(
      "SELECT tag, (SELECT neighbor FROM glove_nn n WHERE n.word = t.tag ORDER BY n.rank LIMIT 1 OFFSET 1) "
      "FROM "
      "t",
      "SELECT tag, (SELECT neighbor FROM r n WHERE n.word = t.tag ORDER BY n.rank LIMIT 1 OFFSET 1) FROM t");
  expect_same("SELECT neighbor, rank, sum(rank) OVER (ORDER BY rank) FROM glove_nn('king')",
              "SELECT neighbor, rank, sum(rank) OVER (ORDER BY rank) FROM r WHERE word = 'king'");
}

TEST_F(Shapes, 12_ViewsAndTriggers) {
  db.rows("CREATE TEMP VIEW royal AS SELECT neighbor, rank FROM glove_nn('king')");
  expect_same("SELECT neighbor FROM royal WHERE rank < 4",
              "SELECT neighbor FROM r WHERE word = 'king' AND rank < 4 ORDER BY rank");
  db.rows(
      "CREATE TEMP TABLE asked(tag TEXT); CREATE TEMP TABLE found(tag TEXT, word TEXT);"
      "CREATE TEMP TRIGGER answer AFTER INSERT ON asked BEGIN "
      "INSERT INTO found SELECT new.tag, neighbor FROM glove_nn(new.tag, NULL, 1); END");
  db.rows("INSERT INTO asked VALUES ('king'), ('man')");
  EXPECT_EQ(db.rows("SELECT * FROM found"), (Rows{{"king", "queen"}, {"man", "5"}}));
}

TEST_F(Shapes, 13_BothDirectionsOfEveryOrder) {
  for (const char* order :
       {"rank", "rank DESC", "similarity DESC, rank", "similarity, rank DESC", "neighbor", "neighbor DESC"})
    expect_same("SELECT neighbor FROM glove_nn('king') ORDER BY " + std::string(order),
                "SELECT neighbor FROM r WHERE word = 'king' ORDER BY " + std::string(order));
}

// There is no plan if the value of word is behind an outer join, or in a table that CROSS JOIN puts later.
TEST_F(Shapes, 14_WhatCannotBePlannedSaysSo) {
  db.rows("CREATE TEMP TABLE t(tag TEXT); INSERT INTO t VALUES ('king')");
  for (const char* sql :
       {"SELECT * FROM glove_nn n CROSS JOIN t ON n.word = t.tag",
        "SELECT * FROM glove_nn n LEFT JOIN t ON n.word = t.tag",
        "SELECT * FROM t LEFT JOIN glove_nn n ON n.k = 1 WHERE n.word IS t.tag",
        "SELECT * FROM glove_nn a, glove_nn b WHERE a.word = b.neighbor AND b.word = a.neighbor",
        "SELECT * FROM glove_nn WHERE word = 'king' OR rank = 1"}) {
    const std::string message = db.error(sql);
    EXPECT_TRUE(message.starts_with("glove_nn has no query: ") ||
                message.starts_with("glove_nn cannot read its input word: "))
        << sql << "\n"
        << message;
  }
  EXPECT_EQ(
      db.error("SELECT * FROM glove_nn a, glove_nn b WHERE a.word = b.neighbor AND b.word = a.neighbor"),
      "glove_nn cannot read its input word: SQLite found no table order in which its value is known before "
      "the search; give it as an argument or in a condition of its own with =, IS or IN (in an outer join, "
      "in the ON clause), for example FROM items i CROSS JOIN glove_nn n ON n.word = i.word");
}

TEST_F(Shapes, 15_BoundParameters) {
  sqlite3_stmt* statement = nullptr;
  ASSERT_EQ(sqlite3_prepare_v2(db.handle(),
                               "SELECT neighbor FROM glove_nn WHERE word = ?1 AND k = ?2 AND rank >= ?3", -1,
                               &statement, nullptr),
            SQLITE_OK);
  const auto ask = [&](const char* word, double k, int from) {
    sqlite3_reset(statement);
    sqlite3_bind_text(statement, 1, word, -1, SQLITE_STATIC);
    sqlite3_bind_double(statement, 2, k);
    sqlite3_bind_int(statement, 3, from);
    std::string words;
    while (sqlite3_step(statement) == SQLITE_ROW)
      words += std::string(reinterpret_cast<const char*>(sqlite3_column_text(statement, 0))) + ' ';
    return words;
  };
  EXPECT_EQ(ask("king", 3, 2), "Paris paris ");
  EXPECT_EQ(ask("man", 1, 1), "5 ");
  EXPECT_EQ(ask(nullptr, 1, 1), "");
  sqlite3_finalize(statement);
}

// Text in UTF-16 sorts by other bytes than in UTF-8.
TEST_F(Shapes, 16_DatabasesInUtf16) {
  db.rows("SELECT glove_load(" + sql_text(folder.write("u.txt", "z 1 0\nĀ 1 1\né 0 1\n漢 1 2\n")) + ", 'u')");
  Connection utf16;
  utf16.rows(
      "PRAGMA encoding = 'UTF-16le'; CREATE TABLE t(tag TEXT); INSERT INTO t VALUES ('z'), ('Ā'), ('é'), "
      "('漢')");
  const Rows expected = utf16.rows("SELECT tag FROM t ORDER BY tag");
  EXPECT_NE(expected, db.rows("SELECT word FROM glove_words WHERE model = 'u' ORDER BY word"));
  EXPECT_EQ(utf16.rows("SELECT word FROM glove_nn WHERE word IN (SELECT tag FROM t) AND k = 1 AND model = "
                       "'u' ORDER BY word"),
            expected);
  EXPECT_EQ(utf16.rows("SELECT neighbor FROM glove_nn WHERE word = 'z' AND model = 'u' AND neighbor = 'Ā'"),
            (Rows{{"Ā"}}));
}

// SQLite does not pass some of these on, depending on its version; the message then says so.
TEST_F(Shapes, 17_RowValues) {
  const std::string sql =
      "SELECT word, neighbor, rank FROM glove_nn WHERE (word, neighbor) IN (VALUES ('king', 'paris'), "
      "('man', "
      "'the')) "
      "ORDER BY word";
  if (sqlite3_libversion_number() < 3041000) {
    EXPECT_TRUE(db.error(sql).starts_with("glove_nn has no query: "));
  }
  expect_same(
      "SELECT neighbor, rank FROM glove_nn('king') WHERE (neighbor, rank) IN (VALUES ('queen', 1), ('Paris', "
      "3)) "
      "ORDER BY rank",
      "SELECT neighbor, rank FROM r WHERE word = 'king' AND (neighbor, rank) IN (VALUES ('queen', 1), "
      "('Paris', 3)) "
      "ORDER BY rank");
}

// If text is UTF-16, bytes that are not valid UTF-8 become U+FFFD, and equal it.
TEST_F(Shapes, 18_WordsThatAreNoUtf8InUtf16) {
  db.rows("SELECT glove_load(" + sql_text(folder.write("u.txt", "z 1 0\na\xff 1 1\na\xef\xbf\xbd 1 2\n")) +
          ", 'u', '{\"invalid_utf8\":\"keep\"}')");
  Connection utf16;
  utf16.rows(
      "PRAGMA encoding = 'UTF-16le'; CREATE TABLE t(tag TEXT); INSERT INTO t VALUES (char(97, 65533))");
  const std::string relation = "FROM glove_nn WHERE word = 'z' AND model = 'u' AND ";
  for (const char* condition : {"neighbor = char(97, 65533)", "neighbor IN (char(97, 65533), 'b')",
                                "neighbor IN (SELECT tag FROM t)"}) {
    EXPECT_EQ(utf16.rows("SELECT rank " + relation + condition + " ORDER BY rank"), (Rows{{"1"}, {"2"}}))
        << condition;
    EXPECT_EQ(utf16.value("SELECT count(similarity) " + relation + condition), "2") << condition;
  }
  EXPECT_EQ(db.rows("SELECT rank " + relation + "neighbor = char(97, 65533)"), (Rows{{"2"}}));
}

// PRAGMA encoding has effect until the first table is made, even after the extension's tables were used.
TEST_F(Shapes, 19_TheEncodingChangesAfterTheFirstUse) {
  db.rows("SELECT glove_load(" +
          sql_text(folder.write("u.txt", "z 1 0\n\xef\xbf\xb0 1 1\n\xf0\x9f\x98\x80 1 2\n")) + ", 'u')");
  Connection other;
  const std::string batch =
      "SELECT word FROM glove_nn WHERE word IN (SELECT word FROM glove_words('u')) AND k = 1 AND model = 'u' "
      "ORDER BY word";
  const std::string words = "SELECT word FROM glove_words('u') ORDER BY word";
  const std::string range = "SELECT word FROM glove_words('u') WHERE word > char(65520)";
  EXPECT_EQ(other.rows(batch), (Rows{{"z"}, {"\xef\xbf\xb0"}, {"\xf0\x9f\x98\x80"}}));
  EXPECT_EQ(other.rows(words), other.rows(batch));
  EXPECT_EQ(other.rows(range), (Rows{{"\xf0\x9f\x98\x80"}}));
  other.rows("PRAGMA encoding = 'UTF-16be'");
  EXPECT_EQ(other.rows(batch), (Rows{{"z"}, {"\xf0\x9f\x98\x80"}, {"\xef\xbf\xb0"}}));
  EXPECT_EQ(other.rows(words), other.rows(batch));
  EXPECT_EQ(other.rows(range), Rows{});
}

TEST_F(Shapes, 20_ValuesWithOneTextAreOneQueryOfABatch) {
  if (sqlite3_libversion_number() < 3038000) GTEST_SKIP() << "SQLite before 3.38 asks for them one by one";
  db.rows(
      "CREATE TEMP TABLE mixed(v); INSERT INTO mixed VALUES (5), ('5'), (5.0), ('nobody'), (NULL), ('5')");
  expect_same("SELECT word, neighbor, rank FROM glove_nn WHERE word IN (SELECT v FROM mixed) ORDER BY rank",
              "SELECT word, neighbor, rank FROM r WHERE word = '5' ORDER BY rank");
}

// Before 3.53 SQLite does not pass arguments on the right of a RIGHT JOIN on; the message does not repeat
// them.
TEST_F(Shapes, 21_RightAndFullJoins) {
  if (sqlite3_libversion_number() < 3039000) GTEST_SKIP() << "SQLite has RIGHT JOIN since 3.39";
  db.rows("CREATE TEMP TABLE t(tag TEXT); INSERT INTO t VALUES ('queen'), ('far'), ('nobody')");
  const std::pair<const char*, const char*> joins[] = {
      {"glove_nn('king') n RIGHT JOIN t ON t.tag = n.neighbor", "k n RIGHT JOIN t ON t.tag = n.neighbor"},
      {"(SELECT * FROM glove_nn('king')) n RIGHT JOIN t ON t.tag = n.neighbor",
       "k n RIGHT JOIN t ON t.tag = n.neighbor"},
      {"t RIGHT JOIN (SELECT * FROM glove_nn('king')) n ON t.tag = n.neighbor",
       "t RIGHT JOIN k n ON t.tag = n.neighbor"},
      {"t FULL JOIN (SELECT * FROM glove_nn('king')) n ON t.tag = n.neighbor",
       "t FULL JOIN k n ON t.tag = n.neighbor"}};
  for (const auto& [ours, ordinary] : joins)
    expect_same("SELECT t.tag, n.neighbor, n.rank FROM " + std::string(ours) + " ORDER BY 3, 1",
                "WITH k AS (SELECT * FROM r WHERE word = 'king') SELECT t.tag, n.neighbor, n.rank FROM " +
                    std::string(ordinary) + " ORDER BY 3, 1");
  const std::string message =
      db.error("SELECT * FROM t RIGHT JOIN glove_nn n ON n.word = 'king' AND n.neighbor = t.tag");
  EXPECT_TRUE(message.starts_with("glove_nn has no query: ")) << message;
  EXPECT_NE(message.find("RIGHT JOIN (SELECT * FROM glove_nn('king')) n ON ..."), std::string::npos)
      << message;
}

}  // namespace
}  // namespace glove::testing
