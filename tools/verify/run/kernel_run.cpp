// Blocks, scheduling and the end of a run.
#include "run/kernel_run.h"

#include <algorithm>

namespace glove::verify {

KernelRun::KernelRun(const Kernel& kernel, const Launch& launch, const Options& options,
                     std::chrono::steady_clock::time_point deadline)
    : kernel_(kernel), launch_(launch), options_(options), flow_(kernel), deadline_(deadline) {
  threads_ = launch_.block[0] * launch_.block[1] * launch_.block[2];
  blocks_ = launch_.grid[0] * launch_.grid[1] * launch_.grid[2];
  check_global_ = !options_.shared_only;
  executed_.assign(kernel_.code.size(), false);
  for (const Instruction& in : kernel_.code) {
    has_named_barriers_ |= in.op == Op::kBarrier &&
                           (in.barrier == BarrierOp::kArrive || in.operands.empty() ||
                            in.operands[0].kind != OperandKind::kImmediate || in.operands[0].immediate != 0);
    acquires_ |= (in.op == Op::kFence || in.acquire) && blocks_ > 1 && check_global_;
    has_products_ |= in.op == Op::kWgmma;
    if (in.op == Op::kLoad || in.op == Op::kStore || in.op == Op::kAtomic)
      if (in.space != Space::kParam && in.space != Space::kConst && in.space != Space::kLocal)
        granule_ = std::min(granule_, std::max(1u, bits_of(in.type) / 8));
  }
}

std::vector<uint32_t> KernelRun::threads_of(const Warp& warp, Lanes lanes) const {
  std::vector<uint32_t> threads;
  each_lane(lanes, [&](int lane) { threads.push_back(warp.thread(lane)); });
  return threads;
}

// Registers that some path reads before it writes them hold anything, in each lane something else.
void KernelRun::leave_unwritten(Warp& warp) {
  for (const uint32_t r : flow_.live_in(0)) {
    const Type type = kernel_.registers[r].type;
    WarpRegister& target = warp.registers.change(r);
    each_lane(warp.lanes, [&](int lane) {
      target.set(lane, type == Type::kPred
                           ? table_.fresh_predicate(Scope::kThread, true)
                           : table_.fresh(std::max(16u, bits_of(type)), Scope::kThread, true));
    });
  }
}

BlockState KernelRun::initial_state(uint32_t block) {
  BlockState state;
  state.block = block;
  state.block_index = {block % launch_.grid[0], block / launch_.grid[0] % launch_.grid[1],
                       block / launch_.grid[0] / launch_.grid[1]};
  state.clocks = Clocks((threads_ + 31) / 32 * 32, has_products_);
  for (uint32_t first = 0; first < threads_; first += 32) {
    Warp warp;
    warp.index = first / 32;
    warp.lanes = threads_ - first >= 32 ? ~Lanes{0} : (Lanes{1} << (threads_ - first)) - 1;
    warp.alive = warp.lanes;
    warp.registers = RegisterFile(kernel_.registers.size());
    leave_unwritten(warp);
    state.warps.push_back(std::move(warp));
  }
  return state;
}

void KernelRun::forget() {
  records_.clear();
  recent_records_.clear();
  found_.clear();
  reported_races_.clear();
  verdict_.findings.clear();
  grid_cells_.clear();
  grid_forms_.clear();
  grid_ranges_.clear();
  grid_known_.clear();
  grid_adjusted_.clear();
  read_objects_.clear();
  read_anywhere_.clear();
  read_words_.clear();
  locations_.clear();
  ticketed_.clear();
  arrivals_.clear();
  counters_.clear();
  flags_.clear();
  reversing_.clear();
  raised_.clear();
  needs_sequential_ = seen_without_sequential_ = light_releases_ = seen_elsewhere_ = 0;
  counter_places_.clear();
  spoiled_.clear();
  assumptions_.clear();
  used_counters_.clear();
  drawings_.clear();
  forks_.clear();
  snapshots_.clear();
  log_ = {};
  located_.clear();
  context_ = nullptr;
}

// From the first block to the last comparison, or until the run ends.
void KernelRun::run_once() {
  for (uint32_t block = 0; block < blocks_ && !ended(); ++block) run_block(block);
  if (check_global_ && blocks_ > 1 && !ended()) compare_blocks();
  if (!ended()) check_progress();
  if (!ended()) validate_counters();
}

Verdict KernelRun::run() {
  const auto begin = std::chrono::steady_clock::now();
  for (run_once(); ended_ == Ended::kAgain; run_once()) {
    ended_ = Ended::kNot;
    forget();
  }
  ended_ = Ended::kNot;
  if (writes_unknown_ && check_global_) assume("pointers from memory point to buffers of their own");
  if (!written_objects_.empty()) {
    std::set<SymbolId> buffers(written_objects_.begin(), written_objects_.end());
    buffers.insert(read_objects_.begin(), read_objects_.end());
    buffers.erase(SymbolId{0});
    if (buffers.size() > 1) assume("different pointer parameters point to different buffers");
  }
  if (table_.assumed_no_wrap()) assume("index arithmetic in 32 bits does not wrap");
  verdict_.assumptions.assign(assumptions_.begin(), assumptions_.end());
  verdict_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  list_uncovered();
  return std::move(verdict_);
}

// Memory and synchronising instructions that were not reached, but for copies of a source line (of an
// unrolled loop, say) of which another was.
void KernelRun::list_uncovered() {
  const auto name = [&](const Instruction& in) {
    std::string text = in.text;
    for (const SourceLine& line : kernel_.sites[in.site].chain)
      text += " " + line.file + ":" + std::to_string(line.line) + ":" + std::to_string(line.column);
    return kernel_.sites[in.site].chain.empty() ? "" : text;
  };
  std::set<std::string> reached;
  for (size_t i = 0; i < executed_.size(); ++i)
    if (executed_[i]) reached.insert(name(kernel_.code[i]));
  reached.erase("");
  for (size_t i = 0; i < executed_.size(); ++i) {
    const Instruction& in = kernel_.code[i];
    const bool matters = is_block_barrier(in) || is_warp_synchronisation(in) || in.op == Op::kStore ||
                         in.op == Op::kAtomic || in.op == Op::kCopy ||
                         (in.op == Op::kLoad && in.space != Space::kParam);
    if (matters && !executed_[i] && reached.count(name(in)) == 0)
      verdict_.uncovered.push_back(in.text + " at PTX line " +
                                   std::to_string(kernel_.sites[in.site].ptx_line) + ", " + source_line(in));
  }
}

void KernelRun::run_block(uint32_t block) {
  snapshots_.clear();
  forks_.clear();
  forks_.push_back(initial_state(block));
  while (!forks_.empty()) {
    BlockState state = std::move(forks_.back());
    forks_.pop_back();
    ++verdict_.paths;
    run_path(state);
    if (ended_ == Ended::kRun) {
      forks_.push_back(std::move(state));  // ends with the engine, for which the caller may choose the time
      return;
    }
    if (ended_ == Ended::kAgain) return;
    if (ended_ == Ended::kNot) log_end(state);
    log_.complete &= ended_ != Ended::kPath;
    context_ = nullptr;
    ended_ = Ended::kNot;
    if (check_global_) keep_for_grid(state);
  }
}

void KernelRun::run_path(BlockState& state) {
  for (bool progress = true; progress;) {
    progress = false;
    for (Warp& warp : state.warps) {
      if ((warp.alive & ~warp.waiting) == 0) continue;
      progress = true;
      run_warp(state, warp);
      if (ended()) return;
      if (state.at_full_barrier) {
        state.at_full_barrier = false;
        at_full_barrier(state);
        if (ended()) return;
      }
    }
  }
  for (const Warp& warp : state.warps)
    if (warp.waiting != 0) {
      report_stuck(state);
      return end_path();
    }
  if (has_products_) check_warpgroups(state);
}

void KernelRun::run_warp(BlockState& state, Warp& warp) {
  while ((warp.alive & ~warp.waiting) != 0 && !state.at_full_barrier && !ended())
    run_group(state, warp, ~Lanes{0}, -1);
}

// One instruction of the lanes that are furthest behind; false if none of `scope` can run before `stop`.
bool KernelRun::run_group(BlockState& state, Warp& warp, Lanes scope, int stop) {
  const Lanes ready = warp.alive & ~warp.waiting & scope;
  int best = -1, best_order = 0;
  int waiting_pc = -1, waiting_order = 0;
  Lanes group = 0;
  const auto synchronises = [&](int pc) {
    const Instruction& in = kernel_.code[static_cast<size_t>(pc)];
    return is_warp_synchronisation(in) || (is_block_barrier(in) && in.aligned);
  };
  each_lane(ready, [&](int lane) {
    const int pc = warp.pc[static_cast<size_t>(lane)];
    if (pc == stop) return;
    const int order = flow_.order(pc);
    int& chosen = synchronises(pc) ? waiting_pc : best;
    int& chosen_order = synchronises(pc) ? waiting_order : best_order;
    if (chosen < 0 || order < chosen_order) chosen = pc, chosen_order = order;
  });
  // Lanes at a synchronising instruction wait until no other lane can still come to it.
  const int pc = best >= 0 ? best : waiting_pc;
  if (pc < 0) return false;
  each_lane(ready, [&](int lane) { group |= Lanes{warp.pc[static_cast<size_t>(lane)] == pc} << lane; });
  if (!tick()) return false;
  if (best < 0) {
    if (run_complete_group(state, warp, ready, stop) || ended()) return true;
    lanes_apart(state, warp, group, pc);
    return false;
  }
  executed_[static_cast<size_t>(pc)] = true;
  step(state, warp, group, pc);
  return true;
}

// All of `ready` wait at synchronising instructions: the first group that is complete goes on.
bool KernelRun::run_complete_group(BlockState& state, Warp& warp, Lanes ready, int stop) {
  std::vector<int> places;
  each_lane(ready, [&](int lane) {
    const int at = warp.pc[static_cast<size_t>(lane)];
    if (at != stop && std::find(places.begin(), places.end(), at) == places.end()) places.push_back(at);
  });
  std::sort(places.begin(), places.end(), [&](int a, int b) { return flow_.order(a) < flow_.order(b); });
  for (const int place : places) {
    Lanes there = 0, members = 0;
    each_lane(ready, [&](int lane) { there |= Lanes{warp.pc[static_cast<size_t>(lane)] == place} << lane; });
    const bool complete = warp_complete(state, warp, there, place, &members);
    if (ended()) return false;
    if (!complete) continue;
    executed_[static_cast<size_t>(place)] = true;
    if (kernel_.code[static_cast<size_t>(place)].op == Op::kWarpBarrier)
      step_warp_barrier(state, warp, members);
    else
      step(state, warp, members, place);
    return true;
  }
  return false;
}

// The lanes of `group` wait for others that cannot come.
void KernelRun::lanes_apart(BlockState& state, Warp& warp, Lanes group, int pc) {
  const Instruction& in = kernel_.code[static_cast<size_t>(pc)];
  const int lane = std::countr_zero(group);
  std::string message = "the lanes of a warp do not come to '" + in.text + "' together: thread " +
                        std::to_string(warp.thread(lane)) + " waits here";
  const Instruction* other = nullptr;
  const Lanes missing = warp.lanes & ~group;
  if (missing != 0) {
    const int far = std::countr_zero(missing);
    message += ", thread " + std::to_string(warp.thread(far));
    if ((warp.alive >> far & 1) == 0)
      message += " has left the kernel";
    else if ((warp.waiting >> far & 1) != 0)
      message += " waits at a barrier";
    else
      other = &kernel_.code[static_cast<size_t>(
          std::min<int>(warp.pc[static_cast<size_t>(far)], static_cast<int>(kernel_.code.size()) - 1))],
      message += " is elsewhere";
  }
  find(FindingKind::kDivergence, !under_conditions(state, warp), in, other, message, &state);
  end_path();
}

bool KernelRun::tick() {
  if (ended()) return false;
  const bool in_steps = ++verdict_.steps < options_.most_steps;
  if (in_steps && ((verdict_.steps & 0xf) != 0 || std::chrono::steady_clock::now() < deadline_)) return true;
  verdict_.out_of_time = true;
  Finding finding;
  finding.kind = FindingKind::kUnproved;
  finding.message = std::string(in_steps ? "the time limit" : "the limit of steps") +
                    " ended the search after " + std::to_string(verdict_.steps) + " warp instructions";
  verdict_.findings.push_back(finding);
  ended_ = Ended::kRun;
  return false;
}

void KernelRun::report_stuck(BlockState& state) {
  for (uint32_t barrier = 0; barrier < Clocks::kBarriers; ++barrier) {
    const NamedBarrier& stuck = state.barriers[barrier];
    if (stuck.waiting.empty()) continue;
    const Instruction& in = kernel_.code[stuck.instructions[0]];
    std::string message = "thread " + std::to_string(stuck.waiting[0]) + " waits for ever at barrier " +
                          std::to_string(barrier) + ": " + std::to_string(stuck.arrived) + " of " +
                          std::to_string(stuck.expected) + " threads arrive";
    uint32_t gone = 0;
    for (const Warp& warp : state.warps)
      gone += static_cast<uint32_t>(std::popcount(warp.lanes & ~warp.alive));
    if (gone > 0) message += "; " + std::to_string(gone) + " have left the kernel";
    find(gone > 0 && in.operands.size() < 2 ? FindingKind::kDivergence : FindingKind::kDeadlock, !state.path,
         in, nullptr, message, &state);
  }
}

bool KernelRun::under_conditions(const BlockState& state, const Warp& warp) const {
  return context_ != nullptr || state.path != nullptr || warp.path != nullptr;
}

void KernelRun::find(FindingKind kind, bool definite, const Instruction& in, const Instruction* other,
                     std::string message, const BlockState* state) {
  if (ended()) return;
  Finding finding;
  finding.kind = kind;
  finding.definite = definite;
  finding.message = std::move(message);
  finding.site = kernel_.sites[in.site];
  if (other != nullptr) finding.other = kernel_.sites[other->site];
  // Copies of a line that the compiler made count once.
  const auto place = [](const Site& site) {
    if (site.chain.empty()) return std::to_string(site.ptx_line);
    std::string name;
    for (const SourceLine& line : site.chain)
      name += line.file + ":" + std::to_string(line.line) + ":" + std::to_string(line.column) + " ";
    return name;
  };
  std::string a = place(finding.site), b = place(finding.other);
  if (b < a) std::swap(a, b);
  if (!found_.insert(std::to_string(static_cast<int>(kind)) + ":" + a + ":" + b).second) return;
  if (state != nullptr && state->path != nullptr) {
    std::string conditions;
    int shown = 0;
    for (const Path* path = state->path.get(); path != nullptr && shown < 8;
         path = path->parent.get(), ++shown) {
      const Site& site = kernel_.sites[kernel_.code[path->site].site];
      conditions += (shown > 0 ? ", " : "") +
                    (site.chain.empty() ? "PTX line " + std::to_string(site.ptx_line)
                                        : site.chain[0].file + ":" + std::to_string(site.chain[0].line));
    }
    finding.explanation.push_back("on a path that is decided at " + conditions);
  }
  verdict_.findings.push_back(std::move(finding));
  if (verdict_.findings.size() >= options_.most_findings) ended_ = Ended::kRun;
}

void KernelRun::end_path(bool goes_on) {
  if (!ended()) ended_ = goes_on ? Ended::kCovered : Ended::kPath;
}

void KernelRun::begin_again() {
  if (!ended()) ended_ = Ended::kAgain;
}

void KernelRun::assume(const std::string& what) {
  if (!ended()) assumptions_.insert(what);
}

void KernelRun::unsupported(const Instruction& in, const std::string& reason) {
  find(FindingKind::kUnsupported, true, in, nullptr, "'" + in.text + "': " + reason, nullptr);
  ended_ = Ended::kRun;
}

void KernelRun::unproved(const Instruction& in, const std::string& reason, const BlockState* state) {
  find(FindingKind::kUnproved, false, in, nullptr, reason, state);
  end_path();
}

}  // namespace glove::verify
