// Blocks, one after another, and the end of a run.
#include "run/run.h"

#include <algorithm>

#include "order/wait_log.h"

namespace glove::verify {

OrderPart::OrderPart(Order& order)
    : Part(order),
      places_(order.places),
      operands_(order.operands),
      read_only_(order.read_only),
      locations_(order.locations),
      tickets_(order.tickets),
      grid_(order.grid),
      records_(order.records),
      race_reports_(order.reports),
      races_(order.block),
      grid_races_(order.blocks),
      wait_log_(order.waits) {}

Order::Order(const Part& run)
    : Part(run),
      places(run),
      operands(run),
      read_only(run),
      locations(*this),
      tickets(*this),
      grid(*this),
      records(run),
      reports(*this),
      block(*this),
      blocks(*this),
      waits(*this) {}

Steps::Steps(Order& order)
    : generaliser(order),
      explorer(order, generaliser),
      joins(order),
      loops(order),
      loads(order),
      memory(order, *this),
      async(order, *this),
      barriers(order, *this),
      exchange(order),
      regions(order, *this),
      interpreter(order, *this),
      scheduler(order, *this) {}

Run::Run(const Setup& setup, Learned& learned)
    : setup_(setup),
      learned_(learned),
      report_(setup, learned.effort),
      part_(setup_, learned_, report_, open_),
      order_(part_),
      steps_(order_) {
  learned_.effort.executed.resize(setup_.kernel.code.size());
}

// Registers that some path reads before it writes them hold anything, in each lane something else.
void Run::leave_unwritten(Warp& warp) {
  for (const uint32_t r : setup_.flow.live_in(0)) {
    const Type type = setup_.kernel.registers[r].type;
    WarpRegister& target = warp.registers.change(r);
    each_lane(warp.lanes, [&](int lane) {
      target.set(lane, type == Type::kPred ? learned_.table.fresh_predicate(Scope::kThread, true)
                                           : learned_.table.fresh(register_bits(type), Scope::kThread, true));
    });
  }
}

BlockState Run::initial_state(uint32_t block) {
  BlockState state;
  state.block = block;
  state.block_index = {block % setup_.launch.grid[0], block / setup_.launch.grid[0] % setup_.launch.grid[1],
                       block / setup_.launch.grid[0] / setup_.launch.grid[1]};
  state.clocks = Clocks((setup_.threads + 31) / 32 * 32, setup_.has_products);
  for (uint32_t first = 0; first < setup_.threads; first += 32) {
    Warp warp;
    warp.index = first / 32;
    warp.lanes = setup_.threads - first >= 32 ? ~Lanes{0} : (Lanes{1} << (setup_.threads - first)) - 1;
    warp.alive = warp.lanes;
    warp.registers = RegisterFile(setup_.kernel.registers.size());
    leave_unwritten(warp);
    state.warps.push_back(std::move(warp));
  }
  return state;
}

bool Run::once() {
  for (uint32_t block = 0; block < setup_.blocks && !report_.ended(); ++block) run_block(block);
  if (setup_.check_global && setup_.blocks > 1 && !report_.ended()) order_.blocks.compare_blocks();
  if (order_.waits.logs() && !report_.ended()) check_progress(part_, order_.waits.log(), order_.grid);
  if (!report_.ended()) order_.grid.add_assumptions();
  return report_.why_ended() != Ended::kAgain;
}

Verdict Run::verdict() {
  report_.go_on();
  if (learned_.writes_unknown && setup_.check_global)
    report_.assume("pointers from memory point to buffers of their own");
  if (!learned_.written_objects.empty() && order_.read_only.buffers().size() > 1)
    report_.assume("different pointer parameters point to different buffers");
  if (learned_.table.assumed_no_wrap()) report_.assume("index arithmetic in 32 bits does not wrap");
  return report_.verdict();
}

void Run::run_block(uint32_t block) {
  steps_.explorer.begin(initial_state(block));
  while (auto state = steps_.explorer.next()) {
    ++learned_.effort.paths;
    run_path(*state);
    const Ended why = report_.why_ended();
    if (why == Ended::kRun) steps_.explorer.put_back(std::move(*state));
    if (why == Ended::kRun || why == Ended::kAgain) return;
    if (why == Ended::kNot) order_.waits.log_end(*state);
    if (why == Ended::kPath) order_.waits.note_defect();
    open_.innermost = nullptr;
    report_.go_on();
    if (setup_.check_global) order_.blocks.keep(*state);
  }
}

void Run::run_path(BlockState& state) {
  for (bool progress = true; progress;) {
    progress = false;
    for (Warp& warp : state.warps) {
      if ((warp.alive & ~warp.waiting) == 0) continue;
      progress = true;
      steps_.scheduler.run_warp(state, warp);
      if (report_.ended()) return;
      if (state.at_full_barrier) {
        state.at_full_barrier = false;
        steps_.explorer.at_full_barrier(state);
        if (report_.ended()) return;
      }
    }
  }
  for (const Warp& warp : state.warps)
    if (warp.waiting != 0) {
      steps_.barriers.report_stuck(state);
      return report_.end_path();
    }
  if (setup_.has_products) steps_.async.check_warpgroups(state);
}

}  // namespace glove::verify
