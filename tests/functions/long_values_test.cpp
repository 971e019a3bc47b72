// Messages show only the beginning of a value that is a megabyte long, and still say what to do.
#include <gtest/gtest.h>

#include "tests/functions/models.h"

namespace glove::testing {
namespace {

class LongValues : public TinyModelTest {
 protected:
  // The message of the SQL with a megabyte of text in place of each @.
  std::string message(const std::string& sql) {
    std::string whole;
    for (const char c : sql) whole += c == '@' ? std::string(1 << 20, 'n') : std::string(1, c);
    return connection.error(whole);
  }
};

TEST_F(LongValues, AreShortenedInMessages) {
  connection.rows("CREATE TABLE doc(id INTEGER PRIMARY KEY, e)");
  connection.rows("INSERT INTO doc VALUES (1, '[1,2]')");
  connection.rows("CREATE VIRTUAL TABLE v USING glove_index(content='doc', rowid='id', vector='e')");
  const struct {
    const char* sql;
    const char* end;
  } kCases[] = {
      {"SELECT glove_vec('king', '@')", "...'; the loaded models are: 'tiny'"},
      {"SELECT * FROM glove_nn('king', NULL, 1, '@')", "...'; the loaded models are: 'tiny'"},
      {"SELECT glove_unload('@')", "...' to unload; the loaded models are: 'tiny'"},
      {"SELECT * FROM glove_nn('king', NULL, 1, NULL, '@')", "cpu"},
      {"SELECT * FROM v('[1,2]', 1, '@')", "cpu"},
      {"SELECT glove_config('@')",
       "...'; the settings are: backend, threads, gpu_memory, devices, index_memory, audits, encode_limit, "
       "onnxruntime_provider, onnxruntime"},
      {"SELECT glove_config('threads', '@')", "n...'"},
      {"SELECT glove_config('devices', '@')", "n...'"},
      {"SELECT glove_load('x', 'y', '{\"format\":\"@\"}')", ""},
      {"SELECT glove_load('x', 'y', '{\"@\":1}')", "threads, top, verify, vocabulary"},
      {"SELECT glove_load('x', 'y', '@')", "..."},
      {"SELECT glove_load_table('@', 'SELECT 1, 2')", "; a vector must be a BLOB of float32 or a JSON array"},
      {"SELECT glove_load_table('m', 'VALUES (1, ''[1]''), (''@'', ''[1]'')')", "; use one type"},
      {"SELECT glove_derive('d', '{}', '@')", "...'; the loaded models are: 'tiny'"},
      {"SELECT glove_project(x'0000803f', '@')", "...'; the loaded models are: 'tiny'"},
      {"SELECT * FROM glove_kmeans(2, '@')", "or NULL (all words)"},
      {"SELECT * FROM glove_kmeans(2, 4, NULL, NULL, '{\"metric\":\"@\"}')",
       "must be \"cosine\" or \"euclidean\""},
      {"SELECT glove_text_vec('a', NULL, '{\"@\":1}')", "method"},
      {"SELECT glove_vec('(@')", "add ')'"},
      {"INSERT INTO v(v) VALUES ('@')",
       "...'; the commands are: sync, sync=N with a positive N, merge, rebuild, repair, integrity-check, "
       "calibrate"},
      {"CREATE VIRTUAL TABLE w USING glove_index(content='doc', rowid='id', vector='e', dims='@')", "n...'"},
      {"CREATE VIRTUAL TABLE w USING glove_index(content='doc', rowid='id', vector='e', invalid='@')",
       "n...'"},
      {"CREATE VIRTUAL TABLE w USING glove_index(content='doc', rowid='id', vector='e', @='x')",
       "made by a newer extension, and needs it)"},
  };
  for (const auto& [sql, end] : kCases) {
    const std::string found = message(sql);
    EXPECT_LT(found.size(), 1000U) << sql;
    EXPECT_TRUE(found.ends_with(end))
        << sql << ": " << found.substr(found.size() - std::min<size_t>(found.size(), 200));
  }
}

// Paths may have 4,096 bytes. What SQLite says of an identifier, and the names of a schema, are cut in the
// middle.
TEST_F(LongValues, PathsAndIdentifiersToo) {
  EXPECT_TRUE(message("SELECT glove_load('@')").ends_with("n...': File name too long"));
  connection.rows("CREATE TABLE doc(id INTEGER PRIMARY KEY, e)");
  EXPECT_TRUE(message("CREATE VIRTUAL TABLE w USING glove_index(content='@', rowid='id', vector='e')")
                  .ends_with("the content of an index must be a table of its own schema"));
  for (const char* sql : {"SELECT glove_load('@')", "SELECT glove_save('tiny', '/nosuch/@')",
                          "SELECT glove_load_table('m', 'SELECT @')",
                          "CREATE VIRTUAL TABLE w USING glove_index(content='@', rowid='id', vector='e')"})
    EXPECT_LT(message(sql).size(), 9000U) << sql;
}

}  // namespace
}  // namespace glove::testing
