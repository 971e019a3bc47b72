#include "sync/clocks.h"

#include <algorithm>

namespace glove::verify {

std::shared_ptr<Clock> Clocks::join(const std::vector<uint32_t>& members) const {
  std::vector<const Clock*> distinct;
  for (const uint32_t member : members) {
    const Clock* clock = known_[member].get();
    if (distinct.empty() ||
        (distinct.back() != clock && std::ranges::find(distinct, clock) == distinct.end()))
      distinct.push_back(clock);
  }
  auto joined = std::make_shared<Clock>(*distinct.at(0));
  for (size_t i = 1; i < distinct.size(); ++i)
    for (size_t k = 0; k < joined->size(); ++k) (*joined)[k] = std::max((*joined)[k], (*distinct[i])[k]);
  for (const uint32_t member : members) (*joined)[member] = own_[member];
  if (!fenced_.empty()) join_fences(members, *joined);
  return joined;
}

void Clocks::join_fences(const std::vector<uint32_t>& members, Clock& joined) const {
  const size_t first = threads_ + barriers_ + kCounters;
  std::vector<const Clock*> seen;
  for (const uint32_t member : members) {
    const ProxyFence& fence = fenced_[member];
    if (fence.known == nullptr) continue;
    joined[first + member] = std::max(joined[first + member], fence.epoch);
    if (std::ranges::find(seen, fence.known.get()) != seen.end()) continue;
    seen.push_back(fence.known.get());
    for (size_t t = 0; t < threads_; ++t) joined[first + t] = std::max(joined[first + t], (*fence.known)[t]);
  }
}

std::string Clocks::name(uint32_t thread) const {
  if (cluster_ < 2) return "thread " + std::to_string(thread);
  const uint32_t block = threads_ / cluster_;
  return "thread " + std::to_string(thread % block) + " of the cluster's block " +
         std::to_string(thread / block);
}

void Clocks::fence_proxy(const std::vector<uint32_t>& members) {
  if (fenced_.empty()) return;
  for (const uint32_t member : members) fenced_[member] = {known_[member], own_[member]};
  advance(members);
}

void Clocks::acquire(const std::vector<uint32_t>& members, const ClockPointer& clock) {
  ClockPointer last_from, last_to;  // threads that knew the same know the same again
  for (const uint32_t member : members) {
    if (known_[member] != last_from) {
      last_from = known_[member];
      auto merged = std::make_shared<Clock>(*clock);
      bool covered = true;
      for (size_t k = 0; k < merged->size(); ++k) {
        covered &= (*clock)[k] >= (*last_from)[k];
        (*merged)[k] = std::max((*merged)[k], (*last_from)[k]);
      }
      last_to = covered ? clock : ClockPointer(merged);
    }
    known_[member] = last_to;
  }
  advance(members);
}

ClockPointer Clocks::common(const ClockPointer& a, const ClockPointer& b) {
  if (a == b) return a;
  auto both = std::make_shared<Clock>(*a);
  for (size_t k = 0; k < both->size(); ++k) (*both)[k] = std::min((*both)[k], (*b)[k]);
  return both;
}

void Clocks::advance(const std::vector<uint32_t>& members) {
  for (const uint32_t member : members) ++own_[member];
}

void Clocks::see_counter(uint32_t thread, uint32_t counter) {
  if ((*known_[thread])[threads_ + barriers_ + counter] != 0) return;
  auto clock = std::make_shared<Clock>(*known_[thread]);
  (*clock)[threads_ + barriers_ + counter] = 1;
  known_[thread] = clock;
}

std::optional<BarrierProblem> NamedBarriers::arrive(const Arrival& arrival,
                                                    const std::vector<uint32_t>& members, Clocks& clocks) {
  NamedBarrier& barrier = barriers_[arrival.barrier];
  const uint32_t other_thread = !barrier.waiting.empty()     ? barrier.waiting[0]
                                : !barrier.passed_by.empty() ? barrier.passed_by[0]
                                                             : members[0];
  const uint32_t other = barrier.instructions.empty() ? arrival.instruction : barrier.instructions[0];
  const auto problem = [&](BarrierFault fault, std::string detail) {
    return BarrierProblem{fault, std::move(detail), other, other_thread};
  };
  // In another schedule this arrival could belong to the generation before.
  const auto is_here = [&](uint32_t member) {
    return std::ranges::find(barrier.passed_by, member) != barrier.passed_by.end();
  };
  for (const uint32_t member : members)
    if (clocks.barrier_generation(member, arrival.barrier) < barrier.generation || is_here(member))
      return problem(BarrierFault::kRecycling, clocks.name(member) + " arrives again at barrier " +
                                                   std::to_string(arrival.barrier % Clocks::kBarriers) +
                                                   " without having waited for the end of its phase before");
  if (barrier.expected != 0 && barrier.expected != arrival.count)
    return problem(BarrierFault::kCount, "barrier " + std::to_string(arrival.barrier % Clocks::kBarriers) +
                                             " waits for " + std::to_string(barrier.expected) +
                                             " threads, but " + clocks.name(members[0]) + " names " +
                                             std::to_string(arrival.count));
  if (barrier.arrived + arrival.weight > arrival.count)
    return problem(BarrierFault::kCount, "more than " + std::to_string(arrival.count) +
                                             " threads arrive at barrier " +
                                             std::to_string(arrival.barrier % Clocks::kBarriers));
  barrier.expected = arrival.count;
  barrier.arrived += arrival.weight;
  barrier.whole_block = barrier.whole_block && arrival.whole_block;
  auto clock = clocks.join(members);
  if (barrier.clock)
    for (size_t k = 0; k < clock->size(); ++k) (*clock)[k] = std::max((*clock)[k], (*barrier.clock)[k]);
  barrier.clock = clock;
  auto& list = arrival.waits ? barrier.waiting : barrier.passed_by;
  list.insert(list.end(), members.begin(), members.end());
  barrier.instructions.push_back(arrival.instruction);
  if (!arrival.waits) clocks.advance(members);
  if (complete(arrival.barrier) && barrier.waiting.empty())
    return problem(BarrierFault::kArriveOnly, "all threads arrive at barrier " +
                                                  std::to_string(arrival.barrier % Clocks::kBarriers) +
                                                  " and none waits");
  return std::nullopt;
}

std::vector<uint32_t> NamedBarriers::release(uint32_t index, Clocks& clocks) {
  NamedBarrier& barrier = barriers_[index];
  std::vector<uint32_t> released = std::move(barrier.waiting);
  const uint32_t generation = barrier.generation + 1;
  auto clock = std::make_shared<Clock>(*barrier.clock);
  (*clock)[clocks.threads() + index] = generation;
  clocks.acquire(released, clock);
  barrier = NamedBarrier{};
  barrier.generation = generation;
  return released;
}

}  // namespace glove::verify
