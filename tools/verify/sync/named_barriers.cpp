#include "sync/named_barriers.h"

#include <algorithm>

namespace glove::verify {

std::optional<BarrierProblem> NamedBarriers::arrive(const Arrival& arrival,
                                                    const std::vector<uint32_t>& members, Clocks& clocks) {
  NamedBarrier& barrier = barriers_[arrival.barrier];
  const uint32_t other_thread = !barrier.waiting.empty()     ? barrier.waiting[0]
                                : !barrier.passed_by.empty() ? barrier.passed_by[0]
                                                             : members[0];
  const uint32_t other = barrier.instructions.empty() ? arrival.instruction : barrier.instructions[0];
  // In another schedule this arrival could belong to the generation before.
  const auto is_here = [&](uint32_t member) {
    return std::find(barrier.passed_by.begin(), barrier.passed_by.end(), member) != barrier.passed_by.end();
  };
  for (const uint32_t member : members)
    if (clocks.barrier_generation(member, arrival.barrier) < barrier.generation || is_here(member))
      return BarrierProblem{BarrierFault::kRecycling,
                            "thread " + std::to_string(member) + " arrives again at barrier " +
                                std::to_string(arrival.barrier) +
                                " without having waited for the end of its phase before",
                            other, other_thread};
  if (barrier.expected != 0 && barrier.expected != arrival.count)
    return BarrierProblem{BarrierFault::kCount,
                          "barrier " + std::to_string(arrival.barrier) + " waits for " +
                              std::to_string(barrier.expected) + " threads, but thread " +
                              std::to_string(members[0]) + " names " + std::to_string(arrival.count),
                          other, other_thread};
  if (barrier.arrived + arrival.weight > arrival.count)
    return BarrierProblem{BarrierFault::kCount,
                          "more than " + std::to_string(arrival.count) + " threads arrive at barrier " +
                              std::to_string(arrival.barrier),
                          other, other_thread};
  barrier.expected = arrival.count;
  barrier.arrived += arrival.weight;
  auto clock = clocks.join(members);
  if (barrier.clock)
    for (size_t k = 0; k < clock->size(); ++k) (*clock)[k] = std::max((*clock)[k], (*barrier.clock)[k]);
  barrier.clock = clock;
  auto& list = arrival.waits ? barrier.waiting : barrier.passed_by;
  list.insert(list.end(), members.begin(), members.end());
  barrier.instructions.push_back(arrival.instruction);
  if (!arrival.waits) clocks.advance(members);
  if (complete(arrival.barrier) && barrier.waiting.empty())
    return BarrierProblem{
        BarrierFault::kArriveOnly,
        "all threads arrive at barrier " + std::to_string(arrival.barrier) + " and none waits", other,
        other_thread};
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
