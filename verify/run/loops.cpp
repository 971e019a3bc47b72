// Loops that the data end: after some rounds the state at the branch is generalised, until it covers all
// later rounds.
#include <algorithm>

#include "verify/run/engine.h"

namespace glove::verify {
namespace {

constexpr uint32_t kUnrolled = 24;  // rounds before a loop is generalised

}  // namespace

// Lanes come to a branch once more. Returns false if all that follows was seen.
bool Engine::visit_loop(BlockState&, Warp& warp, Context& context, Lanes lanes, int pc) {
  LoopState& loop = context.loop_states[pc];
  if (++loop.visits < kUnrolled || !flow_.region(pc).loops) return true;
  if (loop.visits == kUnrolled || (lanes & ~loop.start.lanes) != 0) {
    loop.start = capture(warp, context, lanes);
    loop.widened = false;
    return true;
  }
  if (!loop.widened) {
    loop.general = loop.start;
    each_lane(lanes, [&](int lane) {
      Symbol symbol;
      symbol.kind = SymbolKind::kIteration;
      symbol.scope = context.synchronises && context.uniform ? Scope::kBlock : Scope::kThread;
      symbol.range = symbol.unsigned_range = {0, (Wide{1} << 31) - 1};
      symbol.bits = 64;
      const bool shared = symbol.scope == Scope::kBlock && lane != std::countr_zero(lanes);
      loop.iteration[static_cast<size_t>(lane)] =
          shared ? loop.iteration[static_cast<size_t>(std::countr_zero(lanes))] : table_.add_symbol(symbol);
    });
  }
  if (loop.finishing) return false;
  const bool changed =
      generalise(warp, context, loop, lanes, pc) || !loop.widened || loop.blurred != blurred_;
  loop.widened = true;
  loop.blurred = blurred_;
  if (!changed) {
    // Where the lanes synchronise, the end of a round meets the beginning of the next: one round more.
    loop.finishing = context.synchronises;
    return loop.finishing;
  }
  Bundle general = loop.general;
  general.lanes = lanes;
  general.pc = warp.pc;
  restore(warp, context, general);
  assumptions_.insert("loops that the data end do end, and their counters do not wrap");
  return true;
}

// Makes the general state cover the present one; returns whether it had to change.
bool Engine::generalise(Warp& warp, Context& context, LoopState& loop, Lanes lanes, int pc) {
  bool changed = false;
  const auto& live = flow_.live_in(pc);
  for (size_t i = 0; i < context.written->size(); ++i) {
    const uint32_t r = (*context.written)[i];
    if (!std::binary_search(live.begin(), live.end(), r)) continue;
    const Type type = kernel_.registers[r].type;
    const unsigned bits = std::max(16u, bits_of(type));
    each_lane(lanes, [&](int lane) {
      const Value now = warp.registers[r].get(lane);
      const Value start = loop.start.registers[i].get(lane);
      const Value general = loop.general.registers[i].get(lane);
      if (now == general) return;
      const auto set = [&](Value value) {
        loop.general.registers[i].set(lane, value);
        changed = true;
      };
      if (type == Type::kPred) {
        if (!general.known() && loop.anything.count(general.form | 0x80000000u) > 0) return;
        const Value any = table_.fresh_predicate(Scope::kThread, false);
        loop.anything.insert(any.form | 0x80000000u);
        return set(any);
      }
      const SymbolId symbol = table_.single(general);
      if (symbol != 0 && loop.anything.count(symbol) > 0) return;
      const SymbolId iteration = loop.iteration[static_cast<size_t>(lane)];
      if (!is_float(type) && !loop.widened) {
        const Value step = table_.subtract(now, start, bits);
        if (step.known())
          return set(table_.add(
              start, table_.scale(table_.of(iteration), sign_extend(step.constant, bits), bits), bits));
      }
      // The next round of an affine value is the general one, a step further.
      if (!is_float(type)) {
        for (const Term& term : table_.terms(general.form)) {
          if (term.symbol != iteration) continue;
          if (table_.subtract(now, general, bits) ==
              Value{mask_bits(static_cast<uint64_t>(term.factor), bits), 0})
            return;
        }
      }
      Value any = table_.fresh(bits, Scope::kThread);
      const SymbolId seen = table_.single(now), before = table_.single(start);
      if (seen != 0 && before != 0 && table_.symbol(seen).kind == SymbolKind::kObserved &&
          table_.symbol(before).kind == SymbolKind::kObserved &&
          table_.symbol(seen).detail == table_.symbol(before).detail) {
        Symbol& same = table_.change(table_.single(any));
        same.kind = SymbolKind::kObserved;
        same.detail = table_.symbol(seen).detail;
      }
      loop.anything.insert(table_.single(any));
      set(any);
    });
  }
  return changed;
}

}  // namespace glove::verify
