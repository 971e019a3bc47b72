// Which memory an address belongs to; stores and atomics.
#include <algorithm>

#include "run/kernel_run.h"

namespace glove::verify {
namespace {

constexpr uint64_t kShared = uint64_t{1} << 60;
constexpr uint64_t kLocal = uint64_t{2} << 60;
constexpr uint64_t kParam = uint64_t{3} << 60;

}  // namespace

// The buffer to which an address belongs: a pointer that is added once.
SymbolId KernelRun::object_of(Value address) {
  SymbolId best = 0;
  int rank = 0, ties = 0;
  for (const LinearTerm& term : table_.terms(address.form)) {
    const Symbol& symbol = table_.symbol(term.symbol);
    if (term.factor != 1 || symbol.bits != 64) continue;
    const bool input = symbol.kind == SymbolKind::kInput ||
                       (symbol.kind == SymbolKind::kOperation && symbol.op == Op::kLoad);
    const int worth = symbol.kind == SymbolKind::kObject ? 3
                      : pointers_.count(term.symbol) > 0 ? 2
                      : input                            ? 1
                                                         : 0;
    if (worth == 0) continue;
    if (worth == rank) ++ties;
    if (worth > rank) rank = worth, best = term.symbol, ties = 0;
  }
  if (ties > 0) return 0;
  if (best != 0 && rank < 3 && table_.symbol(best).scope == Scope::kThread) return 0;
  return best;
}

KernelRun::Place KernelRun::place_of(const BlockState& state, const Warp& warp, const Instruction& in,
                                     Value address, int lane) {
  Place place;
  place.space = in.space;
  place.address = address;
  if (address.form != 0) {
    place.address = Reasoner(table_, position(state, warp, lane)).simplify(address, 64);
    if (in.space == Space::kShared) place.address = table_.sign_extended(place.address, 32);
  } else if (in.space == Space::kShared) {
    place.address.constant = mask_bits(address.constant, 32);
  }
  if (in.space == Space::kGeneric || (in.space == Space::kGlobal && place.address.form == 0)) {
    const uint64_t window = (place.address.constant + (uint64_t{1} << 59)) >> 60;
    const bool has_object = object_of(place.address) != 0;
    if (in.space == Space::kGeneric && !has_object && window >= 1 && window <= 3) {
      place.space = window == 1 ? Space::kShared : window == 2 ? Space::kLocal : Space::kParam;
      place.address.constant -= window == 1 ? kShared : window == 2 ? kLocal : kParam;
    } else {
      place.space = Space::kGlobal;
    }
  }
  if (place.space == Space::kGlobal) {
    place.object = object_of(place.address);
    const auto& terms = table_.terms(place.address.form);
    place.kind = place.object != 0 && terms.size() == 1 ? Place::kNumber : Place::kRange;
  } else {
    place.kind = place.address.form == 0 ? Place::kNumber : Place::kRange;
  }
  return place;
}

// Where shared memory ends; without --dynamic-shared, as far as it can end at all.
uint64_t KernelRun::shared_end() const {
  uint64_t end = kernel_.shared_bytes;
  for (const Variable& variable : kernel_.variables) {
    if (variable.space != Space::kShared || !variable.is_extern) continue;
    end = std::max(end, launch_.dynamic_shared ? variable.offset + *launch_.dynamic_shared : kMostShared);
  }
  return end;
}

// What is wrong with an access to a known place; empty if nothing is.
std::string KernelRun::outside(const Instruction& in, const Place& place) const {
  const uint64_t bytes = uint64_t{std::max(1u, bits_of(in.type) / 8)} * in.vector;
  const uint64_t address = place.address.constant;
  const std::string at = std::to_string(static_cast<int64_t>(address));
  if (place.space == Space::kShared) {
    if (address > kMostShared || address + bytes > shared_end())
      return "shared memory at " + at + ", which ends at " + std::to_string(shared_end());
    if (address % bytes != 0 && in.op != Op::kMatrixLoad)
      return "shared memory at " + at + ", which is not aligned to " + std::to_string(bytes) + " bytes";
  } else if (place.space == Space::kGlobal && place.object != 0) {
    const Symbol& symbol = table_.symbol(place.object);
    for (const ParameterValue& parameter : launch_.parameters)
      if (parameter.is_buffer && parameter.buffer_bytes > 0 && symbol.kind == SymbolKind::kObject &&
          symbol.detail == parameter.offset &&
          (address > parameter.buffer_bytes || bytes > parameter.buffer_bytes - address))
        return "the buffer '" + parameter.buffer + "' at byte " + at + " of " +
               std::to_string(parameter.buffer_bytes);
  }
  return "";
}

// Returns false for an access that cannot be there. It is a defect if it is certain to happen; where a
// condition that is not known decides, whether it happens is not proved.
bool KernelRun::check_bounds(BlockState& state, Warp& warp, const Instruction& in, const Place& place,
                             int lane, bool certain) {
  if (place.kind != Place::kNumber) {
    if (place.space != Space::kShared) return true;
    const Interval range = Reasoner(table_, position(state, warp, lane)).exact_range(place.address);
    const uint64_t bytes = uint64_t{std::max(1u, bits_of(in.type) / 8)} * in.vector;
    if (range.lo < 0 || range.hi + bytes > shared_end())
      assume("the index into shared memory at " + source_line(in) + " stays inside its array");
    return true;
  }
  const std::string what = outside(in, place);
  if (what.empty()) return true;
  const std::string thread = "thread " + std::to_string(warp.thread(lane));
  if (!certain) {
    find(FindingKind::kUnproved, false, in, nullptr,
         "under a condition that is not known, " + thread + " accesses " + what, &state);
    return false;
  }
  find(FindingKind::kBounds, true, in, nullptr, thread + " accesses " + what, &state);
  end_path();
  return false;
}

std::string KernelRun::source_line(const Instruction& in) const {
  const Site& site = kernel_.sites[in.site];
  if (site.chain.empty()) return "PTX line " + std::to_string(site.ptx_line);
  const std::string& file = site.chain[0].file;
  return file.substr(file.find_last_of('/') + 1) + ":" + std::to_string(site.chain[0].line);
}

// Whether a line of the source, the innermost or one that it was inlined into, is that of the instruction.
bool KernelRun::comes_from(const Instruction& in, const std::string& file, int line) const {
  for (const SourceLine& at : kernel_.sites[in.site].chain)
    if (at.line == line && at.file.ends_with(file)) return true;
  return false;
}

void KernelRun::store_value(BlockState& state, Warp& warp, const Instruction& in, const Place& place,
                            int lane, Value value, bool known, PredicateId condition) {
  const unsigned bytes = std::max(1u, bits_of(in.type) / 8);
  const bool maybe = condition != 0 || context_ != nullptr;
  if (place.space == Space::kLocal) {
    if (warp.local.empty()) warp.local.resize(32);
    Contents& local = warp.local[static_cast<size_t>(lane)];
    if (place.kind != Place::kNumber || place.address.constant > (1u << 20))
      local.blur(0, local.slots().size() * 4);
    else if (maybe)
      local.write_maybe(place.address.constant, bytes);
    else
      local.write(place.address.constant, bytes, value, known);
    return;
  }
  if (place.space != Space::kShared) return;
  if (place.kind != Place::kNumber) {
    const Interval range = Reasoner(table_, position(state, warp, lane)).exact_range(place.address);
    const uint64_t from = range.lo < 0 ? 0 : static_cast<uint64_t>(std::min<Wide>(range.lo, kMostShared));
    const uint64_t to =
        range.hi < 0 ? 0 : static_cast<uint64_t>(std::min<Wide>(range.hi + bytes - 1, kMostShared));
    if (state.shared.blur(from, to)) ++blurred_;
    return;
  }
  if (!maybe) return state.shared.write(place.address.constant, bytes, value, known);
  // Under one condition that all threads share, the value is a selection.
  const PredicateId shared =
      condition != 0 ? (context_ == nullptr ? condition : 0)
                     : (context_->outer == nullptr && !context_->loops && context_->running != nullptr &&
                                context_->running->side != 0 && warp.path != nullptr
                            ? warp.path->of(lane)
                            : 0);
  Slot& slot = state.shared.at(place.address.constant);
  if (shared != 0 && known && bytes >= 4 && table_.scope_of_predicate(shared) != Scope::kThread &&
      place.address.constant % 4 == 0) {
    Value before = slot.value;
    if (!(slot.known == Known::kValue && slot.bytes == bytes))
      before = table_.fresh(8 * bytes, Scope::kBlock);
    Value arguments[3] = {value, before, {}};
    if ((shared & 1) != 0) std::swap(arguments[0], arguments[1]);
    state.shared.write(place.address.constant, bytes,
                       table_.operation(Op::kSelect, in.type, 0, 8 * bytes, arguments, shared & ~1u), true);
    return;
  }
  if (state.shared.write_maybe(place.address.constant, bytes)) ++blurred_;
}

void KernelRun::step_store(BlockState& state, Warp& warp, Lanes, const Instruction& in,
                           const Guarded& guard) {
  std::array<Place, 32> places;
  Lanes inside = guard.certain | guard.possible;
  const unsigned bytes = std::max(1u, bits_of(in.type) / 8);
  each_lane(guard.certain | guard.possible, [&](int lane) {
    if (ended()) return;
    places[static_cast<size_t>(lane)] =
        place_of(state, warp, in, operand(state, warp, in.address, lane), lane);
    if (!check_bounds(state, warp, in, places[static_cast<size_t>(lane)], lane,
                      (guard.certain >> lane & 1) != 0 && !under_conditions(state, warp)))
      inside &= ~(1u << lane);
    if (places[static_cast<size_t>(lane)].space == Space::kParam)
      unproved(in, "a store through a pointer that is not understood", &state);
  });
  if (ended()) return;
  const Lanes active = inside;
  access(state, warp, in, AccessKind::kWrite, bytes * in.vector, active, places, guard);
  if (ended()) return;
  if (in.release) step_fence(state, warp, active & guard.certain, in);
  each_lane(active, [&](int lane) {
    Place place = places[static_cast<size_t>(lane)];
    for (unsigned i = 0; i < in.vector && !ended(); ++i) {
      const bool known = i < in.operands.size() && in.operands[i].kind != OperandKind::kNone;
      const Value value = known ? operand(state, warp, in.operands[i], lane) : Value{};
      store_value(state, warp, in, place, lane, value, known, guard.condition[static_cast<size_t>(lane)]);
      const bool certain = context_ == nullptr && (guard.certain >> lane & 1) != 0 && in.vector == 1;
      log_change(state, warp, in, place, lane, known ? value : Value{0, kUnnamed}, certain);
      const bool raises =
          (in.is_volatile || in.strong) && known && raise_flag(state, warp, in, place, lane, value, certain);
      if ((place.space == Space::kGlobal || place.space == Space::kShared) && !raises)
        forget_location(state, warp, place, lane, bytes);
      if (!ended() && (in.is_volatile || in.strong)) spoil_tickets(place, bytes);
      place.address = table_.add(place.address, {bytes, 0}, 64);
    }
  });
}

GlobalPlace KernelRun::key_of(const Place& place) {
  return {place.address.form,
          place.address.constant ^ (place.space == Space::kShared ? uint64_t{1} << 63 : 0)};
}

// Names a place in memory, between two stores to it.
uint32_t KernelRun::location(const Place& place) {
  const auto [found, added] = locations_.try_emplace(key_of(place), next_location_);
  if (added) located_[next_location_++] = span_of(place, 0);
  located_objects_.insert(place.space == Space::kShared ? 0 : place.object);
  return found->second;
}

// Something that races with nothing, but is no addition of a positive number, changes a place: what additions
// return there may repeat.
void KernelRun::spoil_tickets(const Place& place, unsigned bytes) {
  const SymbolId object = place.space == Space::kShared ? 0 : place.object;
  bool drawn = false;
  if (place.kind == Place::kRange) {
    if (!ticket_objects_spoiled_.insert(object).second) return;
    drawn = !ticketed_.empty();
  } else {
    GlobalPlace key = key_of(place);
    for (unsigned i = 0; i < bytes; i += 4, key.granule += 4)
      drawn |= tickets_spoiled_.insert(key).second && ticketed_.count(key) > 0;
  }
  if (drawn) begin_again();
}

// Whether additions to a place return different numbers, as far as the run has seen; remembers that they
// must.
bool KernelRun::draws_tickets(const Place& place, unsigned bytes) {
  if (ticket_objects_spoiled_.count(place.space == Space::kShared ? 0 : place.object) > 0) return false;
  const GlobalPlace first = key_of(place);
  GlobalPlace key = first;
  for (unsigned i = 0; i < bytes; i += 4, key.granule += 4) {
    if (tickets_spoiled_.count(key) > 0) return false;
    const auto [found, added] = ticketed_.try_emplace(key, first.granule, bytes);
    if (!added && found->second != std::pair(first.granule, bytes)) {  // an addition to a part of it
      spoil_tickets(place, bytes);
      return false;
    }
  }
  return true;
}

// After a plain store. One that other threads' additions are not ordered with is a race, and reported as
// such; with named barriers warps may be phases apart, so that a new name does not tell the phases apart.
void KernelRun::forget_location(const BlockState& state, const Warp& warp, const Place& place, int lane,
                                unsigned bytes) {
  if (has_named_barriers_) spoil_tickets(place, bytes);
  if (ended()) return;
  if (blocks_ > 1 && check_global_ && place.space == Space::kGlobal) {
    if (resets_counter(state, warp, place, lane)) return;
    plainly_written_.insert(key_of(place));
    if (place.kind == Place::kRange) somewhere_written_.insert(place.object);
  }
  if (place.kind == Place::kNumber) {
    locations_.erase(key_of(place));
  } else {
    const bool shared = place.space == Space::kShared;
    if (located_objects_.count(shared ? 0 : place.object) == 0) return;
    const Interval range =
        shared ? Reasoner(table_, position(state, warp, lane)).exact_range(place.address) : Interval{};
    std::erase_if(locations_, [&](const auto& entry) {
      const GlobalPlace& key = entry.first;
      if (!shared) return key.form != 0 && object_of({0, key.form}) == place.object;
      const Wide at = static_cast<Wide>(key.granule & ~(uint64_t{1} << 63));
      return key.form == 0 && at + 7 >= range.lo && at < range.hi + bytes;
    });
  }
}

Value KernelRun::atomic_result(BlockState& state, Warp& warp, const Instruction& in, const Place& place,
                               int lane, Value amount) {
  const unsigned bits = std::max(16u, bits_of(in.type));
  const Value value = table_.fresh(bits, Scope::kThread);
  const bool adds = in.atomic == AtomicOp::kAdd && !is_float(in.type);
  const bool named = table_.scope_of(place.address) != Scope::kThread &&
                     (place.space == Space::kShared || place.object != 0);
  const bool turns = adds && named && !reversing_.empty() && reversing_.count(location(place)) > 0;
  if (adds && named && in.fence != FenceScope::kBlock && amount.known() &&
      (turns || amount.constant == 0)) {  // a strong load
    if (const uint32_t round = turns ? rounds(state, location(place)) : 0; round > 0 && amount.constant != 0)
      state.arrived_at[counters_.at({location(place), round})] = table_.single(value);
    observe(state, warp, in, place, lane, value);
    return value;
  }
  const bool increments = place.space == Space::kGlobal && counts_up(in, amount);
  if (increments) amount = {1, 0};
  if ((!adds && !increments) || !named) return value;
  const Interval range = Reasoner(table_, position(state, warp, lane)).range(amount, bits, false);
  Symbol& symbol = table_.change(table_.single(value));
  // Additions of what may be negative, or very large, give no order.
  if (range.lo < 0 || range.hi >= (Wide{1} << (bits - 1))) {
    if (!(amount.form != 0 && range.lo >= 0)) {
      spoil_tickets(place, bits / 8);
      return value;
    }
  }
  if (!draws_tickets(place, bits / 8)) return value;
  warp.unfenced_loads |= 1u << lane;
  symbol.kind = SymbolKind::kTicket;
  symbol.detail = location(place);
  symbol.owner = owner_of(state, warp, lane);
  symbol.epoch = state.clocks.epoch(warp.thread(lane));
  symbol.arguments[0] = amount;
  if (in.acquire && in.fence == FenceScope::kDevice) symbol.arguments[1] = {1, 0};
  symbol.range.lo = 0;
  symbol.unsigned_range = symbol.range;
  assume("counters of atomic additions do not wrap");
  return value;
}

// Stores what an atomic instruction leaves at a place, of which little is known.
void KernelRun::store_atomically(BlockState& state, Warp& warp, const Instruction& in, const Place& place,
                                 int lane, const Value& amount, bool certain, const Guarded& guard) {
  const unsigned bytes = std::max(1u, bits_of(in.type) / 8);
  if (place.space == Space::kShared && place.kind == Place::kNumber && !options_.allow_undefined &&
      state.shared.at(place.address.constant).known == Known::kNothingWritten &&
      in.atomic != AtomicOp::kExchange)
    find(FindingKind::kUndefinedRead, certain && !under_conditions(state, warp), in, nullptr,
         "thread " + std::to_string(warp.thread(lane)) + " changes shared memory at " +
             std::to_string(place.address.constant) + ", where nothing has been written",
         &state);
  if (place.space == Space::kShared && place.kind == Place::kNumber) {
    const bool adds = in.atomic == AtomicOp::kAdd && !is_float(in.type) && bytes == 4 && amount.known();
    if (adds && !in_loop() && state.shared.count(place.address.constant, amount.constant, table_)) {
      // Its bounds are all that is known.
    } else if (context_ != nullptr || !certain) {
      if (state.shared.write_maybe(place.address.constant, bytes)) ++blurred_;
    } else {
      state.shared.write(place.address.constant, bytes, {}, false);
    }
  } else {
    store_value(state, warp, in, place, lane, {}, false, guard.condition[static_cast<size_t>(lane)]);
  }
}

void KernelRun::step_atomic(BlockState& state, Warp& warp, Lanes, const Instruction& in,
                            const Guarded& guard) {
  std::array<Place, 32> places;
  Lanes inside = guard.certain | guard.possible;
  const unsigned bytes = std::max(1u, bits_of(in.type) / 8);
  each_lane(guard.certain | guard.possible, [&](int lane) {
    if (ended()) return;
    places[static_cast<size_t>(lane)] =
        place_of(state, warp, in, operand(state, warp, in.address, lane), lane);
    if (!check_bounds(state, warp, in, places[static_cast<size_t>(lane)], lane,
                      (guard.certain >> lane & 1) != 0 && !under_conditions(state, warp)))
      inside &= ~(1u << lane);
  });
  if (ended()) return;
  const Lanes active = inside;
  if ((in.atomic == AtomicOp::kCas || in.atomic == AtomicOp::kExchange) && in_loop())
    warp.exchanged |= active;
  access(state, warp, in, AccessKind::kAtomic, bytes * in.vector, active, places, guard);
  each_lane(active, [&](int lane) {
    if (ended()) return;
    const Place& place = places[static_cast<size_t>(lane)];
    const bool certain = (guard.certain >> lane & 1) != 0 && context_ == nullptr;
    const Value amount = in.operands.empty() || in.operands[0].kind == OperandKind::kNone
                             ? table_.fresh(8 * bytes, Scope::kThread)
                             : operand(state, warp, in.operands[0], lane);
    if (in.release && (guard.certain >> lane & 1) != 0) step_fence(state, warp, 1u << lane, in);
    log_change(state, warp, in, place, lane, amount, certain);
    if (in.atomic == AtomicOp::kAdd && !is_float(in.type)) {
      counter_addition(state, warp, in, place, lane, amount, certain);
      if (ended()) return;
      if (in.results.empty() || in.results[0].kind != OperandKind::kRegister)
        (void)atomic_result(state, warp, in, place, lane, amount);  // may spoil the place for others
    } else if (place.space == Space::kGlobal && counts_up(in, amount)) {
      increment(state, warp, in, place, lane, certain);
    } else if (in.atomic == AtomicOp::kExchange &&
               raise_flag(state, warp, in, place, lane, amount, certain)) {
      spoil_tickets(place, bytes);
    } else {
      forget_location(state, warp, place, lane, bytes);
      if (!ended()) spoil_tickets(place, bytes);
    }
    if (ended()) return;
    store_atomically(state, warp, in, place, lane, amount, certain, guard);
    for (size_t i = 0; i < in.results.size() && !ended(); ++i)
      if (in.results[i].kind == OperandKind::kRegister)
        write_result(state, warp, in.results[i], lane,
                     i == 0 && in.vector == 1 ? atomic_result(state, warp, in, place, lane, amount)
                                              : table_.fresh(std::max(16u, 8 * bytes), Scope::kThread),
                     guard.condition[static_cast<size_t>(lane)]);
  });
}

}  // namespace glove::verify
