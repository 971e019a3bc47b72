// Lanes that run under a condition which is not known: what their side of a branch has changed so far.
#include <algorithm>

#include "run/kernel_run.h"

namespace glove::verify {

Bundle KernelRun::capture(const BlockState& state, const Warp& warp, const Context& context,
                          Lanes lanes) const {
  Bundle bundle;
  bundle.lanes = lanes;
  bundle.pc = warp.pc;
  bundle.observed = warp.observed;
  bundle.copies = warp.copies;
  bundle.path = warp.path;
  bundle.exited = lanes & ~warp.alive;
  bundle.registers.reserve(context.written->size());
  for (const uint32_t r : *context.written) bundle.registers.push_back(warp.registers[r]);
  if (context.learns) {
    auto knows = std::make_shared<Knowledge>();
    each_lane(lanes, [&](int lane) {
      knows->clocks[static_cast<size_t>(lane)] = state.clocks.known(warp.thread(lane));
      knows->fence[static_cast<size_t>(lane)] = warp.fence[static_cast<size_t>(lane)];
    });
    bundle.knows = std::move(knows);
  }
  return bundle;
}

// One side must not profit from what another has synchronised.
void KernelRun::restore(BlockState& state, Warp& warp, const Context& context, const Bundle& bundle) const {
  for (size_t i = 0; i < context.written->size(); ++i) {
    WarpRegister& target = warp.registers.change((*context.written)[i]);
    if (bundle.lanes == ~Lanes{0})
      target = bundle.registers[i];
    else
      each_lane(bundle.lanes, [&](int lane) { target.set(lane, bundle.registers[i].get(lane)); });
  }
  each_lane(bundle.lanes, [&](int lane) {
    warp.pc[static_cast<size_t>(lane)] = bundle.pc[static_cast<size_t>(lane)];
    warp.observed[static_cast<size_t>(lane)] = bundle.observed[static_cast<size_t>(lane)];
    if (bundle.knows == nullptr) return;
    state.clocks.forget(warp.thread(lane), bundle.knows->clocks[static_cast<size_t>(lane)]);
    warp.fence[static_cast<size_t>(lane)] = bundle.knows->fence[static_cast<size_t>(lane)];
  });
  warp.copies.assign(bundle.lanes, bundle.copies);
  warp.alive = (warp.alive & ~bundle.lanes) | (bundle.lanes & ~bundle.exited);
  warp.path = bundle.path;
}

// What the lanes know whichever of the two ways they came.
void KernelRun::meet_knowledge(Bundle& into, const Bundle& other) {
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

}  // namespace glove::verify
