#include <gtest/gtest.h>

#include "cpu/cpu_backend.h"
#include "tests/search/fake_backend.h"

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  glove::register_backend(std::make_unique<glove::testing::ScriptedBackend>());
  glove::register_backend(glove::make_cpu_backend());
  glove::register_backend(std::make_unique<glove::testing::PlainBackend>());
  glove::register_backend(std::make_unique<glove::testing::RankingBackend>());
  return RUN_ALL_TESTS();
}
