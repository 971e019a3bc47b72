#include "steps/steps.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace glove::verify {

// The number that the seed of the data decides for this place: small, so that it may serve as a count or an
// index; small enough that some are equal with every second seed, and 1 with every fourth. With every eighth
// seed all numbers with a fraction are NaN.
uint64_t MemorySteps::random_number(Type type, SymbolId object, uint64_t offset) {
  const uint64_t seed = *setup_.options.data_seed;
  const InternKey key = {{seed, object, offset}};
  const DistinctNumbers* list = table_.distinct_numbers(object);
  if (list != nullptr && list->sorted && bits_of(type) == 32)
    return offset / list->every / (list->name.empty() ? 2 : 1);
  if (list != nullptr && bits_of(type) == 32 && (offset % list->every) == 0)
    return learned_.distinct_samples.try_emplace({object, offset}, learned_.distinct_samples.size())
        .first->second;
  const uint64_t random = InternHash()(key) >> 8;
  const double fraction = seed % 8 == 0 ? std::numeric_limits<double>::quiet_NaN()
                                        : static_cast<double>(random % 2001) / 1000.0 - 1.0;
  if (type == Type::kF32) return std::bit_cast<uint32_t>(static_cast<float>(fraction));
  if (type == Type::kF64) return std::bit_cast<uint64_t>(fraction);
  return seed % 4 == 0 ? 1 : random % (seed % 2 == 0 ? 16 : 256);
}

// What memory holds there: the same for all who read it, whatever their types, since who reads a word of four
// bytes first decides what it holds.
Value MemorySteps::sampled(Type type, unsigned bits, SymbolId object, uint64_t offset) {
  const unsigned bytes = bytes_of(type);
  uint64_t number = 0;
  for (unsigned i = 0; i < bytes; ++i) {
    const uint64_t word = (offset + i) / 4 * 4;
    const auto [held, added] = learned_.sampled_words.try_emplace({object, word}, 0);
    for (unsigned at = 0; added && at < 4; at += std::min(bytes, 4u)) {
      const uint64_t element = (word + at) / bytes * bytes;
      const uint64_t part = random_number(type, object, element) >> (8 * (word + at - element));
      held->second |= static_cast<uint32_t>(mask_bits(part, 8 * bytes)) << (8 * at);
    }
    number |= uint64_t{held->second >> (8 * (offset + i - word)) & 0xff} << (8 * i);
  }
  return {mask_bits(extend(number, type), bits), 0};
}

// The bytes of the parameters that the launch gives, maybe as several numbers; nullopt: not all of them.
std::optional<uint64_t> MemorySteps::given_number(uint64_t offset, unsigned bytes) const {
  uint64_t number = 0;
  for (unsigned i = 0; i < bytes; ++i) {
    const uint64_t at = offset + i;
    const auto given = std::ranges::find_if(setup_.launch.parameters, [&](const ParameterValue& value) {
      return at >= value.offset && at < value.offset + value.bytes;
    });
    if (given == setup_.launch.parameters.end() || given->is_buffer || !given->name.empty())
      return std::nullopt;
    number |= (given->value >> (8 * (at - given->offset)) & 0xff) << (8 * i);
  }
  return number;
}

// What the launch declares of the numbers in a buffer.
void MemorySteps::declare_numbers(const ParameterValue& buffer, Value base) {
  const bool sorted = buffer.sorted || buffer.increasing;
  if (buffer.distinct.empty() && !sorted) return;
  std::string name = buffer.distinct;
  if (name.empty() && buffer.increasing) name = "those at offset " + std::to_string(buffer.offset);
  table_.declare_distinct(table_.single(base), {name, buffer.every, sorted});
  const std::string every = buffer.buffer + " holds one every " + std::to_string(buffer.every) + " bytes";
  if (!buffer.distinct.empty())
    report_.assume(buffer.distinct + " are distinct, also those of different lists: " + every);
  if (sorted)
    report_.assume("the numbers of " + buffer.buffer +
                   (buffer.increasing ? " strictly increase" : " are sorted") +
                   ", and none is negative: " + every);
}

Value MemorySteps::load_parameter(const Place& place, Type type, unsigned bits) {
  if (place.kind == Place::kNumber) {
    const uint64_t offset = place.address.constant;
    for (const ParameterValue& parameter : setup_.launch.parameters) {
      if (parameter.is_buffer && offset == parameter.offset && bits_of(type) == 64) {
        const Value base = table_.input(SymbolKind::kObject, static_cast<uint32_t>(offset), 64, Scope::kGrid);
        table_.change(table_.single(base)).range = {1, Wide{1} << 62};
        table_.change(table_.single(base)).unsigned_range = {1, Wide{1} << 62};
        declare_numbers(parameter, base);
        return base;
      }
    }
    if (const auto number = given_number(offset, bits_of(type) / 8))
      return {mask_bits(extend(*number, type), bits), 0};
    const bool named = std::ranges::any_of(setup_.launch.parameters, [&](const ParameterValue& value) {
      return value.offset == offset && !value.name.empty();
    });  // then relations are about it, which a random number may break
    if (setup_.options.data_seed && bits_of(type) == 32 && !named) return sampled(type, bits, 0, offset);
    if (bits_of(type) >= 32)
      return table_.input(SymbolKind::kInput, static_cast<uint32_t>(offset), bits_of(type), Scope::kGrid);
  }
  return table_.loaded(type, 1, bits, place.address);
}

Value MemorySteps::load_constant(const Instruction& in, const Place& place, unsigned bits) {
  const LinearTerms terms = table_.terms(place.address.form);
  const unsigned bytes = bits_of(in.type) / 8;
  if (terms.size() == 1 && terms[0].factor == 1) {
    const Symbol& symbol = table_.symbol(terms[0].symbol);
    const uint32_t index = symbol.detail - 0x80000000u;
    if (symbol.kind == SymbolKind::kObject && index < setup_.kernel.variables.size()) {
      const auto& initial = setup_.kernel.variables[index].initial;
      const uint64_t at = place.address.constant;
      // The host may copy other numbers there before the launch.
      if (setup_.launch.constants && bytes <= 8 && at <= initial.size() && bytes <= initial.size() - at) {
        report_.assume("constant memory holds its initial values");
        uint64_t value = 0;
        for (unsigned i = 0; i < bytes; ++i) value |= uint64_t{initial[at + i]} << (8 * i);
        return {mask_bits(extend(value, in.type), bits), 0};
      }
    }
  }
  return table_.loaded(in.type, 2, bits, place.address);
}

Value MemorySteps::load_shared(BlockState& state, const Instruction& in, const Place& place) {
  const unsigned bits = register_bits(in.type);
  // A strong load may see what another thread's strong access has not written yet in this schedule.
  const bool strong =
      in.order.strong || in.order.acquire || (in.order.is_volatile && setup_.options.volatile_shared_strong);
  if (place.kind != Place::kNumber || strong) return table_.fresh(bits, Scope::kThread);
  const unsigned bytes = bits_of(in.type) / 8;
  Slot& slot = state.shared.at(place.address.constant);
  const bool whole = place.address.constant % 4 == 0;
  if (slot.known == Known::kValue && whole && slot.bytes == bytes) {
    Value value = slot.value;
    if (bytes < 4 && value.known())
      value.constant = mask_bits(extend(value.constant, in.type), bits);
    else if (bytes < 4 && !Interval{0, 127}.contains(table_.base_range(value, bits, true)))
      return table_.operation(Op::kLoad, in.type, 3, bits, {value, {}, {}});
    return value;
  }
  const bool stable =
      whole &&
      (slot.known == Known::kUnknown || slot.known == Known::kNothingWritten ||
       ((slot.known == Known::kVaries || slot.known == Known::kCounted) && open_.innermost == nullptr));
  if (!stable || (bytes == 8 && slot.bytes == 8 && slot.known == Known::kTail))
    return table_.fresh(bits, Scope::kThread);
  const bool undefined = slot.known == Known::kNothingWritten;
  const Value value = table_.fresh(bits, Scope::kBlock);
  if (!undefined && (bytes >= 4 || slot.bytes <= bytes))
    state.shared.write(place.address.constant, bytes, value, true);
  return value;
}

Value MemorySteps::load_value(BlockState& state, Warp& warp, const Instruction& in, const Place& place,
                              int lane) {
  const unsigned bits = register_bits(in.type);
  switch (place.space) {
    case Space::kParam:
      return load_parameter(place, in.type, bits);
    case Space::kConst:
      return load_constant(in, place, bits);
    case Space::kShared:
      return load_shared(state, in, place);
    case Space::kLocal: {
      if (place.kind != Place::kNumber || place.address.constant > (1u << 20))
        return table_.fresh(bits, Scope::kThread);
      if (warp.local.empty()) warp.local.resize(32);
      const Slot& slot = warp.local[lane].at(place.address.constant);
      if (slot.known == Known::kValue && slot.bytes == bits_of(in.type) / 8 && slot.bytes >= 4 &&
          place.address.constant % 4 == 0)
        return Reasoner(table_, position(state, warp, lane)).simplify(slot.value, bits);
      return table_.fresh(bits, Scope::kThread);
    }
    default:
      break;
  }
  const bool strong = in.order.is_volatile || in.order.strong || in.order.acquire;
  if (strong) {
    const Value value = table_.fresh(bits, Scope::kThread);
    order_.grid.observe(state, warp, in, place, lane, value);
    return value;
  }
  if (place.object == 0) return table_.fresh(bits, Scope::kThread);
  const unsigned bytes = bytes_of(in.type);
  if (!order_.read_only.is_constant(place, bytes)) return table_.fresh(bits, Scope::kThread);
  order_.read_only.note_read(place, bytes);
  if (setup_.options.data_seed && place.kind == Place::kNumber && bits_of(in.type) <= 64)
    return sampled(in.type, bits, place.object, place.address.constant);
  const Value value = table_.loaded(in.type, 0, bits, place.address);
  if (const SymbolId id = table_.single(value); table_.has_sorted && sorted_in(table_, id) != 0) {
    const Interval range = table_.symbol(id).range.meet({0, INT32_MAX});
    table_.change(id).range = table_.change(id).unsigned_range = range;
  }
  return value;
}

void MemorySteps::apply_range(const Instruction& in, Value value) {
  const SymbolId single = table_.single(value);
  if (single == 0) return;
  for (const DataRange& range : setup_.launch.ranges) {
    if (!setup_.comes_from(in, range.at.file, range.at.line)) continue;
    Symbol& symbol = table_.change(single);
    symbol.range = symbol.range.meet({range.least, range.most});
    if (range.least >= 0) symbol.unsigned_range = symbol.unsigned_range.meet({range.least, range.most});
    report_.assume("what " + setup_.source_line(in) + " loads is from " + std::to_string(range.least) +
                   " to " + std::to_string(range.most) + ": " + range.reason);
  }
}

}  // namespace glove::verify
