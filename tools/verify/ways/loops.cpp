#include "ways/ways.h"

#include <algorithm>

namespace glove::verify {

constexpr uint32_t kUnrolled = 6;              // rounds before a loop is generalised
constexpr size_t kMostInFlight = 2 * 32 * 32;  // two numbers for each lane and group

bool Loops::visit_loop(BlockState& state, Warp& warp, Context& context, Lanes lanes, int pc) {
  LoopState& loop = context.loop_states[pc];
  if (++loop.visits < kUnrolled || !setup_.flow.region(pc).loops) return true;
  if (loop.start.registers.empty() && loop.start.lanes == 0) {
    loop.start = capture(state, warp, context, lanes);
    return true;
  }
  // Lanes that come for the first time since then begin here.
  const Lanes fresh = lanes & ~loop.start.lanes, old = lanes & ~fresh;
  if (fresh != 0) {
    for (size_t i = 0; i < context.written->size(); ++i)
      each_lane(fresh, [&](int lane) {
        loop.start.registers[i].set(lane, warp.registers[(*context.written)[i]].get(lane));
      });
    loop.start.lanes |= fresh;
    loop.start.path = common_path(loop.start.path, warp.path);
    if (loop.widened != 0) loop.general.path = common_path(loop.general.path, warp.path);
    if (old == 0) return true;
  }
  if (loop.rounds_left > 0) return --loop.rounds_left > 0;
  const Lanes first = old & ~loop.widened;
  if (loop.widened == 0) loop.general = loop.start;
  begin_iterations(context, loop, first);
  const std::vector<uint32_t> ages = warp.copies.ages(old);
  if (ages.size() > kMostInFlight) {
    report_.unproved(setup_.kernel.code[pc],
                     "a loop whose length is not known begins copies and does not wait for them", &state);
    return false;
  }
  const bool changed = generalise(warp, context, loop, old, first, pc) || first != 0 || fresh != 0 ||
                       loop.blurred != state.blurred || loop.ages != ages;
  loop.widened |= old;
  loop.blurred = state.blurred;
  loop.ages = ages;
  if (!changed) {
    // Where the lanes synchronise, the end of a round meets the beginning of the next: one round more. What
    // is in flight meets all rounds until it is complete.
    loop.rounds_left = (context.synchronises ? 1 : 0) + static_cast<int>(warp.copies.batches(old));
    if (!loop.common.empty()) renew_common(warp, context, loop, old);
    return loop.rounds_left > 0;
  }
  Bundle general = loop.general;
  general.lanes = old;
  general.pc = warp.pc;
  general.exited = 0;
  general.knows = capture(state, warp, context, old).knows;
  general.copies = warp.copies;
  general.path = fresh != 0 ? common_path(loop.general.path, warp.path) : loop.general.path;
  restore(state, warp, context, general);
  report_.assume("loops that the data end do end, and their counters do not wrap");
  return true;
}

// The next round stands for any later one: what is the same for all lanes in a round is another number in it,
// so that what one lane does in the round that was run is not taken for what others do in the same round
// alone.
void Loops::renew_common(Warp& warp, const Context& context, const LoopState& loop, Lanes lanes) {
  std::map<std::pair<bool, uint32_t>, Value> renewed;
  for (size_t i = 0; i < context.written->size(); ++i) {
    const uint32_t r = (*context.written)[i];
    const bool predicate = setup_.kernel.registers[r].type == Type::kPred;
    each_lane(lanes, [&](int lane) {
      Value value = loop.general.registers[i].get(lane);
      if (computed_from(table_, value, predicate, loop.iteration[lane])) return;
      if (predicate && loop.anything.count((value.form & ~1u) | 0x80000000u) > 0) {
        Value& fresh = renewed[{true, value.form & ~1u}];
        if (fresh.known()) fresh = table_.fresh_predicate(Scope::kThread, false);
        value = {0, fresh.form ^ (value.form & 1)};
      } else if (!predicate && loop.common.count(table_.single(value)) > 0) {
        Value& fresh = renewed[{false, value.form}];
        if (fresh.known()) fresh = table_.fresh(table_.symbol(table_.single(value)).bits, Scope::kWarp);
        table_.note_source(table_.single(fresh), value);
        value = fresh;
      }
      warp.registers.change(r).set(lane, value);
    });
  }
}

// Lanes that go on together, and hold the same number in a register in each round, hold one that is the same
// for all of them in the general round, too; or that is given up. Returns whether it was.
bool Loops::keep_common(Warp& warp, const Context& context, LoopState& loop, size_t slot, Lanes lanes,
                        bool all_new) {
  const uint32_t r = (*context.written)[slot];
  const auto lead = std::countr_zero(lanes);
  const WarpRegister &now = warp.registers[r], &start = loop.start.registers[slot];
  WarpRegister& general = loop.general.registers[slot];
  bool same = context.synchronises && context.running->uniform && lanes == loop.start.lanes &&
              now.get(lead).form != kUnnamed && start.get(lead).form != kUnnamed;
  bool common = false, any = true;
  each_lane(lanes, [&](int lane) {
    same &= now.get(lane) == now.get(lead) && start.get(lane) == start.get(lead);
    common |= loop.common.count(table_.single(general.get(lane))) > 0;
    any &= loop.anything.count(table_.single(general.get(lane))) > 0;
  });
  if (same && !common && all_new && any && std::popcount(lanes) > 1) {
    const SymbolId symbol = table_.single(general.get(lead));
    table_.change(symbol).scope = Scope::kWarp;
    loop.common.insert(symbol);
    each_lane(lanes, [&](int lane) { general.set(lane, table_.of(symbol)); });
  }
  if (same || !common) return false;
  each_lane(lanes, [&](int lane) {
    const Value value = table_.fresh(table_.symbol(table_.single(general.get(lane))).bits, Scope::kThread);
    loop.anything.insert(table_.single(value));
    for (const Value& source : {now.get(lane), start.get(lane)})
      table_.note_source(table_.single(value), source);
    general.set(lane, value);
  });
  return true;
}

// The lanes' general state is where they started, and the number of rounds since then is a symbol.
void Loops::begin_iterations(const Context& context, LoopState& loop, Lanes lanes) {
  const bool together = context.synchronises && context.running->uniform;
  SymbolId shared = 0;
  each_lane(lanes, [&](int lane) {
    for (size_t i = 0; i < context.written->size(); ++i)
      loop.general.registers[i].set(lane, loop.start.registers[i].get(lane));
    if (!together || shared == 0) {
      shared = table_.single(table_.iteration(together ? Scope::kBlock : Scope::kThread));
    }
    loop.iteration[lane] = shared;
  });
}

// Whether a value is that of the general one's own round, while others of the lane have gone one round on.
bool Loops::left_behind(const LoopState& loop, Value general, bool predicate, int lane) const {
  const SymbolId iteration = loop.iteration[lane];
  return loop.goes_on.count(iteration) > 0 && computed_from(table_, general, predicate, iteration);
}

// The general value that covers `now`: the general one if it does, the start plus a multiple of the rounds,
// or anything.
Value Loops::general_value(LoopState& loop, Value now, Value start, Value general, bool first, int lane,
                           unsigned bits, bool integer) {
  const SymbolId iteration = loop.iteration[lane];
  if (now == general && !left_behind(loop, general, false, lane)) return general;
  const SymbolId symbol = table_.single(general);
  if (symbol != 0 && loop.anything.count(symbol) > 0) return table_.note_source(symbol, now), general;
  if (integer && first) {
    const Value step = table_.subtract(now, start, bits);
    if (step.known())
      return table_.add(start, table_.scale(table_.of(iteration), sign_extend(step.constant, bits), bits),
                        bits);
  }
  if (integer && table_.goes_on(general, now, iteration, bits)) return general;
  const SymbolId seen = table_.single(now), before = table_.single(start);
  const auto differs = [&](SymbolId id) {
    return id == 0 || table_.symbol(id).kind != SymbolKind::kOperation || table_.symbol(id).op != Op::kXor;
  };
  if (!differs(seen) && !differs(before) && !differs(symbol)) {  // of what two loads saw: of general ones
    const Symbol n = table_.symbol(seen), s = table_.symbol(before), g = table_.symbol(symbol);
    if (n.bits == s.bits && n.bits == g.bits && n.type == s.type && n.type == g.type) {
      const Value arguments[3] = {
          general_value(loop, n.arguments[0], s.arguments[0], g.arguments[0], first, lane, n.bits, true),
          general_value(loop, n.arguments[1], s.arguments[1], g.arguments[1], first, lane, n.bits, true),
          {}};
      return table_.operation(Op::kXor, n.type, n.detail, n.bits, arguments);
    }
  }
  const Value any = table_.fresh(bits, Scope::kThread);
  const Symbol n = table_.symbol(seen), s = table_.symbol(before);
  if (n.kind == SymbolKind::kObserved && s.kind == SymbolKind::kObserved && n.detail == s.detail) {
    Symbol& same = table_.change(table_.single(any));
    same.kind = SymbolKind::kObserved;
    same.detail = n.detail;
    for (const size_t i : {0u, 1u, 2u})
      if (n.arguments[i] == s.arguments[i]) same.arguments[i] = n.arguments[i];
    if (n.owner == s.owner) same.owner = n.owner;
  }
  loop.anything.insert(table_.single(any));
  for (const Value& source : {start, general, now}) table_.note_source(table_.single(any), source);
  return any;
}

// The same for a predicate: comparisons of the same kind stay comparisons.
Value Loops::general_predicate(LoopState& loop, Value now, Value start, Value general, bool first, int lane) {
  if (now == general && !left_behind(loop, general, true, lane)) return general;
  if (!general.known() && loop.anything.count((general.form & ~1u) | 0x80000000u) > 0) return general;
  const auto alike = [&](Value a, Value b) {
    if (a.known() || b.known() || ((a.form ^ b.form) & 1) != 0) return false;
    const Predicate &p = table_.predicate(a.form), &q = table_.predicate(b.form);
    return p.kind == PredicateKind::kCompare && q.kind == PredicateKind::kCompare && p.compare == q.compare &&
           p.is_float == q.is_float && p.is_signed == q.is_signed && p.bits == q.bits;
  };
  // Against a number a comparison is written the other way round: a < b is not (b < a + 1), since counters do
  // not wrap.
  if (!alike(now, start) && !now.known()) {
    const Predicate p = table_.predicate(now.form);
    if (p.kind == PredicateKind::kCompare && p.compare == CompareKind::kLt && !p.is_float) {
      const Value flipped =
          table_.compare(CompareKind::kLt, false, p.is_signed, p.bits, p.b, table_.add(p.a, {1, 0}, p.bits));
      now = (now.form & 1) != 0 ? flipped : SymbolTable::logical_not(flipped);
      if (now == general && !left_behind(loop, general, true, lane)) return general;
    }
  }
  if (alike(now, start) && alike(now, general)) {
    const Predicate n = table_.predicate(now.form), s = table_.predicate(start.form),
                    g = table_.predicate(general.form);
    const Value a = general_value(loop, n.a, s.a, g.a, first, lane, n.bits, !n.is_float);
    const Value b = general_value(loop, n.b, s.b, g.b, first, lane, n.bits, !n.is_float);
    Value result = table_.compare(n.compare, n.is_float, n.is_signed, n.bits, a, b);
    return (now.form & 1) != 0 ? SymbolTable::logical_not(result) : result;
  }
  const Value any = table_.fresh_predicate(Scope::kThread, false);
  loop.anything.insert((any.form & ~1u) | 0x80000000u);
  return any;
}

// Whether branches alone read the predicate.
bool Loops::decides_branches_only(uint32_t predicate) const {
  return std::ranges::all_of(setup_.kernel.code, [&](const Instruction& in) {
    bool reads = false;
    each_read(in, [&](uint32_t r) { reads |= r == predicate; });
    return !reads || in.op == Op::kBranch;
  });
}

// The general value of a predicate that is the same for all lanes, such as a vote's result, is one for all,
// so that the lanes go on together; which holds in each round, or is given up.
bool Loops::generalise_together(Warp& warp, LoopState& loop, size_t slot, uint32_t predicate, Lanes lanes,
                                Lanes first) {
  const auto lead = std::countr_zero(lanes);
  const Value now = warp.registers[predicate].get(lead), start = loop.start.registers[slot].get(lead),
              general = loop.general.registers[slot].get(lead);
  bool same = true, shared = true;
  each_lane(lanes, [&](int lane) {
    same &= warp.registers[predicate].get(lane) == now && loop.start.registers[slot].get(lane) == start;
    shared &= loop.general.registers[slot].get(lane) == general;
  });
  const auto anything = [&](Value value) {
    return !value.known() && loop.anything.count((value.form & ~1u) | 0x80000000u) > 0;
  };
  Value next = general_predicate(loop, now, start, general, has(first, lead), lead);
  const auto unknown = [&](Value side) { return loop.anything.count(table_.single(side)) > 0; };
  if (same && lanes == loop.start.lanes && !next.known() && !anything(next) &&
      table_.predicate(next.form).kind == PredicateKind::kCompare &&
      (unknown(table_.predicate(next.form).a) || unknown(table_.predicate(next.form).b))) {
    next = table_.fresh_predicate(Scope::kThread, false);  // and not one for each lane
    loop.anything.insert((next.form & ~1u) | 0x80000000u);
  }
  if (!shared || !anything(next) || (!same && !anything(general)) || !decides_branches_only(predicate))
    return false;
  if (same && lanes == loop.start.lanes) {
    each_lane(lanes, [&](int lane) { loop.general.registers[slot].set(lane, next); });
    return true;
  }
  each_lane(lanes, [&](int lane) {
    const Value any = table_.fresh_predicate(Scope::kThread, false);
    loop.anything.insert((any.form & ~1u) | 0x80000000u);
    loop.general.registers[slot].set(lane, any);
  });
  return true;
}

// Makes the general state cover the present one; returns whether it had to change.
bool Loops::generalise(Warp& warp, Context& context, LoopState& loop, Lanes lanes, Lanes first, int pc) {
  bool changed = false;
  const auto& live = setup_.flow.live_in(pc);
  loop.goes_on.clear();
  for (size_t i = 0; i < context.written->size(); ++i) {
    const uint32_t r = (*context.written)[i];
    const Type type = setup_.kernel.registers[r].type;
    if (type == Type::kPred || is_float(type) || !std::ranges::binary_search(live, r)) continue;
    each_lane(lanes & ~first, [&](int lane) {
      const SymbolId iteration = loop.iteration[lane];
      if (table_.goes_on(loop.general.registers[i].get(lane), warp.registers[r].get(lane), iteration,
                         register_bits(type)))
        loop.goes_on.insert(iteration);
    });
  }
  for (size_t i = 0; i < context.written->size(); ++i) {
    const uint32_t r = (*context.written)[i];
    if (!std::ranges::binary_search(live, r)) continue;
    const Type type = setup_.kernel.registers[r].type;
    const auto before = loop.general.registers[i];
    if (type == Type::kPred && std::popcount(lanes) > 1 &&
        generalise_together(warp, loop, i, r, lanes, first)) {
      changed |= before.form != loop.general.registers[i].form;
      continue;
    }
    bool all_new = type != Type::kPred;
    each_lane(lanes, [&](int lane) {
      const Value now = warp.registers[r].get(lane);
      const Value start = loop.start.registers[i].get(lane);
      const Value general = loop.general.registers[i].get(lane);
      const bool begins = has(first, lane);
      const Value next = type == Type::kPred ? general_predicate(loop, now, start, general, begins, lane)
                                             : general_value(loop, now, start, general, begins, lane,
                                                             register_bits(type), !is_float(type));
      all_new &= !(next == general);
      if (next == general) return;
      loop.general.registers[i].set(lane, next);
      changed = true;
    });
    changed |= type != Type::kPred && keep_common(warp, context, loop, i, lanes, all_new);
  }
  return changed;
}

}  // namespace glove::verify
