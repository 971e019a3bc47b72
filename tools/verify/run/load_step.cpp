// Loads, and what they are known to return.
#include <algorithm>
#include <bit>

#include "run/kernel_run.h"

namespace glove::verify {

// The number that the seed of the data decides for this place: small, so that it may serve as a count or an
// index.
Value KernelRun::sampled(Type type, unsigned bits, SymbolId object, uint64_t offset) {
  const InternKey key = {{*options_.data_seed, object, offset}};
  const DistinctNumbers* list = table_.distinct_numbers(object);
  if (list != nullptr && bits == 32 && (offset % list->every) == 0)
    return {distinct_samples_.try_emplace({object, offset}, distinct_samples_.size()).first->second, 0};
  const uint64_t random = InternHash()(key) >> 8;
  if (type == Type::kF32) {
    const float number = static_cast<float>(random % 2001) / 1000.0f - 1.0f;
    return {std::bit_cast<uint32_t>(number), 0};
  }
  if (type == Type::kF64)
    return {std::bit_cast<uint64_t>(static_cast<double>(random % 2001) / 1000.0 - 1.0), 0};
  const uint64_t number = mask_bits(random % 256, bits_of(type));
  if (!is_signed(type)) return {number, 0};
  return {mask_bits(static_cast<uint64_t>(sign_extend(number, bits_of(type))), bits), 0};
}

Value KernelRun::load_parameter(const Place& place, Type type, unsigned bits) {
  if (place.kind == Place::kNumber) {
    const uint64_t offset = place.address.constant;
    for (const ParameterValue& parameter : launch_.parameters) {
      if (offset < parameter.offset || offset >= parameter.offset + parameter.bytes) continue;
      if (parameter.is_buffer && offset == parameter.offset && bits_of(type) == 64) {
        const Value base = table_.input(SymbolKind::kObject, static_cast<uint32_t>(offset), 64, Scope::kGrid);
        table_.change(table_.single(base)).range = {1, Wide{1} << 62};
        table_.change(table_.single(base)).unsigned_range = {1, Wide{1} << 62};
        if (!parameter.distinct.empty()) {
          table_.declare_distinct(table_.single(base), {parameter.distinct, parameter.every});
          assume(parameter.distinct + " are distinct, also those of different lists: " + parameter.buffer +
                 " holds one every " + std::to_string(parameter.every) + " bytes");
        }
        return base;
      }
      if (!parameter.is_buffer && offset + bits_of(type) / 8 <= parameter.offset + parameter.bytes) {
        const uint64_t part = mask_bits(parameter.value >> (8 * (offset - parameter.offset)), bits_of(type));
        return {
            is_signed(type) ? mask_bits(static_cast<uint64_t>(sign_extend(part, bits_of(type))), bits) : part,
            0};
      }
    }
    if (options_.data_seed && bits_of(type) == 32) return sampled(type, bits, 0, offset);
    if (bits_of(type) >= 32)
      return table_.input(SymbolKind::kInput, static_cast<uint32_t>(offset), bits_of(type), Scope::kGrid);
  }
  return table_.loaded(type, 1, bits, place.address);
}

Value KernelRun::load_constant(const Instruction& in, const Place& place, unsigned bits) {
  const auto& terms = table_.terms(place.address.form);
  const unsigned bytes = bits_of(in.type) / 8;
  if (terms.size() == 1 && terms[0].factor == 1) {
    const Symbol& symbol = table_.symbol(terms[0].symbol);
    const uint32_t index = symbol.detail - 0x80000000u;
    if (symbol.kind == SymbolKind::kObject && index < kernel_.variables.size()) {
      const auto& initial = kernel_.variables[index].initial;
      const uint64_t at = place.address.constant;
      if (bytes <= 8 && at <= initial.size() && bytes <= initial.size() - at) {
        // The host may copy other numbers there before the launch.
        assume("constant memory with an initial value keeps it");
        uint64_t value = 0;
        for (unsigned i = 0; i < bytes; ++i) value |= uint64_t{initial[at + i]} << (8 * i);
        return {is_signed(in.type)
                    ? mask_bits(static_cast<uint64_t>(sign_extend(value, bits_of(in.type))), bits)
                    : value,
                0};
      }
    }
  }
  return table_.loaded(in.type, 2, bits, place.address);
}

Value KernelRun::load_shared(BlockState& state, Warp&, const Instruction& in, const Place& place, int) {
  const unsigned bits = std::max(16u, bits_of(in.type));
  // A strong load may see what another thread's strong access has not written yet in this schedule.
  const bool strong = in.strong || in.acquire || (in.is_volatile && options_.volatile_shared_strong);
  if (place.kind != Place::kNumber || strong) return table_.fresh(bits, Scope::kThread);
  const unsigned bytes = bits_of(in.type) / 8;
  Slot& slot = state.shared.at(place.address.constant);
  const bool whole = place.address.constant % 4 == 0;
  if (slot.known == Known::kValue && whole && slot.bytes == bytes) {
    Value value = slot.value;
    if (bytes < 4 && value.known())
      value.constant =
          is_signed(in.type)
              ? mask_bits(static_cast<uint64_t>(sign_extend(value.constant, bits_of(in.type))), bits)
              : mask_bits(value.constant, bits_of(in.type));
    else if (bytes < 4 && !Interval{0, 127}.contains(table_.base_range(value, bits, true)))
      return table_.operation(Op::kLoad, in.type, 3, bits, {value, {}, {}});
    return value;
  }
  const bool stable =
      whole && (slot.known == Known::kUnknown || slot.known == Known::kNothingWritten ||
                ((slot.known == Known::kVaries || slot.known == Known::kCounted) && context_ == nullptr));
  if (!stable || (bytes == 8 && slot.bytes == 8 && slot.known == Known::kTail))
    return table_.fresh(bits, Scope::kThread);
  const bool undefined = slot.known == Known::kNothingWritten;
  const Value value = table_.fresh(bits, Scope::kBlock);
  if (!undefined && bytes >= 4) {
    state.shared.write(place.address.constant, bytes, value, true);
  } else if (!undefined && slot.bytes <= bytes) {
    state.shared.write(place.address.constant, bytes, value, true);
  }
  return value;
}

Value KernelRun::load_value(BlockState& state, Warp& warp, const Instruction& in, const Place& place,
                            int lane, unsigned) {
  const unsigned bits = std::max(16u, bits_of(in.type));
  switch (place.space) {
    case Space::kParam:
      return load_parameter(place, in.type, bits);
    case Space::kConst:
      return load_constant(in, place, bits);
    case Space::kShared:
      return load_shared(state, warp, in, place, lane);
    case Space::kLocal: {
      if (place.kind != Place::kNumber || place.address.constant > (1u << 20))
        return table_.fresh(bits, Scope::kThread);
      if (warp.local.empty()) warp.local.resize(32);
      const Slot& slot = warp.local[static_cast<size_t>(lane)].at(place.address.constant);
      if (slot.known == Known::kValue && slot.bytes == bits_of(in.type) / 8 && slot.bytes >= 4 &&
          place.address.constant % 4 == 0)
        return slot.value;
      return table_.fresh(bits, Scope::kThread);
    }
    default:
      break;
  }
  const bool strong = in.is_volatile || ((in.strong || in.acquire) && in.fence != FenceScope::kBlock);
  if (strong) {
    const Value value = table_.fresh(bits, Scope::kThread);
    observe(state, warp, in, place, lane, value);
    return value;
  }
  if (place.object == 0) return table_.fresh(bits, Scope::kThread);
  const unsigned bytes = std::max(1u, bits_of(in.type) / 8);
  if (!is_constant(place, bytes)) return table_.fresh(bits, Scope::kThread);
  note_read(place, bytes);
  if (options_.data_seed && place.kind == Place::kNumber && bits_of(in.type) <= 64)
    return sampled(in.type, bits, place.object, place.address.constant);
  return table_.loaded(in.type, 0, bits, place.address);
}

// Whether nobody writes to a place in a buffer, as far as the run has seen.
bool KernelRun::is_constant(const Place& place, unsigned bytes) const {
  if (written_objects_.count(place.object) == 0) return true;
  if (place.kind != Place::kNumber || written_anywhere_.count(place.object) > 0) return false;
  GlobalPlace word = {place.address.form, place.address.constant / 4};
  for (; word.granule <= (place.address.constant + bytes - 1) / 4; ++word.granule)
    if (written_words_.count(word) > 0) return false;
  return true;
}

// Remembers what was read as if nobody wrote there.
void KernelRun::note_read(const Place& place, unsigned bytes) {
  read_objects_.insert(place.object);
  if (place.kind != Place::kNumber) {
    read_anywhere_.insert(place.object);
    return;
  }
  GlobalPlace word = {place.address.form, place.address.constant / 4};
  for (; word.granule <= (place.address.constant + bytes - 1) / 4; ++word.granule) read_words_.insert(word);
}

// Returns whether something was read there as if nobody wrote; from then on, everything in the buffer is
// taken for written, so that the run does not begin again for each word.
bool KernelRun::note_written(const Place& place, unsigned bytes) {
  const bool first = written_objects_.insert(place.object).second;
  if (place.kind != Place::kNumber)
    return written_anywhere_.insert(place.object).second && read_objects_.count(place.object) > 0;
  bool seen = first && read_anywhere_.count(place.object) > 0;
  GlobalPlace word = {place.address.form, place.address.constant / 4};
  for (; word.granule <= (place.address.constant + bytes - 1) / 4; ++word.granule)
    seen |= written_words_.insert(word).second && read_words_.count(word) > 0;
  if (seen) written_anywhere_.insert(place.object);
  return seen;
}

// What the launch declares about the data of a line.
void KernelRun::apply_range(const Instruction& in, Value value) {
  const SymbolId single = table_.single(value);
  if (single == 0) return;
  for (const DataRange& range : launch_.ranges) {
    if (!comes_from(in, range.file, range.line)) continue;
    Symbol& symbol = table_.change(single);
    symbol.range = symbol.range.meet({range.least, range.most});
    if (range.least >= 0) symbol.unsigned_range = symbol.unsigned_range.meet({range.least, range.most});
    assume("what " + source_line(in) + " loads is from " + std::to_string(range.least) + " to " +
           std::to_string(range.most) + ": " + range.reason);
  }
}

void KernelRun::step_load(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in,
                          const Guarded& guard) {
  std::array<Place, 32> places;
  Lanes inside = guard.certain | guard.possible;
  (void)lanes;
  const unsigned bytes = std::max(1u, bits_of(in.type) / 8);
  each_lane(guard.certain | guard.possible, [&](int lane) {
    if (ended()) return;
    places[static_cast<size_t>(lane)] =
        place_of(state, warp, in, operand(state, warp, in.address, lane), lane);
    if (!check_bounds(state, warp, in, places[static_cast<size_t>(lane)], lane,
                      (guard.certain >> lane & 1) != 0 && !under_conditions(state, warp)))
      inside &= ~(1u << lane);
  });
  const Lanes active = inside;
  each_lane(active, [&](int lane) {
    if (ended()) return;
    Place place = places[static_cast<size_t>(lane)];
    for (unsigned i = 0; i < in.vector; ++i) {
      if (place.space == Space::kShared && place.kind == Place::kNumber && !options_.allow_undefined &&
          state.shared.at(place.address.constant).known == Known::kNothingWritten) {
        find(FindingKind::kUndefinedRead, (guard.certain >> lane & 1) != 0 && !under_conditions(state, warp),
             in, nullptr,
             "thread " + std::to_string(warp.thread(lane)) + " reads shared memory at " +
                 std::to_string(place.address.constant) + ", where nothing has been written",
             &state);
      }
      if (i < in.results.size() && in.results[i].kind == OperandKind::kRegister) {
        const Value value = load_value(state, warp, in, place, lane, i);
        if (!launch_.ranges.empty()) apply_range(in, value);
        write_result(state, warp, in.results[i], lane, value, guard.condition[static_cast<size_t>(lane)]);
      }
      place.address = table_.add(place.address, {bytes, 0}, 64);
    }
  });
  if (ended()) return;
  access(state, warp, in, AccessKind::kRead, bytes * in.vector, active, places, guard);
}

void KernelRun::step_matrix_memory(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in,
                                   const Guarded& guard) {
  if (guard.possible != 0)
    return unproved(in, "a matrix is moved under a condition that is not known", &state);
  const Lanes rows = in.vector == 4 ? ~Lanes{0} : in.vector == 2 ? 0xffffu : 0xffu;
  std::array<Place, 32> places;
  const Lanes active = lanes & rows;
  Instruction row = in;
  row.type = Type::kB128;
  row.vector = 1;
  row.space = Space::kShared;
  each_lane(active, [&](int lane) {
    if (ended()) return;
    Place& place = places[static_cast<size_t>(lane)];
    place = place_of(state, warp, in, operand(state, warp, in.address, lane), lane);
    place.space = Space::kShared;
    (void)check_bounds(state, warp, row, place, lane, true);
    if (ended()) return;
    for (uint64_t i = 0; i < 16 && place.kind == Place::kNumber; i += 4) {
      if (in.op == Op::kMatrixStore) {
        if (context_ != nullptr)
          state.shared.write_maybe(place.address.constant + i, 4);
        else
          state.shared.write(place.address.constant + i, 4, {}, false);
      } else if (!options_.allow_undefined &&
                 state.shared.at(place.address.constant + i).known == Known::kNothingWritten) {
        find(FindingKind::kUndefinedRead, !under_conditions(state, warp), in, nullptr,
             "shared memory at " + std::to_string(place.address.constant + i) +
                 " is read, where nothing has been written",
             &state);
      }
    }
    if (place.kind != Place::kNumber && in.op == Op::kMatrixStore)
      store_value(state, warp, row, place, lane, {}, false, 0);
  });
  if (ended()) return;
  Guarded certain;
  certain.certain = active;
  access(state, warp, in, in.op == Op::kMatrixLoad ? AccessKind::kRead : AccessKind::kWrite, 16, active,
         places, certain);
  each_lane(lanes, [&](int lane) {
    for (const PtxOperand& result : in.results)
      write_result(state, warp, result, lane, table_.fresh(32, Scope::kThread), 0);
  });
}

}  // namespace glove::verify
