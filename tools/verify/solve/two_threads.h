// The last resort: two threads of a kernel as formulas in bit vectors, which Z3 decides.
#pragma once

#include <string>
#include <vector>

#include "state/part.h"

namespace glove::verify {

// What is known about races of any two threads, whatever the parameters that the launch leaves open.
struct TwoThreads {
  enum class Answer : uint8_t { kNever, kWitness, kUndecided } answer = Answer::kUndecided;
  // kWitness: "race for parameter 2 (offset 16) = 36, threads 27 and 59"; the instructions of the two.
  // kUndecided: why.
  std::string text = {};
  uint32_t first = 0, second = 0;
  std::vector<std::string> assumptions = {};
};

// Whether this build has Z3; without, every answer is kUndecided.
bool has_solver();

// every_grid: grids of any size along the launch's axes, and not the launch's alone. The answer does not
// depend on the machine's speed unless the budget's time ends.
TwoThreads decide_two_threads(const Setup& setup, bool every_grid, Budget& budget);

}  // namespace glove::verify
