#include "steps/steps.h"

#include <algorithm>

namespace glove::verify {

// A lane has certainly written bytes of shared memory. What a strong access writes another strong one may
// read before.
void MemorySteps::define(BlockState& state, const Instruction& in, uint64_t address, unsigned bytes) {
  const bool strong = in.op == Op::kAtomic || in.order.strong || in.order.release || in.order.is_volatile;
  state.shared.define(address, bytes, !strong);
}

void MemorySteps::store_value(BlockState& state, Warp& warp, const Instruction& in, const Place& place,
                              int lane, Value value, bool known, PredicateId condition) {
  const unsigned bytes = bytes_of(in.type);
  const bool maybe = condition != 0 || open_.innermost != nullptr;
  if (place.space == Space::kLocal) return store_local(state, warp, in, place, lane, value, known, condition);
  if (place.space != Space::kShared) return;
  if (place.kind != Place::kNumber) {
    const Interval range = Reasoner(table_, position(state, warp, lane)).exact_range(place.address);
    const uint64_t from = setup_.near_shared(range.lo), to = setup_.near_shared(range.hi + bytes - 1);
    if (state.shared.blur(from, to)) ++state.blurred;
    return;
  }
  if (!maybe) {
    define(state, in, place.address.constant, bytes);
    return state.shared.write(place.address.constant, bytes, value, known);
  }
  // Under a condition that is the same for all threads, the value is a selection.
  const auto comes = known ? comes_if(warp, lane, condition) : std::nullopt;
  if (comes && !comes->known() && table_.scope_of_predicate(comes->form) <= Scope::kBlock &&
      store_if(state.shared, *comes, place.address.constant, in.type, value, Scope::kBlock))
    return;
  if (state.shared.write_maybe(place.address.constant, bytes)) ++state.blurred;
}

// Stores under a condition. Returns false, and stores nothing, if the value has no whole word.
bool MemorySteps::store_if(Contents& contents, Value condition, uint64_t address, Type type, Value value,
                           Scope scope) {
  const unsigned bytes = bytes_of(type);
  if (bytes < 4 || bytes > 8 || address % 4 != 0) return false;
  const Slot& slot = contents.at(address);
  Value before = slot.value;
  if (!(slot.known == Known::kValue && slot.bytes == bytes)) before = table_.fresh(8 * bytes, scope);
  if (condition.known()) {
    if (condition.constant == 0) value = before;
  } else if (!(value == before)) {
    value = table_.select(condition.form, value, before, type, 8 * bytes);
  }
  contents.write(address, bytes, value, true);
  return true;
}

// A thread's own memory: what no other thread sees. Each word that the address may be at is selected.
void MemorySteps::store_local(const BlockState& state, Warp& warp, const Instruction& in, const Place& place,
                              int lane, Value value, bool known, PredicateId condition) {
  constexpr Wide kMostLocal = 1 << 20, kMostWords = 64;
  const unsigned bytes = bytes_of(in.type);
  if (warp.local.empty()) warp.local.resize(32);
  Contents& local = warp.local[lane];
  const Value address = place.address;
  const auto comes = comes_if(warp, lane, condition);
  if (place.kind == Place::kNumber && address.constant <= static_cast<uint64_t>(kMostLocal)) {
    if (comes && comes->known())
      local.write(address.constant, bytes, value, known);
    else if (!comes || !known || !store_if(local, *comes, address.constant, in.type, value, Scope::kThread))
      local.write_maybe(address.constant, bytes);
    return;
  }
  const Reasoner reasoner(table_, position(state, warp, lane));
  const Interval range = reasoner.exact_range(address);
  const auto [stride, residue] = table_.residue_of(address);
  if (!comes || !known || bytes < 4 || stride < bytes || range.lo < 0 || range.hi > kMostLocal ||
      range.hi - range.lo > kMostWords * bytes)
    return (void)local.blur(0, local.slots().size() * 4);
  const auto first = static_cast<uint64_t>(range.lo), off = (first - static_cast<uint64_t>(residue)) % stride;
  for (uint64_t at = first + (stride - off) % stride; at <= static_cast<uint64_t>(range.hi); at += stride) {
    const Value here = table_.compare(CompareKind::kEq, false, true, 64, address, {at, 0});
    const auto truth = reasoner.truth(here);
    const Value condition_here = truth ? Value{*truth ? 1u : 0u, 0} : here;
    if (!store_if(local, table_.logical_and(*comes, condition_here), at, in.type, value, Scope::kThread))
      local.write_maybe(at, bytes);
  }
}

// Where the lanes access memory. Returns those that can be there.
Lanes MemorySteps::find_places(BlockState& state, Warp& warp, const Instruction& in, const Guarded& guard,
                               std::array<Place, 32>& places) {
  Lanes inside = 0;
  each_lane(guard.certain | guard.possible, [&](int lane) {
    if (report_.ended()) return;
    Place& place = places[lane];
    place = place_of(state, warp, in, read(state, warp, in.address, lane), lane);
    const bool certain = has(guard.certain, lane) && !open_.under_conditions(state, warp);
    if (check_bounds(state, warp, in, place, lane, certain)) inside |= 1u << lane;
    if (in.op == Op::kStore && place.space == Space::kParam)
      report_.unproved(in, "a store through a pointer that is not understood", &state);
  });
  if (setup_.cluster.several() && !report_.ended())
    steps_.clusters.note_access(state, warp, in, guard, inside, places);
  return inside;
}

void MemorySteps::step_store(BlockState& state, Warp& warp, const Instruction& in, const Guarded& guard) {
  const unsigned bytes = bytes_of(in.type);
  std::array<Place, 32> places;
  const Lanes active = find_places(state, warp, in, guard, places);
  if (report_.ended()) return;
  order_.block_races.access(state, warp, in, AccessKind::kWrite, bytes * in.vector, active, places, guard);
  if (report_.ended()) return;
  each_lane(active, [&](int lane) {
    Place place = places[lane];
    for (unsigned i = 0; i < in.vector && !report_.ended(); ++i) {
      const bool known = i < in.operands.size() && in.operands[i].kind != OperandKind::kNone;
      const Value value = known ? read(state, warp, in.operands[i], lane) : Value{};
      store_value(state, warp, in, place, lane, value, known, guard.condition[lane]);
      const bool certain = open_.innermost == nullptr && has(guard.certain, lane) && in.vector == 1;
      order_.waits.log_change(state, warp, in, place, lane, known ? value : Value{0, kUnnamed}, certain);
      const bool raises = (in.order.is_volatile || in.order.strong) && known &&
                          order_.grid.raise_flag(state, warp, in, place, lane, value, certain);
      if ((place.space == Space::kGlobal || place.space == Space::kShared) && !raises)
        forget_location(state, warp, place, lane, bytes, in.order.is_volatile || in.order.strong);
      if (!report_.ended() && (in.order.is_volatile || in.order.strong)) order_.tickets.spoil(place, bytes);
      place.address = table_.add(place.address, {bytes, 0}, 64);
    }
  });
}

void MemorySteps::forget_location(const BlockState& state, const Warp& warp, const Place& place, int lane,
                                  unsigned bytes, bool strong) {
  if (setup_.has_named_barriers) order_.tickets.spoil(place, bytes);
  if (report_.ended()) return;
  if (setup_.blocks > 1 && setup_.check_global && place.space == Space::kGlobal) {
    if (order_.grid.resets_counter(state, warp, place, lane)) return;
    if (strong) order_.grid.note_unclear(place);
    learned_.plainly_written.insert(key_of(place));
    if (place.kind == Place::kRange) learned_.somewhere_written.insert(place.object);
  }
  order_.locations.forget(place, bytes, state, warp, lane);
}

Value MemorySteps::atomic_result(BlockState& state, Warp& warp, const Instruction& in, const Place& place,
                                 int lane, Value amount) {
  const unsigned bits = register_bits(in.type);
  const Value value = table_.fresh(bits, Scope::kThread);
  const bool adds = in.atomic == AtomicOp::kAdd && !is_float(in.type);
  const bool named =
      table_.scope_of(place.address) <= Scope::kBlock && (place.space == Space::kShared || place.object != 0);
  const bool turns =
      adds && named && order_.grid.any_reverses() && order_.grid.reverses(order_.locations.number(place));
  if (adds && named && !is_narrow(in.order.scope) && amount.known() &&
      (turns || amount.constant == 0)) {  // a strong load
    if (turns && amount.constant != 0) order_.grid.note_turn(state, order_.locations.number(place), value);
    order_.grid.observe(state, warp, in, place, lane, value);
    return value;
  }
  const bool increments = place.space == Space::kGlobal && order_.grid.counts_up(in, amount);
  if (increments) amount = {1, 0};
  if (!adds && in.atomic != AtomicOp::kInc && in.atomic != AtomicOp::kDec)
    table_.change(table_.single(value)).kind = SymbolKind::kClaim;
  if ((!adds && !increments) || !named) return value;
  const Interval range = Reasoner(table_, position(state, warp, lane)).range(amount, bits, false);
  Symbol& symbol = table_.change(table_.single(value));
  // Additions of what may be negative, or very large, give no order.
  if (range.lo < 0 || range.hi >= (Wide{1} << (bits - 1))) {
    if (!(amount.form != 0 && range.lo >= 0)) {
      order_.tickets.spoil(place, bits / 8);
      return value;
    }
  }
  if (!order_.tickets.draw(place, bits / 8)) return value;
  warp.unfenced_loads |= 1u << lane;
  symbol.kind = SymbolKind::kTicket;
  symbol.detail = order_.locations.number(place);
  symbol.owner = setup_.owner_of(state, warp, lane);
  symbol.epoch = state.clocks.epoch(warp.thread(lane));
  symbol.arguments[0] = amount;
  if (in.order.acquire && in.order.scope == FenceScope::kDevice) symbol.arguments[1] = {1, 0};
  symbol.range.lo = 0;
  symbol.unsigned_range = symbol.range;
  report_.assume("counters of atomic additions do not wrap");
  return value;
}

// Stores what an atomic instruction leaves at a place, of which little is known.
void MemorySteps::store_atomically(BlockState& state, Warp& warp, const Instruction& in, const Place& place,
                                   int lane, const Value& amount, bool certain, const Guarded& guard) {
  const unsigned bytes = bytes_of(in.type);
  if (place.space == Space::kShared && place.kind == Place::kNumber && in.atomic != AtomicOp::kExchange &&
      undefined(state, in, place.address.constant, bytes))
    undefined_read(state, warp, in, certain, lane,
                   setup_.name_of_thread(state, warp, lane) + " changes " +
                       setup_.shared_at(state, place.address.constant));
  if (in.atomic != AtomicOp::kExchange) check_written(state, warp, in, place, bytes, lane, certain);
  if (place.space == Space::kShared && place.kind == Place::kNumber) {
    const bool adds = in.atomic == AtomicOp::kAdd && !is_float(in.type) && bytes == 4 && amount.known();
    if (adds && !open_.in_loop() && state.shared.count(place.address.constant, amount.constant, table_)) {
      // Its bounds are all that is known.
    } else if (open_.innermost != nullptr || !certain) {
      if (state.shared.write_maybe(place.address.constant, bytes)) ++state.blurred;
    } else {
      define(state, in, place.address.constant, bytes);
      state.shared.write(place.address.constant, bytes, {}, false);
    }
  } else {
    store_value(state, warp, in, place, lane, {}, false, guard.condition[lane]);
  }
}

void MemorySteps::step_atomic(BlockState& state, Warp& warp, const Instruction& in, const Guarded& guard) {
  const unsigned bytes = bytes_of(in.type);
  std::array<Place, 32> places;
  const Lanes active = find_places(state, warp, in, guard, places);
  if (report_.ended()) return;
  if ((in.atomic == AtomicOp::kCas || in.atomic == AtomicOp::kExchange) && open_.in_loop())
    warp.exchanged |= active;
  order_.block_races.access(state, warp, in, AccessKind::kAtomic, bytes * in.vector, active, places, guard);
  each_lane(active, [&](int lane) {
    if (report_.ended()) return;
    const Place& place = places[lane];
    const bool certain = has(guard.certain, lane) && open_.innermost == nullptr;
    const Value amount = in.operands.empty() || in.operands[0].kind == OperandKind::kNone
                             ? table_.fresh(8 * bytes, Scope::kThread)
                             : read(state, warp, in.operands[0], lane);
    order_.waits.log_change(state, warp, in, place, lane, amount, certain);
    if (in.atomic == AtomicOp::kAdd && !is_float(in.type)) {
      order_.grid.counter_addition(state, warp, in, place, lane, amount, certain);
      if (report_.ended()) return;
      if (in.results.empty() || in.results[0].kind != OperandKind::kRegister)
        (void)atomic_result(state, warp, in, place, lane, amount);  // may spoil the place for others
    } else if (place.space == Space::kGlobal && order_.grid.counts_up(in, amount)) {
      order_.grid.increment(state, warp, in, place, lane, certain);
    } else if (in.atomic == AtomicOp::kExchange &&
               order_.grid.raise_flag(state, warp, in, place, lane, amount, certain)) {
      order_.tickets.spoil(place, bytes);
    } else {
      forget_location(state, warp, place, lane, bytes, true);
      if (!report_.ended()) order_.tickets.spoil(place, bytes);
    }
    if (report_.ended()) return;
    store_atomically(state, warp, in, place, lane, amount, certain, guard);
    for (size_t i = 0; i < in.results.size() && !report_.ended(); ++i)
      if (in.results[i].kind == OperandKind::kRegister)
        write(state, warp, in.results[i], lane,
              i == 0 && in.vector == 1 ? atomic_result(state, warp, in, place, lane, amount)
                                       : table_.fresh(std::max(16u, 8 * bytes), Scope::kThread),
              guard.condition[lane]);
  });
}

void MemorySteps::step_load(BlockState& state, Warp& warp, const Instruction& in, const Guarded& guard) {
  const unsigned bytes = bytes_of(in.type);
  std::array<Place, 32> places;
  const Lanes active = find_places(state, warp, in, guard, places);
  each_lane(active, [&](int lane) {
    if (report_.ended()) return;
    Place place = places[lane];
    check_written(state, warp, in, place, bytes * in.vector, lane, has(guard.certain, lane));
    for (unsigned i = 0; i < in.vector; ++i) {
      if (place.space == Space::kShared && place.kind == Place::kNumber &&
          undefined(state, in, place.address.constant, bytes)) {
        undefined_read(state, warp, in, has(guard.certain, lane) && !open_.under_conditions(state, warp),
                       lane,
                       setup_.name_of_thread(state, warp, lane) + " reads " +
                           setup_.shared_at(state, place.address.constant));
      }
      if (i < in.results.size() && in.results[i].kind == OperandKind::kRegister) {
        const Value value = load_value(state, warp, in, place, lane);
        if (!setup_.launch.ranges.empty()) apply_range(in, value);
        write(state, warp, in.results[i], lane, value, guard.condition[lane]);
      }
      place.address = table_.add(place.address, {bytes, 0}, 64);
    }
  });
  if (report_.ended()) return;
  order_.block_races.access(state, warp, in, AccessKind::kRead, bytes * in.vector, active, places, guard);
  each_lane(in.order.acquire ? active & guard.certain : 0,
            [&](int lane) { order_.grid.acquire_again(state, warp, in, places[lane], lane); });
}

void MemorySteps::step_tile(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in) {
  const bool stores = in.op == Op::kMatrixStore;
  const int first = std::countr_zero(lanes);
  const PtxOperand* const given = tile_stride(in);
  const auto stride_of = [&](int lane) {
    return given == nullptr ? Value{in.collective.tile.elements, 0} : read(state, warp, *given, lane);
  };
  const Value base = read(state, warp, in.address, first), stride = stride_of(first);
  each_lane(lanes, [&](int lane) {
    if (!(read(state, warp, in.address, lane) == base) || !(stride_of(lane) == stride))
      report_.unproved(in, "the lanes of a warp name different matrices", &state);
  });
  if (report_.ended()) return;
  if (in.collective.tile.bits < 8 && !stride.known())
    return report_.unsupported(in, "lines of elements of less than a byte at a distance that is not known");
  Instruction line = in;
  line.type = Type::kB8;
  line.vector = static_cast<uint8_t>(in.collective.tile.elements * in.collective.tile.bits / 8);
  const uint64_t tile = 1 | InternHash()(InternKey{{base.form, base.constant, stride.form, stride.constant}})
                                << 1;
  const Value step = in.collective.tile.bits < 8
                         ? Value{stride.constant * in.collective.tile.bits / 8, 0}
                         : table_.scale(table_.zero_extended(stride, 32), in.collective.tile.bits / 8, 64);
  const bool certain = !open_.under_conditions(state, warp);
  for (int i = 0; i < in.collective.tile.lines; ++i) {
    std::array<Place, 32> places;
    places.fill(place_of(state, warp, line, table_.add(base, table_.scale(step, i, 64), 64), first));
    const Place& place = places[0];
    if (!check_bounds(state, warp, line, place, first, certain) || report_.ended()) return;
    const bool shared = place.space == Space::kShared && place.kind == Place::kNumber;
    if (!stores) check_written(state, warp, in, place, line.vector, first, true);
    for (uint64_t at = place.address.constant; shared && !stores && at < place.address.constant + line.vector;
         at += 4)
      if (undefined(state, in, at))
        undefined_read(state, warp, in, true, first, setup_.shared_at(state, at) + " is read");
    if (stores && place.space == Space::kGlobal && order_.waits.logs())
      return report_.unsupported(in, "it stores to global memory, in which the kernel waits");
    order_.block_races.access(state, warp, in, stores ? AccessKind::kWrite : AccessKind::kRead, line.vector,
                              lanes, places, {.certain = lanes}, Flight::kNone, tile);
    if (report_.ended()) return;
    if (!stores) continue;
    forget_location(state, warp, place, first, line.vector);
    Place part = place;
    Instruction word = line;
    word.type = Type::kB32;
    for (unsigned byte = 0; byte < line.vector; byte += 4) {
      store_value(state, warp, word, part, first, {}, false, 0);
      part.address = table_.add(part.address, {4, 0}, 64);
    }
  }
  each_lane(lanes, [&](int lane) { write_unknown(state, warp, in, lane); });
}

void MemorySteps::step_matrix_memory(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in,
                                     const Guarded& guard) {
  if (guard.possible != 0)
    return report_.unproved(in, "a matrix is moved under a condition that is not known", &state);
  if (in.collective.tile.lines != 0) return step_tile(state, warp, lanes, in);
  const Lanes rows = in.vector == 4 ? ~Lanes{0} : in.vector == 2 ? 0xffffu : 0xffu;
  std::array<Place, 32> places;
  const Lanes active = lanes & rows;
  Instruction row = in;
  row.type = Type::kB128;
  row.vector = 1;
  row.space = Space::kShared;
  each_lane(active, [&](int lane) {
    if (report_.ended()) return;
    Place& place = places[lane];
    place = place_of(state, warp, in, read(state, warp, in.address, lane), lane);
    place.space = Space::kShared;
    (void)check_bounds(state, warp, row, place, lane, true);
    if (report_.ended()) return;
    for (uint64_t i = 0; i < 16 && place.kind == Place::kNumber; i += 4) {
      if (in.op == Op::kMatrixStore) {
        if (open_.innermost != nullptr)
          state.shared.write_maybe(place.address.constant + i, 4);
        else
          define(state, in, place.address.constant + i, 4),
              state.shared.write(place.address.constant + i, 4, {}, false);
      } else if (undefined(state, in, place.address.constant + i)) {
        undefined_read(state, warp, in, true, lane,
                       setup_.shared_at(state, place.address.constant + i) + " is read");
      }
    }
    if (place.kind != Place::kNumber && in.op == Op::kMatrixStore)
      store_value(state, warp, row, place, lane, {}, false, 0);
    if (in.op != Op::kMatrixStore) check_written(state, warp, in, place, 16, lane, true);
  });
  if (report_.ended()) return;
  // Whoever names a row, each lane may get or give some of it.
  const bool stores = in.op == Op::kMatrixStore;
  each_lane(active, [&](int lane) {
    if (report_.ended()) return;
    const Value at = places[lane].address;
    const uint64_t number =
        InternHash()(InternKey{{at.form, at.constant, static_cast<uint64_t>(lane), in.site}});
    std::array<Place, 32> same;
    same.fill(places[lane]);
    order_.block_races.access(state, warp, in, stores ? AccessKind::kWrite : AccessKind::kRead, 16, lanes,
                              same, {.certain = lanes}, Flight::kNone, stores ? 1 | number << 1 : 0);
  });
  each_lane(lanes, [&](int lane) { write_unknown(state, warp, in, lane); });
}

}  // namespace glove::verify
