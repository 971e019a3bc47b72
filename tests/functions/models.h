// Small models for tests.
#pragma once

#include <gtest/gtest.h>

#include "tests/functions/connection.h"

namespace glove::testing {

// Eight words of three components; "King" is not among them, and "zero" has no direction.
constexpr const char* kTinyModel =
    "the 1 0 0\n"
    "king 1 2 2\n"
    "queen 1 2 3\n"
    "man 2 1 0\n"
    "woman 2 1 1\n"
    "zero 0 0 0\n"
    "Paris 0 3 4\n"
    "paris 0 4 3\n";

// Around (2, 1), four times as wide along the first axis; "nothing" has no direction.
constexpr const char* kCrossAndNothing =
    "east 6 1\n"
    "west -2 1\n"
    "north 2 2\n"
    "south 2 0\n"
    "nothing 0 0\n";

// A connection, with the tiny model loaded as 'tiny' and nothing else.
class TinyModelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    unload_all(connection);
    connection.rows("SELECT glove_load(" + sql_text(folder.write("tiny.txt", kTinyModel)) + ", 'tiny')");
  }
  void TearDown() override { unload_all(connection); }

  TemporaryFolder folder;
  Connection connection;
};

}  // namespace glove::testing
