#include "order/order.h"

#include <algorithm>

namespace glove::verify {

void WaitLog::log_event(BlockState& state, ProgressEvent event) {
  event.block = state.block;
  event.before = state.progress;
  const ProgressEvent& last = log_.events[state.progress];
  event.wait_before =
      last.kind == ProgressEvent::kWait && state.progress != 0 ? state.progress : last.wait_before;
  for (uint32_t at = event.wait_before; at != 0; at = log_.events[at].wait_before) {
    const ProgressEvent& wait = log_.events[at];
    if (wait.whole_block || wait.thread == event.thread ||
        state.clocks.before(wait.thread, wait.epoch, event.thread))
      event.after.push_back(at);
  }
  state.progress = static_cast<uint32_t>(log_.events.size());
  log_.events.push_back(std::move(event));
}

void WaitLog::log_change(BlockState& state, const Warp& warp, const Instruction& in, const Place& place,
                         int lane, Value amount, bool certain) {
  if (!logs() || place.space != Space::kGlobal || place.object == 0) return;
  const unsigned bits = bits_of(in.type);
  ProgressEvent event;
  event.span = span_of(place, std::max(1u, bits / 8));
  if (event.span.somewhere)
    event.span.bytes = touched_bytes(state, warp, lane, place.object, place.address, std::max(1u, bits / 8));
  event.thread = warp.thread(lane);
  event.instruction = setup_.number_of(in);
  const bool number = amount.known() && !is_float(in.type);
  const uint64_t value = number ? mask_bits(amount.constant, bits) : 0;
  const bool positive = number && sign_extend(value, bits) >= 0;
  if (in.op == Op::kAtomic && in.atomic == AtomicOp::kAdd && number && value == 0) return;  // it only reads
  if (positive && in.op == Op::kAtomic && in.atomic == AtomicOp::kAdd)
    event.kind = ProgressEvent::kAdd, event.number = value;
  else if (positive && in.op == Op::kAtomic && in.atomic == AtomicOp::kInc)
    event.kind = ProgressEvent::kAdd, event.number = 1, event.limit = value;
  else if (positive && (in.op == Op::kStore || in.atomic == AtomicOp::kExchange))
    event.kind = ProgressEvent::kStore, event.number = value;
  if (certain && warp.path == nullptr && !event.span.somewhere) return log_event(state, std::move(event));
  const bool adds = event.kind == ProgressEvent::kAdd && event.limit == ~uint64_t{0};
  log_.possible.insert({event.span, adds && !event.span.somewhere});
}

// Whether the thread itself brings the end: it leaves when an addition of its own has returned enough.
bool WaitLog::draws_out(PredicateId leaves) {
  const Predicate predicate = table_.predicate(leaves);
  if (predicate.kind != PredicateKind::kCompare || predicate.is_float ||
      predicate.compare != CompareKind::kLt)
    return false;
  const bool holds = (leaves & 1) == 0;  // it leaves when this is positive, or not negative
  const Value grows =
      table_.subtract(holds ? predicate.b : predicate.a, holds ? predicate.a : predicate.b, predicate.bits);
  bool draws = false;
  for (const LinearTerm& term : table_.terms(grows.form)) {
    const Symbol& symbol = table_.symbol(term.symbol);
    if (symbol.kind == SymbolKind::kObserved) return false;
    if (symbol.kind != SymbolKind::kTicket) continue;
    const Value& amount = symbol.arguments[0];
    if (term.factor < 0 || !amount.known() || amount.constant == 0) return false;
    draws = true;
  }
  return draws;
}

// What lets a thread out of a loop, if it leaves under this condition.
std::vector<WaitCause> WaitLog::causes_of(const BlockState& state, PredicateId leaves) {
  const auto span_seen = [&](const Symbol& symbol) {
    MemorySpan span = order_.locations.span(symbol.detail);
    span.bytes.hi = span.somewhere ? span.bytes.hi : span.bytes.lo + bytes_of(symbol.type) - 1;
    return span;
  };
  SymbolId by = 0;
  if (const auto round = order_.grid.turn_seen(state, leaves, &by))
    return {
        {WaitCause::kNumber, span_seen(table_.symbol(by)), uint64_t{round->second} * setup_.blocks, false}};
  if (draws_out(leaves)) return {{WaitCause::kAlways, {}, 0, false}};
  const GridOrder::Seen seen = order_.grid.seen_in(leaves);
  if (seen.symbol != 0 && table_.symbol(seen.symbol).kind == SymbolKind::kObserved) {
    const Symbol& symbol = table_.symbol(seen.symbol);
    const MemorySpan span = span_seen(symbol);
    const bool turns = order_.grid.reverses(symbol.detail);
    return {{span.object == 0 || span.somewhere || turns ? WaitCause::kUnclear : WaitCause::kNumber, span,
             seen.least, seen.exactly}};
  }
  std::vector<WaitCause> causes;
  ValueInputs inputs(table_, 0);
  (void)inputs.all(
      0, leaves,
      [&](SymbolId id) {
        if (table_.symbol(id).kind == SymbolKind::kObserved)
          causes.push_back({WaitCause::kUnclear, span_seen(table_.symbol(id)), 0, false});
        return true;
      },
      [](PredicateId) { return true; });
  if (causes.empty()) causes.emplace_back();
  return causes;
}

void WaitLog::note_wait(const BlockState& state, int lane, int pc, const WaitBranch& wait,
                        PredicateId taken) {
  if (!logs()) return;
  Context* loop = open_.innermost;
  while (loop->outer != nullptr && setup_.waits.inside(wait.loop, loop->outer->branch)) loop = loop->outer;
  PendingWait& pending = loop->waits[{wait.loop, lane}];
  pending.branch = static_cast<uint32_t>(pc);
  for (WaitCause& cause : causes_of(state, taken ^ (wait.taken_stays ? 1u : 0u)))
    if (std::ranges::find(pending.causes, cause) == pending.causes.end()) pending.causes.push_back(cause);
}

void WaitLog::end_waits(BlockState& state, const Warp& warp, const Context& context) {
  for (const auto& [at, pending] : context.waits) {
    const uint32_t thread = warp.thread(at.second);
    log_event(state, {.kind = ProgressEvent::kWait,
                      .certain = open_.innermost == nullptr && warp.path == nullptr,
                      .thread = thread,
                      .epoch = state.clocks.epoch(thread),
                      .instruction = pending.branch,
                      .causes = pending.causes});
  }
}

void WaitLog::log_wait(BlockState& state, uint32_t site, PredicateId leaves) {
  if (logs())
    log_event(state, {.kind = ProgressEvent::kWait,
                      .whole_block = true,
                      .instruction = site,
                      .causes = causes_of(state, leaves)});
}

void WaitLog::log_end(const BlockState& state) {
  if (!logs()) return;
  std::set<PredicateId> facts;
  for (const Path* path = state.path.get(); path != nullptr; path = path->parent.get())
    if (path->everyone != 0 && table_.scope_of_predicate(path->everyone) == Scope::kGrid)
      facts.insert(path->everyone);
  log_.ends[state.block].push_back({state.progress, std::move(facts)});
}

void WaitLog::undecided_loop(int pc) {
  if (setup_.check_global)
    report_.find(FindingKind::kUnproved, false, setup_.kernel.code[pc], nullptr,
                 "a loop ends when other threads have written something, and when that is, is not understood",
                 nullptr);
}

}  // namespace glove::verify
