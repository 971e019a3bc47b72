// Lanes that run under a condition which is not known: what their side of a branch has changed so far.
#include "state/bundles.h"

#include <algorithm>

namespace glove::verify {

Bundle capture(const BlockState& state, const Warp& warp, const Context& context, Lanes lanes) {
  Bundle bundle = {.lanes = lanes,
                   .pc = warp.pc,
                   .observed = warp.observed,
                   .copies = warp.copies,
                   .path = warp.path,
                   .exited = lanes & ~warp.alive};
  bundle.registers.reserve(context.written->size());
  for (const uint32_t r : *context.written) bundle.registers.push_back(warp.registers[r]);
  if (context.learns) {
    auto knows = std::make_shared<Knowledge>();
    each_lane(lanes, [&](int lane) {
      knows->clocks[lane] = state.clocks.known(warp.thread(lane));
      knows->fence[lane] = warp.fence[lane];
    });
    bundle.knows = std::move(knows);
  }
  return bundle;
}

void restore(BlockState& state, Warp& warp, const Context& context, const Bundle& bundle) {
  for (size_t i = 0; i < context.written->size(); ++i) {
    WarpRegister& target = warp.registers.change((*context.written)[i]);
    if (bundle.lanes == ~Lanes{0})
      target = bundle.registers[i];
    else
      each_lane(bundle.lanes, [&](int lane) { target.set(lane, bundle.registers[i].get(lane)); });
  }
  each_lane(bundle.lanes, [&](int lane) {
    warp.pc[lane] = bundle.pc[lane];
    warp.observed[lane] = bundle.observed[lane];
    if (bundle.knows == nullptr) return;
    state.clocks.forget(warp.thread(lane), bundle.knows->clocks[lane]);
    warp.fence[lane] = bundle.knows->fence[lane];
  });
  warp.copies.assign(bundle.lanes, bundle.copies);
  warp.alive = (warp.alive & ~bundle.lanes) | (bundle.lanes & ~bundle.exited);
  warp.path = bundle.path;
}

void meet_knowledge(Bundle& into, const Bundle& other) {
  if (into.knows == nullptr || other.knows == nullptr) return;
  auto both = std::make_shared<Knowledge>(*into.knows);
  each_lane(into.lanes, [&](int at) {
    const auto lane = static_cast<size_t>(at);
    both->clocks[lane] = Clocks::common(both->clocks[lane], other.knows->clocks[lane]);
    FenceMark& mark = both->fence[lane];
    const FenceMark& others = other.knows->fence[lane];
    if (mark.clock == nullptr || others.clock == nullptr) {
      mark = {};
      return;
    }
    mark = {Clocks::common(mark.clock, others.clock), std::min(mark.epoch, others.epoch),
            std::min(mark.phase, others.phase), mark.sequential && others.sequential,
            mark.acquires && others.acquires};
  });
  into.knows = std::move(both);
}

PathPointer lane_path(PathPointer parent, Lanes lanes, const std::array<PredicateId, 32>& conditions,
                      bool negate, uint32_t site) {
  auto path = std::make_shared<Path>();
  path->parent = std::move(parent);
  path->site = site;
  path->by_lane = std::make_unique<std::array<PredicateId, 32>>();
  path->by_lane->fill(0);
  each_lane(lanes, [&](int lane) { (*path->by_lane)[lane] = conditions[lane] ^ (negate ? 1u : 0u); });
  return path;
}

PathPointer common_path(PathPointer a, PathPointer b) {
  const auto depth = [](const PathPointer& path) {
    int count = 0;
    for (const Path* at = path.get(); at != nullptr; at = at->parent.get()) ++count;
    return count;
  };
  for (int da = depth(a), db = depth(b); a != b;) {
    if (da >= db)
      a = a->parent, --da;
    else
      b = b->parent, --db;
  }
  return a;
}

bool OpenBranches::in_loop() const {
  for (const Context* at = innermost; at != nullptr; at = at->outer) {
    if (at->loops) return true;
    for (const auto& [pc, loop] : at->loop_states)
      if (loop.visits > 1) return true;
  }
  return false;
}

}  // namespace glove::verify
