#include "sync/cluster_barrier.h"

#include <algorithm>
#include <memory>

namespace glove::verify {

std::optional<uint32_t> ClusterBarrier::arrive(const std::vector<uint32_t>& members, uint32_t instruction,
                                               const ClockPointer& published, bool relaxed) {
  for (const uint32_t member : members)
    if (threads_[member].stage != Stage::kOutside) return member;
  for (const uint32_t member : members) threads_[member] = {Stage::kArrived, ended_, instruction, false};
  arrivals_ += static_cast<uint32_t>(members.size());
  relaxed_ |= relaxed;
  if (published == nullptr) return std::nullopt;
  if (clock_ == nullptr) {
    clock_ = published;
    return std::nullopt;
  }
  auto joined = std::make_shared<Clock>(*clock_);
  for (size_t k = 0; k < joined->size(); ++k) (*joined)[k] = std::max((*joined)[k], (*published)[k]);
  clock_ = joined;
  return std::nullopt;
}

std::optional<uint32_t> ClusterBarrier::wait(const std::vector<uint32_t>& members, uint32_t instruction) {
  for (const uint32_t member : members)
    if (threads_[member].stage != Stage::kArrived) return member;
  for (const uint32_t member : members) {
    Thread& thread = threads_[member];
    thread.stage = Stage::kWaits;
    thread.at_once = thread.instruction + 1 == instruction;
  }
  return std::nullopt;
}

ClusterBarrier::End ClusterBarrier::end_phase(const std::vector<uint32_t>& alive, Clocks& clocks) {
  const bool all = std::ranges::all_of(alive, [&](uint32_t thread) { return has_arrived(thread); });
  if (all && !alive.empty()) {
    ++ended_;
    last_clock_ = clocks.with_cluster_phases(clock_, ended_);
    last_relaxed_ = relaxed_;
    clock_ = nullptr;
    arrivals_ = 0;
    relaxed_ = false;
  }
  End end;
  bool at_once = true;
  for (const uint32_t thread : alive) {
    Thread& one = threads_[thread];
    if (one.stage != Stage::kWaits || one.phase == ended_) continue;
    end.released.push_back(thread);
    at_once = at_once && one.at_once;
    one.stage = Stage::kOutside;
  }
  if (!end.released.empty()) clocks.acquire(end.released, last_clock_);
  end.orders_all = at_once && !last_relaxed_ && end.released.size() == alive.size() && arrivals_ == 0;
  return end;
}

std::optional<std::pair<uint32_t, uint32_t>> ClusterBarrier::stuck(const std::vector<uint32_t>& alive) const {
  const auto waiter = std::ranges::find_if(alive, [&](uint32_t thread) { return waits(thread); });
  const auto missing = std::ranges::find_if(alive, [&](uint32_t thread) { return !has_arrived(thread); });
  if (waiter == alive.end() || missing == alive.end()) return std::nullopt;
  return std::pair(*waiter, *missing);
}

bool ClusterBarrier::idle(const std::vector<uint32_t>& alive) const {
  return arrivals_ == 0 && std::ranges::all_of(alive, [&](uint32_t thread) {
           return threads_[thread].stage == Stage::kOutside;
         });
}

}  // namespace glove::verify
