// The functions and small tables while models come and go.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/functions/models.h"

namespace glove::testing {
namespace {

class FunctionThreads : public TinyModelTest {};

// 'x' is one of two models of different dimensions; every answer is that of one of them, or that there is
// none.
TEST_F(FunctionThreads, ReadWhileModelsAreLoadedAndUnloaded) {
  const std::string file = sql_text(folder.write("x.txt", "a 3 4\nb 4 3\n"));
  std::atomic<bool> ended = false;
  std::atomic<int> answers = 0;
  std::string wrong;
  std::thread reader([&] {
    Connection own;
    while (!ended && wrong.empty()) {
      Rows rows;
      const int code = own.run(
          "SELECT round(cos_sim('a', 'b', 'x'), 4), length(glove_vec('a - b', 'x')), glove_oov('a + c', "
          "'x'), "
          "cos_sim('king', 'king', 'tiny')",
          rows);
      const std::string error = code == SQLITE_OK ? "" : sqlite3_errmsg(own.handle());
      if (code != SQLITE_OK && error.rfind("there is no model 'x'", 0) != 0) wrong = error;
      for (const Row& row : rows) {
        // The model may change from one call to the next.
        const bool known =
            (row[0] == "0.95999999999999996" || row[0] == "0.5") && (row[1] == "8" || row[1] == "12");
        if (!known || row[2] != "[\"c\"]" || row[3] != "1")
          wrong = row[0] + " " + row[1] + " " + row[2] + " " + row[3];
        ++answers;
      }
      rows.clear();
      if (own.run("SELECT count(*) FROM glove_words('x')", rows) == SQLITE_OK && rows != Rows{{"2"}})
        wrong = "glove_words has " + rows[0][0] + " rows";
      own.run("SELECT * FROM glove_models; SELECT * FROM glove_stats", rows);
    }
  });
  for (int round = 0; round < 200 || answers == 0; ++round) {
    connection.rows(
        round % 2 == 0 ? "SELECT glove_load(" + file + ", 'x')"
                       : "SELECT glove_load_table('x', 'VALUES (''a'', ''[1,1,0]''), (''b'', ''[0,1,1]'')')");
    if (round % 5 == 4) connection.rows("SELECT glove_unload('x')");
    if (!wrong.empty()) break;
  }
  ended = true;
  reader.join();
  EXPECT_EQ(wrong, "");
}

}  // namespace
}  // namespace glove::testing
