#include "tests/analysis/analyses.h"

#include <gtest/gtest.h>

#include <utility>

#include "cpu/cpu_analysis.h"
#include "tests/tested_targets.h"

namespace glove::test {

std::vector<NamedAnalysis> all_analyses(const std::vector<int>& threads) {
  std::vector<NamedAnalysis> all;
  for (const std::string_view target : tested_targets())
    for (const int count : threads) {
      auto made = make_cpu_analysis({std::string(target), count});
      if (!made.ok()) ADD_FAILURE() << made.error().message;
      all.push_back(
          {std::string(target) + ", " + std::to_string(count) + " threads", std::move(made.value())});
    }
  return all;
}

std::unique_ptr<Analysis> make_analysis() {
  return std::move(make_cpu_analysis({"", 2}).value());
}

}  // namespace glove::test
