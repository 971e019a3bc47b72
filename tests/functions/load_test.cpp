// glove_load, glove_unload, glove_models: the life of a model.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/functions/models.h"

namespace glove::testing {
namespace {

class Load : public TinyModelTest {
 protected:
  std::string load_error(const std::string& arguments) {
    return connection.error("SELECT glove_load(" + arguments + ")");
  }
  std::string other() { return sql_text(folder.write("other.v1.txt", "a 1\nb 2\n")); }
};

TEST_F(Load, GivesTheNameAndTakesItFromTheFile) {
  EXPECT_EQ(connection.value("SELECT glove_load(" + other() + ")"), "other.v1");
  EXPECT_EQ(connection.value("SELECT glove_load(" + other() + ", NULL)"), "other.v1");
  EXPECT_EQ(connection.value("SELECT glove_load(" + other() + ", 'x', NULL)"), "x");
  const std::string index = sql_text(folder.write("other.v2.safetensors.index.json", "a 1\nb 2\n"));
  EXPECT_EQ(connection.value("SELECT glove_load(" + index + ")"), "other.v2");
}

TEST_F(Load, ModelsAreListedInTheOrderOfLoading) {
  connection.rows("SELECT glove_load(" + other() + ")");
  EXPECT_EQ(connection.rows(
                "SELECT name, is_default, words, dims, path LIKE '%/' || name || '.txt' FROM glove_models"),
            (Rows{{"tiny", "1", "8", "3", "1"}, {"other.v1", "0", "2", "1", "1"}}));
  const Rows served =
      connection.rows("SELECT backend, device <> '', device_bytes >= 0, state FROM glove_models");
  ASSERT_EQ(served.size(), 2U);
  EXPECT_TRUE(served[0][0] == "cpu" || served[0][0] == "cuda");
  EXPECT_EQ(served[0][1], "1");
  EXPECT_EQ(served[0][2], "1");
}

// A compiled backend that cannot be used is listed with the same reason as in glove_version.
TEST_F(Load, BackendsThatDoNotServeAreNamedWithTheirReason) {
  const std::string version = connection.value("SELECT glove_version()");
  const std::string absent = "cuda (not available: ";
  const size_t at = version.find(absent);
  const Rows served = connection.rows("SELECT passed_over FROM glove_models");
  ASSERT_EQ(served.size(), 1U);
  if (at == std::string::npos) {
    EXPECT_EQ(served[0][0], "NULL");
  } else {
    const size_t reason = at + absent.size();
    EXPECT_EQ(served[0][0], "cuda: " + version.substr(reason, version.find(")", reason) - reason));
  }
}

TEST_F(Load, TheFirstIsTheDefaultUntilOneIsNamedMain) {
  connection.rows("SELECT glove_load(" + other() + ")");
  EXPECT_EQ(connection.value("SELECT count(*) FROM glove_words"), "8");
  connection.rows("SELECT glove_load(" + other() + ", 'main')");
  EXPECT_EQ(connection.value("SELECT count(*) FROM glove_words"), "2");
  EXPECT_EQ(connection.value("SELECT glove_unload('main')"), "main");
  EXPECT_EQ(connection.value("SELECT name FROM glove_models WHERE is_default"), "tiny");
}

TEST_F(Load, ReplacesAModelOfTheSameName) {
  connection.rows("SELECT glove_load(" + other() + ", 'tiny')");
  EXPECT_EQ(connection.rows("SELECT name, words FROM glove_models"), (Rows{{"tiny", "2"}}));
}

TEST_F(Load, AnotherConnectionSeesTheModels) {
  Connection another;
  EXPECT_EQ(another.value("SELECT name FROM glove_models"), "tiny");
}

TEST_F(Load, AScanGoesOnWhileItsModelIsUnloaded) {
  EXPECT_EQ(
      connection.rows("SELECT word, iif(id = 0, glove_unload('tiny'), '') FROM glove_words WHERE id < 3"),
      (Rows{{"the", "tiny"}, {"king", ""}, {"queen", ""}}));
}

TEST_F(Load, WhatFailsLeavesTheModelsAsTheyWere) {
  const Rows before = connection.rows("SELECT name, is_default, path, words FROM glove_models");
  const std::string missing = folder.path("missing.txt");
  EXPECT_NE(load_error(sql_text(missing)).find(missing), std::string::npos);
  EXPECT_NE(load_error(sql_text(missing) + ", 'tiny'").find(missing), std::string::npos);
  const std::string damaged = folder.write("damaged.txt", "a 1 2\nb 1\n");
  EXPECT_NE(load_error(sql_text(damaged) + ", 'tiny'").find(damaged), std::string::npos);
  EXPECT_NE(load_error(sql_text(folder.path(""))).find("it is a directory"), std::string::npos);
  EXPECT_NE(load_error(sql_text(folder.write("empty.txt", ""))).find("the file is empty"), std::string::npos);
  EXPECT_EQ(connection.rows("SELECT name, is_default, path, words FROM glove_models"), before);
}

TEST_F(Load, ArgumentErrors) {
  EXPECT_EQ(load_error("NULL"), "glove_load: the path must be text, not NULL");
  EXPECT_EQ(load_error("x'00'"), "glove_load: the path must be text, not a BLOB; use CAST(... AS TEXT)");
  EXPECT_EQ(load_error("''"), "glove_load: the path must not be empty or contain a NUL byte");
  EXPECT_EQ(load_error("'a' || char(0)"), "glove_load: the path must not be empty or contain a NUL byte");
  EXPECT_EQ(load_error(other() + ", ''"),
            "glove_load: the name must not be empty; omit it or pass NULL to use the file's name");
  EXPECT_EQ(load_error(other() + ", x'00'"),
            "glove_load: the name must be text, not a BLOB; use CAST(... AS TEXT)");
  EXPECT_EQ(load_error(other() + ", 'a', x'00'"),
            "glove_load: the options must be text, not a BLOB; use CAST(... AS TEXT)");
  EXPECT_EQ(load_error(""), "wrong number of arguments to function glove_load()");
}

TEST_F(Load, Options) {
  const auto with = [this](const std::string& options) { return other() + ", 'x', " + sql_text(options); };
  for (const char* options : {"{}", "{\"threads\":0}", "{\"threads\":2}", "{\"verify\":false}"})
    EXPECT_EQ(connection.value("SELECT glove_load(" + with(options) + ")"), "x") << options;
  EXPECT_EQ(load_error(with("{")),
            "glove_load: the options must be a JSON object such as {\"threads\":2}, but are: {");
  EXPECT_EQ(load_error(with("[1]")),
            "glove_load: the options must be a JSON object such as {\"threads\":2}, but are: [1]");
  EXPECT_EQ(load_error(with("{\"thread\":2}")),
            "glove_load: unknown option \"thread\"; the options are: dims, document_prompt, encoding, file, "
            "format, "
            "frequencies, invalid, invalid_utf8, old, prompt, query_prompt, tensor, threads, top, verify, "
            "vocabulary");
  EXPECT_EQ(load_error(with("{\"threads\":\"2\"}")),
            "glove_load: option \"threads\" is \"2\", but must be an integer from 0 (all cores) to 1024");
  EXPECT_EQ(load_error(with("{\"threads\":-1}")),
            "glove_load: option \"threads\" is -1, but must be an integer from 0 (all cores) to 1024");
  EXPECT_EQ(load_error(with("{\"threads\":18446744073709551615}")),
            "glove_load: option \"threads\" is 18446744073709551615, but must be an integer from 0 (all "
            "cores) to 1024");
  EXPECT_EQ(connection.value("SELECT glove_load(" + with("{\"format\":\"glove-text\"}") + ")"), "x");
  EXPECT_EQ(load_error(with("{\"format\":5}")),
            "glove_load: option \"format\" is 5, but must be the name of a format");
  EXPECT_EQ(load_error(with("{\"vocabulary\":\"\"}")),
            "glove_load: option \"vocabulary\" is \"\", but must be the path of a word list");
  EXPECT_NE(load_error(with("{\"format\":\"glove\"}")).find("'glove'"), std::string::npos);
  EXPECT_EQ(load_error(with("{\"verify\":1}")),
            "glove_load: option \"verify\" is 1, but must be true or false");
}

TEST_F(Load, UnloadErrors) {
  EXPECT_EQ(connection.error("SELECT glove_unload('nosuch')"),
            "there is no model 'nosuch' to unload; the loaded models are: 'tiny'");
  EXPECT_EQ(connection.error("SELECT glove_unload(NULL)"), "glove_unload: the name must be text, not NULL");
}

// interrupting(x) returns x and interrupts the connection; the next call must notice it.
void interrupting(sqlite3_context* context, int, sqlite3_value** argv) {
  sqlite3_result_value(context, argv[0]);
  sqlite3_interrupt(sqlite3_context_db_handle(context));
}

TEST_F(Load, AnInterruptStopsALoad) {
  sqlite3_create_function(connection.handle(), "interrupting", 1, SQLITE_UTF8, nullptr, interrupting, nullptr,
                          nullptr);
  std::string text;
  for (int i = 0; i < 200000; ++i)
    text += "word" + std::to_string(i) + " 0.125 -0.5 0.25 1.5 2.25 3.75 -1.0625 7\n";
  const std::string file = sql_text(folder.write("long.txt", text));
  Rows rows;
  EXPECT_EQ(connection.run("SELECT glove_load(interrupting(" + file + "))", rows), SQLITE_INTERRUPT);
  EXPECT_EQ(connection.run(
                "SELECT glove_load_table(interrupting('t'), 'SELECT word, vector FROM glove_words')", rows),
            SQLITE_INTERRUPT);
  EXPECT_EQ(connection.rows("SELECT name FROM glove_models"), (Rows{{"tiny"}}));
}

struct CallsAfterTheRows {
  bool all_rows_read = false;
  int calls = 0;
};

void last_row(sqlite3_context* context, int, sqlite3_value** argv) {
  sqlite3_result_value(context, argv[0]);
  static_cast<CallsAfterTheRows*>(sqlite3_user_data(context))->all_rows_read = true;
}

// SQLite ends the SELECT within 1,000 of its steps after the last row. The progress handler allows that many,
// so only the call's own question can be the one that the handler answers with a stop.
TEST_F(Load, AnInterruptStopsTheLastStepOfATable) {
  CallsAfterTheRows counted;
  sqlite3_create_function(connection.handle(), "last_row", 1, SQLITE_UTF8, &counted, last_row, nullptr,
                          nullptr);
  const auto stop = [](void* data) {
    auto* after = static_cast<CallsAfterTheRows*>(data);
    return after->all_rows_read && ++after->calls > 10 ? 1 : 0;
  };
  sqlite3_progress_handler(connection.handle(), 100, stop, &counted);
  constexpr const char* kLoad =
      "SELECT glove_load_table('t', 'WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i "
      "< 20000) SELECT CASE i WHEN 20000 THEN last_row(i) ELSE i END, zeroblob(4000) FROM c', "
      "'{\"threads\":1}')";
  Rows rows;
  EXPECT_EQ(connection.run(kLoad, rows), SQLITE_INTERRUPT);
  EXPECT_TRUE(counted.all_rows_read);
  sqlite3_progress_handler(connection.handle(), 0, nullptr, nullptr);
  EXPECT_EQ(connection.rows("SELECT name FROM glove_models"), (Rows{{"tiny"}}));
}

TEST_F(Load, TheEnvironmentNamesTheDefaultModel) {
  unload_all(connection);
  setenv("GLOVE_MODEL", folder.write("from-environment.txt", "a 1 0\nb 0 1\n").c_str(), 1);
  EXPECT_EQ(connection.rows("SELECT name FROM glove_models"), Rows{}) << "looking must not load";
  EXPECT_EQ(connection.value("SELECT count(*) FROM glove_words"), "2");
  EXPECT_EQ(connection.value("SELECT name FROM glove_models"), "from-environment");
  unsetenv("GLOVE_MODEL");
}

TEST_F(Load, OptionsNestedAsDeepAsTheyLike) {
  const std::string deep = std::string(500000, '[') + std::string(500000, ']');
  EXPECT_EQ(load_error(other() + ", 'x', " + sql_text("{\"threads\":" + deep + "}")),
            "glove_load: option \"threads\" is an array, but must be an integer from 0 (all cores) to 1024");
  EXPECT_EQ(load_error(other() + ", 'x', '{\"threads\":{\"a\":1}}'"),
            "glove_load: option \"threads\" is an object, but must be an integer from 0 (all cores) to 1024");
}

}  // namespace
}  // namespace glove::testing
