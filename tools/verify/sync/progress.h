// Whether blocks that wait for each other in global memory all go on: what each block adds, stores and waits
// for is run in the one order that lets every wait end that can end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace glove::verify {

// One way for a wait to end: the place holds so much, or exactly so much.
struct WaitEnd {
  uint32_t place = 0;
  uint64_t number = 0;
  bool exactly = false;
};

// What a thread does at places of which each holds 0 before the launch, and then the sum of what was added or
// the greatest number that was stored. `after`: the block's waits, among its steps, that have ended before.
struct ProgressStep {
  enum Kind : uint8_t { kAdd, kStore, kWait } kind = kAdd;
  bool certain = true;
  uint32_t place = 0;
  uint32_t thread = 0;
  uint32_t instruction = 0;
  uint64_t number = 0;
  std::vector<WaitEnd> ends;  // of a wait: any of them is enough; none: it is taken to end
  std::vector<uint32_t> after;
  bool operator==(const ProgressStep& other) const;
};

// A step of a block; step ~0: none.
struct StepPlace {
  uint32_t block = 0;
  uint32_t step = ~0u;
};

// The blocks of a grid, each with the steps of one way through the kernel.
class Progress {
 public:
  // REQUIRES: `blocks` outlives it; their steps name places below `places`.
  Progress(const std::vector<const std::vector<ProgressStep>*>& blocks, std::size_t places);

  // Runs all steps that can run while the wait `held` does not end.
  void run(StepPlace held);
  bool done(StepPlace at) const { return done_[at.block][at.step]; }
  uint64_t number(uint32_t place) const { return numbers_[place]; }
  // Waits that do not end although those before them have.
  std::vector<StepPlace> stuck() const;
  // What all steps together leave at a place.
  uint64_t total(uint32_t place) const { return totals_[place]; }

 private:
  bool ready(const ProgressStep& step, uint32_t block) const;
  bool ends(const ProgressStep& wait) const;
  static void apply(const ProgressStep& step, std::vector<uint64_t>& numbers);

  const std::vector<const std::vector<ProgressStep>*>& blocks_;
  std::vector<std::vector<bool>> done_;
  std::vector<uint64_t> numbers_, totals_;  // by place
};

}  // namespace glove::verify
