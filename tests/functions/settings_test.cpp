// glove_config, glove_version, glove_stats.
#include <gtest/gtest.h>

#include "tests/functions/models.h"

namespace glove::testing {
namespace {

class Settings : public TinyModelTest {
 protected:
  void TearDown() override {
    connection.rows(
        "SELECT glove_config('threads', 0), glove_config('backend', 'auto'), glove_config('gpu_memory', 0)");
    TinyModelTest::TearDown();
  }
};

TEST_F(Settings, ReadAndSet) {
  EXPECT_EQ(connection.value("SELECT glove_config('backend')"), "auto");
  EXPECT_EQ(connection.value("SELECT glove_config('backend', 'cpu')"), "cpu");
  EXPECT_EQ(connection.value("SELECT glove_config('threads')"), "0");
  EXPECT_EQ(connection.value("SELECT glove_config('threads', 2)"), "2");
  EXPECT_EQ(connection.value("SELECT glove_config('threads', '3')"), "3");
  Connection another;
  EXPECT_EQ(another.value("SELECT glove_config('threads')"), "3") << "settings belong to the process";
}

TEST_F(Settings, Errors) {
  EXPECT_NE(connection.error("SELECT glove_config('thread')").find("'thread'"), std::string::npos);
  EXPECT_NE(connection.error("SELECT glove_config('thread')").find("threads"), std::string::npos);
  EXPECT_NE(connection.error("SELECT glove_config('threads', 'many')").find("'many'"), std::string::npos);
  EXPECT_NE(connection.error("SELECT glove_config('threads', -1)").find("'-1'"), std::string::npos);
  EXPECT_NE(connection.error("SELECT glove_config('backend', 'abacus')").find("'abacus'"), std::string::npos);
  EXPECT_EQ(connection.error("SELECT glove_config(NULL)"), "glove_config: the key must be text, not NULL");
  EXPECT_EQ(connection.error("SELECT glove_config('threads', NULL)"),
            "glove_config: the value must be text, not NULL");
  EXPECT_EQ(connection.value("SELECT glove_config('threads')"), "0") << "an error changes nothing";
}

TEST_F(Settings, VersionNamesTheBackends) {
  const std::string version = connection.value("SELECT glove_version()");
  EXPECT_EQ(version.find_first_of("0123456789"), 0U) << version;
  EXPECT_NE(version.find("; backends: "), std::string::npos) << version;
  EXPECT_NE(version.find("cpu"), std::string::npos) << version;
  const bool lists_cuda = version.find(": cuda") != std::string::npos;
  EXPECT_EQ(version.ends_with("cpu; CUDA is not compiled in"), !lists_cuda) << version;
}

TEST_F(Settings, StatsTellWhatASearchCost) {
  connection.rows("SELECT neighbor FROM glove_nn('king', NULL, 2)");
  const Rows rows = connection.rows(
      "SELECT model, backend IN ('cpu', 'cuda'), kind, queries, k, rows_scanned >= 0, bytes_scanned >= 0, "
      "candidates >= 0, "
      "resolve_us >= 0 AND scan_us >= 0 AND select_us >= 0 AND rescore_us >= 0, total_us > 0 FROM "
      "glove_stats LIMIT 1");
  EXPECT_EQ(rows, (Rows{{"tiny", "1", "word", "1", "2", "1", "1", "1", "1", "1"}}));
  // Each query is different, because a repeated one may be answered from the cache without a search.
  for (int i = 0; i < 300; ++i)
    connection.rows("SELECT neighbor FROM glove_nn WHERE k = 2 AND expr = '" + std::to_string(i + 1) +
                    " * king + man'");
  EXPECT_EQ(connection.value("SELECT count(*) FROM glove_stats"), "256");
}

}  // namespace
}  // namespace glove::testing
