#include "sync/progress.h"

#include <algorithm>

namespace glove::verify {

bool ProgressStep::operator==(const ProgressStep& other) const {
  const auto same = [](const WaitEnd& a, const WaitEnd& b) {
    return a.place == b.place && a.number == b.number && a.exactly == b.exactly;
  };
  return kind == other.kind && certain == other.certain && place == other.place && thread == other.thread &&
         number == other.number && instruction == other.instruction && after == other.after &&
         std::equal(ends.begin(), ends.end(), other.ends.begin(), other.ends.end(), same);
}

Progress::Progress(const std::vector<const std::vector<ProgressStep>*>& blocks, std::size_t places)
    : blocks_(blocks), numbers_(places, 0), totals_(places, 0) {
  for (const auto* steps : blocks_)
    for (const ProgressStep& step : *steps)
      if (step.kind != ProgressStep::kWait) apply(step, totals_);
}

bool Progress::ready(const ProgressStep& step, uint32_t block) const {
  return std::ranges::all_of(step.after,
                             [&](uint32_t wait) { return static_cast<bool>(done_[block][wait]); });
}

// A wait for exactly a number is checked by itself: here it ends once there is as much.
bool Progress::ends(const ProgressStep& wait) const {
  return wait.ends.empty() || std::ranges::any_of(wait.ends, [&](const WaitEnd& end) {
           return numbers_[end.place] >= end.number;
         });
}

void Progress::apply(const ProgressStep& step, std::vector<uint64_t>& numbers) {
  uint64_t& number = numbers[step.place];
  number = step.kind == ProgressStep::kAdd ? std::max(number, number + step.number)
                                           : std::max(number, step.number);
}

void Progress::run(StepPlace held) {
  numbers_.assign(numbers_.size(), 0);
  done_.clear();
  for (const auto* steps : blocks_) done_.emplace_back(steps->size(), false);
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t block = 0; block < blocks_.size(); ++block)
      for (uint32_t i = 0; i < blocks_[block]->size(); ++i) {
        const ProgressStep& step = (*blocks_[block])[i];
        const bool is_held = held.block == block && held.step == i;
        if (done_[block][i] || is_held || !ready(step, block)) continue;
        if (step.kind == ProgressStep::kWait && !ends(step)) continue;
        if (step.kind != ProgressStep::kWait) apply(step, numbers_);
        done_[block][i] = changed = true;
      }
  }
}

std::vector<StepPlace> Progress::stuck() const {
  std::vector<StepPlace> found;
  for (uint32_t block = 0; block < blocks_.size(); ++block)
    for (uint32_t i = 0; i < blocks_[block]->size(); ++i)
      if (!done_[block][i] && (*blocks_[block])[i].kind == ProgressStep::kWait &&
          ready((*blocks_[block])[i], block))
        found.push_back({block, i});
  return found;
}

}  // namespace glove::verify
