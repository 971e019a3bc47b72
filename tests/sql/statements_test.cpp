// Random statements (statement_check.h); tests/fuzz/sql_fuzzer.cpp lets libFuzzer choose them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/loader/random.h"
#include "tests/share.h"
#include "tests/sql/statement_check.h"

namespace glove::testing {
namespace {

// GLOVE_SQL_SESSIONS: how many sessions of up to 60 statements.
TEST(Statements, FindTheRowsOfAScan) {
  GLOVE_TRACE_SEED();
  const char* const given = std::getenv("GLOVE_SQL_SESSIONS");
  const int sessions = given != nullptr ? std::atoi(given) : static_cast<int>(150 / test::kShortStep);
  std::mt19937_64 random = random_source();
  for (int session = 0; session < sessions; ++session) {
    std::vector<uint8_t> choices(200 + random() % 800);
    for (uint8_t& choice : choices) choice = static_cast<uint8_t>(random());
    ASSERT_EQ(check_statements(choices), "") << "session " << session;
  }
}

}  // namespace
}  // namespace glove::testing
