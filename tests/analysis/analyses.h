// The CPU's analyses that the tests run.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "analysis/analysis.h"

namespace glove::test {

struct NamedAnalysis {
  std::string name;
  std::unique_ptr<Analysis> analysis;
};

// One for each instruction set of this machine and each number of threads.
std::vector<NamedAnalysis> all_analyses(const std::vector<int>& threads);

// The fastest instruction set, on two threads.
std::unique_ptr<Analysis> make_analysis();

}  // namespace glove::test
