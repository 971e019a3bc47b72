#include "steps/steps.h"

#include <algorithm>

namespace glove::verify {

constexpr unsigned kBulkUnit = 16;  // bytes; copies are of multiples of it
constexpr uint64_t kMostCopied = 1 << 20;

// Where a thread goes from an instruction that has no effect, if registers hold what is known, which changes;
// nullopt: the instruction has an effect.
std::optional<std::vector<int>> MbarrierSteps::ways_on(int at, std::map<uint32_t, uint64_t>& known) const {
  if (at >= setup_.flow.end()) return std::nullopt;
  const Instruction& in = setup_.kernel.code[at];
  const auto value = [&](const PtxOperand& operand) -> std::optional<uint64_t> {
    if (operand.kind == OperandKind::kImmediate) return operand.immediate ^ (operand.negated ? 1 : 0);
    const auto found = operand.kind == OperandKind::kRegister && operand.immediate == 0
                           ? known.find(operand.index)
                           : known.end();
    return found == known.end() ? std::nullopt : std::optional(found->second ^ (operand.negated ? 1 : 0));
  };
  const std::optional<uint64_t> guard = in.guard ? value(*in.guard) : std::optional<uint64_t>(1);
  if (in.op == Op::kBranch) {
    std::vector<int> ways;
    if (guard != 0) ways.push_back(in.targets[0]);
    if (guard != 1) ways.push_back(at + 1);
    return ways;
  }
  if (in.op > Op::kPure && in.op != Op::kNothing) return std::nullopt;
  if (guard == 0) return std::vector<int>{at + 1};
  std::optional<uint64_t> result;
  if (guard == 1 && in.results.size() == 1 && in.comparison.combine == 0 && in.op < Op::kConvertAddress &&
      !in.operands.empty() && in.operands.size() <= 4) {
    uint64_t numbers[4] = {};
    bool all = true;
    for (size_t i = 0; i < in.operands.size(); ++i) {
      const auto number = value(in.operands[i]);
      all &= number.has_value();
      numbers[i] = number.value_or(0);
    }
    if (all) result = compute(in, numbers);
  }
  for (const PtxOperand& target : in.results)
    if (target.kind == OperandKind::kRegister) known.erase(target.index);
  if (result && in.results[0].kind == OperandKind::kRegister) known[in.results[0].index] = *result;
  return std::vector<int>{at + 1};
}

const std::optional<MbarrierSteps::WayBack>& MbarrierSteps::way_back(int pc) {
  const auto [found, added] = ways_back_.try_emplace(pc);
  if (!added) return found->second;
  const Instruction& in = setup_.kernel.code[pc];
  if (in.guard || in.results[0].kind != OperandKind::kRegister) return found->second;
  const auto is = [](const PtxOperand& a, const PtxOperand& b) {
    return a.kind == OperandKind::kRegister && b.kind == OperandKind::kRegister && a.index == b.index;
  };
  using Facts = std::map<uint32_t, uint64_t>;
  std::map<int, Facts> seen;
  std::vector<std::pair<int, Facts>> work = {{pc + 1, {{in.results[0].index, 0}}}};
  WayBack back;
  while (!work.empty()) {
    auto [at, known] = std::move(work.back());
    work.pop_back();
    if (at == pc) continue;
    if (const auto before = seen.find(at); before != seen.end()) {  // what holds however it comes here
      std::erase_if(known, [&](const auto& entry) {
        const auto other = before->second.find(entry.first);
        return other == before->second.end() || other->second != entry.second;
      });
      if (known == before->second) continue;
    }
    seen[at] = known;
    const auto ways = ways_on(at, known);
    if (!ways) return found->second;
    for (const PtxOperand& result : setup_.kernel.code[at].results) {
      const Instruction& there = setup_.kernel.code[at];
      if (!is(result, in.address) && !is(result, in.operands[0])) {
        if (std::ranges::none_of(back.changed, [&](const PtxOperand& one) { return is(one, result); }))
          back.changed.push_back(result);
      } else if (there.op == Op::kMove && there.operands.size() == 1 &&
                 there.operands[0].kind != OperandKind::kRegister) {
        back.set.emplace_back(result, there.operands[0]);
      } else {
        return found->second;
      }
    }
    for (const int way : *ways) work.emplace_back(way, known);
  }
  return found->second = std::move(back);
}

// Whether all that the lanes do while the phase has not ended is to come to the same wait again.
bool MbarrierSteps::waits_again(const BlockState& state, const Warp& warp, Lanes lanes, int pc) {
  bool same = way_back(pc).has_value();
  each_lane(same ? lanes : 0, [&](int lane) {
    for (const auto& [changed, to] : way_back(pc)->set)
      same &= read(state, warp, changed, lane) == read(state, warp, to, lane);
  });
  return same;
}

// A lane has seen at a wait that the phase has ended, after any number of looks.
void MbarrierSteps::pass(BlockState& state, Warp& warp, int lane) {
  const int pc = warp.pc[lane]++;
  for (const PtxOperand& changed : way_back(pc)->changed)
    if (changed.kind == OperandKind::kRegister)
      write(state, warp, changed, lane,
            table_.fresh_of(setup_.kernel.registers[changed.index].type, Scope::kThread), 0);
  write(state, warp, setup_.kernel.code[pc].results[0], lane, {1, 0}, 0);
}

std::optional<uint64_t> MbarrierSteps::number(BlockState& state, Warp& warp, const Instruction& in,
                                              const PtxOperand& operand, int lane, const std::string& what) {
  const Value value = read(state, warp, operand, lane);
  if (value.known()) return value.constant;
  report_.unproved(in, what + " is not known", &state);
  return std::nullopt;
}

void MbarrierSteps::step(BlockState& state, Warp& warp, Lanes lanes, int pc) {
  const Instruction& in = setup_.kernel.code[pc];
  const Guarded guard = guard_of(state, warp, lanes, in);
  if (guard.possible != 0 || open_.innermost != nullptr)
    return report_.unproved(in, "an mbarrier under a condition that is not known", &state);
  if (in.collective.mbarrier == MbarrierOp::kWait && !waits_again(state, warp, guard.certain, pc))
    return report_.unsupported(in, "what it returns decides more than whether the thread waits again");
  std::array<Place, 32> places;
  each_lane(guard.certain, [&](int lane) {
    if (report_.ended()) return;
    Place& place = places[lane] = place_of(state, warp, in, read(state, warp, in.address, lane), lane);
    if (place.space != Space::kShared || place.kind != Place::kNumber)
      return report_.unproved(in, "which mbarrier it is about is not known", &state);
    (void)check_bounds(state, warp, in, place, lane, !open_.under_conditions(state, warp));
  });
  if (report_.ended()) return;
  const bool begins =
      in.collective.mbarrier == MbarrierOp::kInit || in.collective.mbarrier == MbarrierOp::kInvalidate;
  order_.block_races.access(state, warp, in, begins ? AccessKind::kWrite : AccessKind::kAtomic, 8,
                            guard.certain, places, guard);
  each_lane(lanes, [&](int lane) {
    if (report_.ended()) return;
    if (!has(guard.certain, lane)) return void(++warp.pc[lane]);
    if (begins) steps_.memory.forget_location(state, warp, places[lane], lane, 8);
    if (!report_.ended()) step_lane(state, warp, in, places[lane].address.constant, lane);
  });
}

// The phase for which a wait waits.
std::optional<uint32_t> MbarrierSteps::awaited(BlockState& state, Warp& warp, const Instruction& in,
                                               Mbarriers::Index at, int lane) {
  if (!in.wide) {
    const Value given = read(state, warp, in.operands[0], lane);
    const auto token = given.constant == 0 ? tokens_.find(given.form) : tokens_.end();
    if (token != tokens_.end() && token->second.at == at) return token->second.phase;
    report_.unproved(in, "it is not known which arrival has returned the token", &state);
    return std::nullopt;
  }
  const auto parity = number(state, warp, in, in.operands[0], lane, "the parity of the phase");
  if (!parity) return std::nullopt;
  return state.mbarriers.phase_of_parity(at, warp.thread(lane), *parity & 1, state.clocks);
}

void MbarrierSteps::init(BlockState& state, Warp& warp, const Instruction& in, uint64_t address, int lane) {
  const auto count = number(state, warp, in, in.operands[0], lane, "the count of an mbarrier");
  if (!count) return;
  if (address % 8 != 0 || *count == 0 || *count >= 1 << 20)
    return defect(FindingKind::kCount, state, warp, in,
                  "an mbarrier at " + std::to_string(address) + " for " + std::to_string(*count) +
                      " arrivals; the address must be a multiple of 8, and there are 1 to 1048575");
  for (uint64_t i = 0; i < 8; i += 4) state.shared.write(address + i, 4, {}, false);
  const std::string fault = state.mbarriers.init(address, static_cast<uint32_t>(*count), warp.thread(lane));
  if (!fault.empty()) report_.unproved(in, fault, &state);
}

void MbarrierSteps::step_lane(BlockState& state, Warp& warp, const Instruction& in, uint64_t address,
                              int lane) {
  const uint32_t thread = warp.thread(lane);
  Mbarriers& all = state.mbarriers;
  const auto check = [&](const std::string& fault) {
    if (!fault.empty()) defect(FindingKind::kRecycling, state, warp, in, fault);
  };
  const Mbarriers::Index at = all.find(address);
  if (in.collective.mbarrier == MbarrierOp::kWait && at != Clocks::kMbarriers) {
    const auto phase = awaited(state, warp, in, at, lane);
    if (!phase) return;
    std::string fault;
    if (all.wait(at, thread, *phase, state.clocks, &fault))
      pass(state, warp, lane);
    else
      warp.waiting |= Lanes{1} << lane;
    return check(fault);
  }
  ++warp.pc[lane];
  if (in.collective.mbarrier == MbarrierOp::kInit) return init(state, warp, in, address, lane);
  if (at == Clocks::kMbarriers)
    return defect(FindingKind::kUndefinedRead, state, warp, in,
                  setup_.name_of_thread(state, thread) + " uses " + setup_.shared_at(state, address) +
                      " as an mbarrier, which it is not");
  if (in.collective.mbarrier == MbarrierOp::kInvalidate)
    return check(all.invalidate(at, thread, state.clocks));
  const bool expects = in.collective.mbarrier == MbarrierOp::kExpect, pays = expects || in.wide;
  std::optional<uint64_t> given = 1;
  if (!in.operands.empty())
    given = number(state, warp, in, in.operands[0], lane,
                   pays ? "the number of bytes that it expects" : "the number of arrivals");
  if (!given) return;
  if (!pays && (*given == 0 || *given >= 1 << 20))
    return defect(FindingKind::kCount, state, warp, in, std::to_string(*given) + " arrivals at once");
  if (!in.results.empty() && in.results[0].kind == OperandKind::kRegister) {
    const Value token = table_.fresh(64, Scope::kThread);
    tokens_[token.form] = {at, all.generation(at)};
    write(state, warp, in.results[0], lane, token, 0);
  }
  const uint32_t times = expects ? 0 : pays ? 1 : static_cast<uint32_t>(*given);
  check(all.arrive(at, thread, times, pays ? *given : 0, state.clocks));
  end_phase(state, warp, in, at);
}

void MbarrierSteps::end_phase(BlockState& state, const Warp& warp, const Instruction& in,
                              Mbarriers::Index at) {
  if (report_.ended()) return;
  const Mbarriers::End end = state.mbarriers.end_phase(at, state.clocks);
  for (const uint32_t thread : end.released) {
    Warp& other = state.warps[thread / 32];
    const int lane = static_cast<int>(thread % 32);
    other.waiting &= ~(Lanes{1} << lane);
    pass(state, other, lane);
  }
  if (!end.missed.empty()) return defect(FindingKind::kRecycling, state, warp, in, end.missed);
  if (!end.unproved.empty()) report_.unproved(in, end.unproved, &state);
}

void MbarrierSteps::step_bulk(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in) {
  const Guarded guard = guard_of(state, warp, lanes, in);
  if (guard.possible != 0 || open_.innermost != nullptr)
    return report_.unproved(in, "a bulk copy under a condition that is not known", &state);
  if (in.op == Op::kBulkCommit) {
    warp.bulk_reads.commit(guard.certain);
    return warp.bulk_writes.commit(guard.certain);
  }
  if (in.op == Op::kBulkWait && in.operands[0].kind != OperandKind::kImmediate)
    return report_.unsupported(in, "the number of groups is not a constant");
  each_lane(guard.certain, [&](int lane) {
    if (report_.ended()) return;
    if (in.op == Op::kBulkCopy) return copy(state, warp, in, lane, {.certain = Lanes{1} << lane});
    const uint32_t epoch = state.clocks.epoch(warp.thread(lane));
    const auto pending = static_cast<uint32_t>(in.operands[0].immediate);
    warp.bulk_reads.wait(lane, pending, epoch);
    if (!in.wide) warp.bulk_writes.wait(lane, pending, epoch);
  });
}

// Whether the first and the last bytes lie inside; the path ends if not.
bool MbarrierSteps::inside(BlockState& state, Warp& warp, const Instruction& in, Place place, uint64_t bytes,
                           int lane) {
  Instruction unit = in;
  unit.type = Type::kB128;
  const bool certain = !open_.under_conditions(state, warp);
  if (!check_bounds(state, warp, unit, place, lane, certain)) return false;
  place.address = table_.add(place.address, {bytes - kBulkUnit, 0}, 64);
  return check_bounds(state, warp, unit, place, lane, certain);
}

// Clocks::kMbarriers if it has none that it may use.
Mbarriers::Index MbarrierSteps::mbarrier_of_copy(BlockState& state, Warp& warp, const Instruction& in,
                                                 int lane, const Guarded& guard) {
  Instruction shared = in;
  shared.space = Space::kShared;
  std::array<Place, 32> places;
  const Place& place = places[lane] =
      place_of(state, warp, shared, read(state, warp, in.operands[1], lane), lane);
  if (place.kind != Place::kNumber) {
    report_.unproved(in, "the mbarrier of a bulk copy is not known", &state);
    return Clocks::kMbarriers;
  }
  const Mbarriers::Index at = state.mbarriers.find(place.address.constant);
  if (at == Clocks::kMbarriers) {
    defect(FindingKind::kUndefinedRead, state, warp, in,
           "a bulk copy names an mbarrier that is not initialised");
    return at;
  }
  order_.block_races.access(state, warp, in, AccessKind::kAtomic, 8, guard.certain, places, guard);
  if (!report_.ended() && !state.mbarriers.shown(at, warp.thread(lane), state.clocks))
    defect(FindingKind::kRace, state, warp, in,
           "no fence.mbarrier_init or fence.proxy.async of who has initialised the mbarrier shows it to the "
           "copy");
  return at;
}

void MbarrierSteps::copy(BlockState& state, Warp& warp, const Instruction& in, int lane,
                         const Guarded& guard) {
  const auto size = number(state, warp, in, in.operands[0], lane, "the size of a bulk copy");
  if (!size) return;
  if (*size == 0 || *size % kBulkUnit != 0 || *size > kMostCopied)
    return defect(FindingKind::kBounds, state, warp, in,
                  "a bulk copy of " + std::to_string(*size) + " bytes, which is no multiple of 16");
  Instruction shared = in, global = in;
  shared.space = Space::kShared, global.space = Space::kGlobal;
  std::array<Place, 32> to, from;
  to[lane] = place_of(state, warp, in.wide ? global : shared, read(state, warp, in.address, lane), lane);
  from[lane] = place_of(state, warp, in.wide ? shared : global, read(state, warp, in.source, lane), lane);
  if (setup_.acquires || order_.waits.logs())
    return report_.unsupported(in, "a bulk copy in a kernel whose blocks may order what they do");
  const Place& here = in.wide ? from[lane] : to[lane];
  if (here.kind != Place::kNumber)
    return report_.unproved(in, "where in shared memory a bulk copy begins is not known", &state);
  if (!inside(state, warp, in, to[lane], *size, lane) || !inside(state, warp, in, from[lane], *size, lane))
    return;
  Mbarriers::Index at = Clocks::kMbarriers;
  if (!in.wide) {
    at = mbarrier_of_copy(state, warp, in, lane, guard);
    if (report_.ended() || at == Clocks::kMbarriers) return;
    state.mbarriers.begin_flight(at);
  } else {
    warp.bulk_reads.begin(guard.certain);
    warp.bulk_writes.begin(guard.certain);
  }
  const auto bytes = static_cast<unsigned>(*size);
  for (uint64_t i = 0; in.wide && i < *size; i += 4)
    if (undefined(state, in, here.address.constant + i)) {
      undefined_read(state, warp, in, true, lane,
                     setup_.shared_at(state, here.address.constant + i) + " is copied");
      break;
    }
  order_.block_races.access(state, warp, in, AccessKind::kRead, bytes, guard.certain, from, guard,
                            in.wide ? Flight::kBulkRead : Flight::kBulk);
  if (report_.ended()) return;
  order_.block_races.access(state, warp, in, AccessKind::kWrite, bytes, guard.certain, to, guard,
                            in.wide ? Flight::kBulkWrite : Flight::kBulk);
  if (report_.ended()) return;
  steps_.memory.forget_location(state, warp, to[lane], lane, bytes);
  if (in.wide) return;
  if (open_.innermost == nullptr) state.shared.define(here.address.constant, *size, true);
  for (uint64_t i = 0; i < *size; i += 4) state.shared.write(here.address.constant + i, 4, {}, false);
  if (const std::string fault = state.mbarriers.copy(at, warp.thread(lane), *size, state.clocks);
      !fault.empty())
    return defect(FindingKind::kRecycling, state, warp, in, fault);
  end_phase(state, warp, in, at);
}

void MbarrierSteps::check_end(const BlockState& state) {
  const bool reads = std::ranges::any_of(
      state.warps, [](const Warp& warp) { return warp.bulk_reads.batches(~Lanes{0}) > 0; });
  if (!reads && !state.mbarriers.unawaited(state.clocks)) return;
  const auto copy = std::ranges::find(setup_.kernel.code, Op::kBulkCopy, &Instruction::op);
  report_.unproved(*copy, "the block may end before a bulk copy does; wait for each", &state);
}

}  // namespace glove::verify
