// Statements over an index and a model must find the rows of a scan (tests/sql/statement_check.h).
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/sql/statement_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string difference = glove::testing::check_statements({data, size});
  if (difference.empty()) return 0;
  std::fputs(difference.c_str(), stderr);
  std::abort();
}
