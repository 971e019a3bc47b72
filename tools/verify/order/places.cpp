#include "order/order.h"

#include <algorithm>

namespace glove::verify {

constexpr uint64_t kShared = uint64_t{1} << 60;
constexpr uint64_t kLocal = uint64_t{2} << 60;
constexpr uint64_t kParam = uint64_t{3} << 60;

GlobalPlace key_of(const Place& place) {
  return {place.address.form,
          place.address.constant ^ (place.space == Space::kShared ? uint64_t{1} << 63 : 0)};
}

MemorySpan span_of(const Place& place, unsigned bytes) {
  if (place.space != Space::kGlobal) return {};
  if (place.kind != Place::kNumber) return {place.object, {}, true};
  const auto begin = static_cast<Wide>(static_cast<int64_t>(place.address.constant));
  return {place.object, {begin, begin + bytes - 1}, false};
}

SymbolId OrderPart::object_of(Value address) const {
  SymbolId best = 0;
  int rank = 0, ties = 0;
  for (const LinearTerm& term : table_.terms(address.form)) {
    const Symbol& symbol = table_.symbol(term.symbol);
    if (term.factor != 1 || symbol.bits != 64) continue;
    const bool input = symbol.kind == SymbolKind::kInput ||
                       (symbol.kind == SymbolKind::kOperation && symbol.op == Op::kLoad);
    const int worth = symbol.kind == SymbolKind::kObject         ? 3
                      : learned_.pointers.count(term.symbol) > 0 ? 2
                      : input                                    ? 1
                                                                 : 0;
    if (worth == 0) continue;
    if (worth == rank) ++ties;
    if (worth > rank) rank = worth, best = term.symbol, ties = 0;
  }
  if (ties > 0) return 0;
  if (best != 0 && rank < 3 && table_.symbol(best).scope > Scope::kBlock) return 0;
  return best;
}

Place OrderPart::place_of(const BlockState& state, const Warp& warp, const Instruction& in, Value address,
                          int lane) {
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
    } else if (in.space == Space::kGeneric && !has_object && place.address.form != 0 &&
               setup_.cluster.several()) {
      find_space(state, warp, in, place, lane);
    } else {
      place.space = Space::kGlobal;
    }
  }
  if (place.space == Space::kShared && setup_.cluster.used) find_window(state, warp, in, place, lane);
  if (place.space == Space::kGlobal) {
    place.object = object_of(place.address);
    const LinearTerms terms = table_.terms(place.address.form);
    place.kind = place.object != 0 && terms.size() == 1 ? Place::kNumber : Place::kRange;
  } else {
    place.kind = place.address.form == 0 ? Place::kNumber : Place::kRange;
  }
  return place;
}

// The range of a value that may hold n - n / d * d, which is less than d.
Interval OrderPart::range_with_remainders(Position position, Value value) const {
  const Reasoner reasoner(table_, position);
  for (const LinearTerm& term : table_.terms(value.form)) {
    const Symbol& symbol = table_.symbol(term.symbol);
    if (symbol.kind != SymbolKind::kOperation || symbol.op != Op::kDiv || is_float(symbol.type)) continue;
    const Value number = symbol.arguments[0], divisor = symbol.arguments[1];
    const auto by = static_cast<int64_t>(divisor.constant);
    if (!divisor.known() || by <= 0 || by >= 1 << 24 || term.factor % by != 0 ||
        !Interval{0, INT32_MAX}.contains(reasoner.range(number, symbol.bits, is_signed(symbol.type))))
      continue;
    const int64_t factor = -term.factor / by;  // of the remainder
    const Value wide = symbol.bits == 64 ? number : table_.sign_extended(number, 32);
    const Value whole = table_.add(table_.times(term, 64), table_.scale(wide, factor, 64), 64);
    const Value rest = table_.subtract(value, whole, 64);
    if (table_.terms(rest.form).size() < table_.terms(value.form).size())
      return range_with_remainders(position, rest).plus(Interval{0, Wide{by} - 1}.times(factor));
  }
  return reasoner.exact_range(value);
}

std::optional<uint32_t> OrderPart::window_of(Position position, Value raw, unsigned bytes) const {
  constexpr Wide kSize = Windows::kSize, kHalf = kSize / 2, kMapped = Window::kMapped;
  const Wide end = kMapped + setup_.cluster.blocks * kSize;
  const auto constant = static_cast<Wide>(static_cast<int64_t>(raw.constant));
  const Interval range =
      raw.form == 0 ? Interval::exactly(constant) : Reasoner(table_, position).exact_range(raw);
  if (raw.form == 0 ? constant < kMapped || constant >= kMapped + Wide{kMostClusterBlocks + 1} * kSize
                    : -kHalf <= range.lo && range.hi < kHalf)
    return Window::kOwn;
  if (raw.form == 0) return static_cast<uint32_t>((constant - kMapped) / kSize);
  if (range.lo < kMapped - kHalf || range.hi >= end) return std::nullopt;
  const Wide first = (range.lo - kMapped + kHalf) / kSize, last = (range.hi - kMapped + kHalf) / kSize;
  if (first == last) return static_cast<uint32_t>(first);
  // What does not choose the block must stay inside of one.
  Value inside = table_.subtract(raw, {Window::kMapped, 0}, 64);
  for (const LinearTerm& term : table_.terms(raw.form)) {
    const auto size = static_cast<int64_t>(Windows::kSize);
    const int64_t near = (term.factor + (term.factor < 0 ? -size / 2 : size / 2)) / size * size;
    if (near != 0) inside = table_.subtract(inside, table_.scale(table_.of(term.symbol), near, 64), 64);
  }
  inside.constant %= Windows::kSize;
  if (inside.constant >= Windows::kSize / 2) inside.constant -= Windows::kSize;
  const Interval offset = range_with_remainders(position, inside);
  if (offset.lo < 0 || offset.hi + bytes > static_cast<Wide>(setup_.shared_end())) return std::nullopt;
  return Window::kAny;
}

// A generic address that is computed from no pointer: a choice among places in shared memory, say.
void OrderPart::find_space(const BlockState& state, const Warp& warp, const Instruction& in, Place& place,
                           int lane) {
  constexpr Wide kBegin = kShared - Windows::kSize, kEnd = kShared + 2 * Window::kMapped;
  const Interval range = Reasoner(table_, position(state, warp, lane)).exact_range(place.address);
  place.space = Space::kGlobal;
  if (range.hi < kBegin || range.lo >= kEnd) return;
  if (range.lo < kBegin || range.hi >= kEnd)
    return report_.unproved(in, "it is not known to which memory the address belongs", &state);
  place.space = Space::kShared;
  place.address = table_.subtract(place.address, {kShared, 0}, 64);
}

// From an address as the thread has it to one of Windows.
void OrderPart::find_window(const BlockState& state, const Warp& warp, const Instruction& in, Place& place,
                            int lane) {
  const auto window = window_of(position(state, warp, lane), place.address, bytes_of(in.type) * in.vector);
  const uint32_t own = setup_.cluster.rank_of(warp.index);
  if (!window)
    return report_.unproved(in, "it is not known to which block's shared memory the address belongs", &state);
  place.window = *window == Window::kOwn ? own : *window;
  const uint64_t move = *window == Window::kOwn ? own * Windows::kSize : 0 - Window::kMapped;
  place.address = table_.add(place.address, {move, 0}, 64);
  constexpr OpSet kRemote = {Op::kLoad, Op::kStore, Op::kAtomic};
  if (place.window != own && !kRemote.has(in.op))
    report_.unsupported(in, "it concerns the shared memory of another block of the cluster");
}

std::string OrderPart::name_of_global(const Instruction& in, FormId form, uint64_t byte) const {
  byte -= byte % (uint64_t{bytes_of(in.type)} * in.vector);  // any byte of the access may have been found
  const std::string what = in.vector > 1           ? std::to_string(bytes_of(in.type) * in.vector) + " bytes"
                           : in.type == Type::kF32 ? "float"
                           : in.type == Type::kF64 ? "double"
                                                   : std::to_string(bytes_of(in.type)) + " bytes";
  return what + " at byte " + std::to_string(static_cast<int64_t>(byte)) + " of " + name_of_object(form);
}

std::string OrderPart::name_of_object(FormId form) const {
  const Symbol& object = table_.symbol(object_of({0, form}));
  if (object.kind == SymbolKind::kOperation) return "what a pointer from memory points to";
  if (object.kind != SymbolKind::kObject && object.kind != SymbolKind::kInput) return "a buffer";
  for (const ParameterValue& parameter : setup_.launch.parameters)
    if (parameter.is_buffer && parameter.offset == object.detail && !parameter.buffer.empty())
      return "the buffer '" + parameter.buffer + "'";
  const uint32_t variable = object.detail - 0x80000000u;
  if (variable < setup_.kernel.variables.size()) return setup_.kernel.variables[variable].name;
  return (object.detail == kWorkspace ? "the grid's barrier" : setup_.parameter_at(object.detail));
}

// What is wrong with an access to a known place; empty if nothing is.
std::string OrderPart::outside(const BlockState& state, const Warp& warp, const Instruction& in,
                               const Place& place) const {
  const uint64_t bytes = uint64_t{bytes_of(in.type)} * in.vector;
  const uint64_t address = place.address.constant;
  const std::string at = std::to_string(static_cast<int64_t>(address));
  if (place.space == Space::kShared) {
    const uint64_t offset = address - place.window * Windows::kSize;
    if (place.window >= setup_.cluster.blocks)
      return "shared memory of a block that its cluster of " + std::to_string(setup_.cluster.blocks) +
             " does not have";
    if (offset > kMostShared || offset + bytes > setup_.shared_end())
      return (setup_.cluster.several() ? setup_.shared_at(state, place.window * Windows::kSize, false) +
                                             " at " + std::to_string(static_cast<int64_t>(offset))
                                       : "shared memory at " + at) +
             ", which ends at " + std::to_string(setup_.shared_end());
    if (place.window != setup_.cluster.rank_of(warp.index) && in.space == Space::kShared &&
        in.text.find("shared::cluster") == std::string::npos)
      return setup_.shared_at(state, address) + ", for which it needs .shared::cluster";
    if (address % bytes != 0 && in.op != Op::kMatrixLoad && in.collective.tile.lines == 0)
      return setup_.shared_at(state, address) + ", which is not aligned to " + std::to_string(bytes) +
             " bytes";
  } else if (place.space == Space::kGlobal && place.object != 0) {
    const Symbol& symbol = table_.symbol(place.object);
    for (const ParameterValue& parameter : setup_.launch.parameters)
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
bool OrderPart::check_bounds(BlockState& state, Warp& warp, const Instruction& in, const Place& place,
                             int lane, bool certain) {
  if (place.kind != Place::kNumber) {
    if (place.space != Space::kShared) return true;
    const Interval range = Reasoner(table_, position(state, warp, lane)).exact_range(place.address);
    const uint64_t bytes = uint64_t{bytes_of(in.type)} * in.vector;
    const Wide begin = place.window == Window::kAny ? 0 : Wide{place.window} * Windows::kSize;
    if (place.window != Window::kAny && (range.lo < begin || range.hi + bytes > begin + setup_.shared_end()))
      report_.assume("the index into shared memory at " + setup_.source_line(in) + " stays inside its array");
    return true;
  }
  const std::string what = outside(state, warp, in, place);
  if (what.empty()) return true;
  const std::string thread = setup_.name_of_thread(state, warp, lane);
  if (!certain) {
    report_.find(FindingKind::kUnproved, false, in, nullptr,
                 "under a condition that is not known, " + thread + " accesses " + what, &state);
    return false;
  }
  report_.find(FindingKind::kBounds, true, in, nullptr, thread + " accesses " + what, &state);
  report_.end_path();
  return false;
}

Interval OrderPart::touched_bytes(const BlockState& state, const Warp& warp, int lane, SymbolId object,
                                  Value address, unsigned bytes) {
  if (object != 0) address = table_.subtract(address, table_.of(object), 64);
  Interval touched = Reasoner(table_, position(state, warp, lane)).exact_range(address);
  touched.hi = clamp_wide(touched.hi + bytes - 1);
  return touched;
}

bool OrderPart::may_be_mbarrier(const BlockState& state, const Warp& warp, int lane, const Place& place,
                                unsigned bytes) {
  if (place.space != Space::kShared) return false;
  if (place.kind == Place::kNumber)
    return state.mbarriers.find(place.address.constant, bytes) != Clocks::kMbarriers;
  const Interval touched = touched_bytes(state, warp, lane, 0, place.address, bytes);
  const uint64_t first = setup_.near_shared(touched.lo);
  return state.mbarriers.find(first, setup_.near_shared(touched.hi) + 1 - first) != Clocks::kMbarriers;
}

void OrderPart::note_pointer(Value address) {
  if (const SymbolId pointer = table_.single(address); pointer != 0) learned_.pointers.insert(pointer);
}

uint32_t Locations::number(const Place& place) {
  const auto [found, added] = numbers_.try_emplace(key_of(place), learned_.next_location);
  if (added) spans_[learned_.next_location++] = span_of(place, 0);
  const SymbolId object = place.space == Space::kShared ? 0 : place.object;
  objects_.insert(object);
  if (place.kind == Place::kRange) ranged_.insert(object);
  return found->second;
}

std::optional<uint32_t> Locations::known_number(const Place& place) const {
  const auto found = numbers_.find(key_of(place));
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

MemorySpan Locations::span(uint32_t number) const {
  const auto found = spans_.find(number);
  return found == spans_.end() ? MemorySpan{} : found->second;
}

void Locations::forget(const Place& place, unsigned bytes, const BlockState& state, const Warp& warp,
                       int lane) {
  const bool shared = place.space == Space::kShared;
  const SymbolId object = shared ? 0 : place.object;
  if (place.kind == Place::kNumber) {
    numbers_.erase(key_of(place));
    if (ranged_.count(object) == 0) return;
    std::erase_if(numbers_, [&](const auto& entry) {  // names that may be of the same place
      return entry.first.form != key_of(place).form && object_of({0, entry.first.form}) == object;
    });
    return;
  }
  if (objects_.count(object) == 0) return;
  const Interval range =
      shared ? Reasoner(table_, position(state, warp, lane)).exact_range(place.address) : Interval{};
  std::erase_if(numbers_, [&](const auto& entry) {
    const GlobalPlace& key = entry.first;
    const bool in_shared = has(key.granule, 63);
    if (!shared || key.form != 0)
      return key.form != 0 && in_shared == shared && object_of({0, key.form}) == object;
    const Wide at = static_cast<Wide>(key.granule & ~(uint64_t{1} << 63));
    return key.form == 0 && at + 7 >= range.lo && at < range.hi + bytes;
  });
}

// Calls visit(word) for the words of four bytes at a known place.
template <class Visit>
void each_word(const Place& place, unsigned bytes, Visit visit) {
  GlobalPlace word = {place.address.form, place.address.constant / 4};
  for (; word.granule <= (place.address.constant + bytes - 1) / 4; ++word.granule) visit(word);
}

bool ReadOnlyMemory::is_constant(const Place& place, unsigned bytes) const {
  if (learned_.written_objects.count(place.object) == 0) return true;
  if (place.kind != Place::kNumber || learned_.written_anywhere.count(place.object) > 0) return false;
  bool written = false;
  each_word(place, bytes, [&](GlobalPlace word) { written |= learned_.written_words.contains(word); });
  return !written;
}

void ReadOnlyMemory::note_read(const Place& place, unsigned bytes) {
  read_objects_.insert(place.object);
  if (place.kind != Place::kNumber)
    read_anywhere_.insert(place.object);
  else
    each_word(place, bytes, [&](GlobalPlace word) { read_words_.insert(word); });
}

bool ReadOnlyMemory::note_written(const Place& place, unsigned bytes) {
  const bool first = learned_.written_objects.insert(place.object).second;
  if (place.kind != Place::kNumber)
    return learned_.written_anywhere.insert(place.object).second && read_objects_.count(place.object) > 0;
  bool seen = first && read_anywhere_.count(place.object) > 0;
  each_word(place, bytes, [&](GlobalPlace word) {
    seen |= learned_.written_words.insert(word) && read_words_.contains(word);
  });
  if (seen) learned_.written_anywhere.insert(place.object);
  return seen;
}

std::set<SymbolId> ReadOnlyMemory::buffers() const {
  std::set<SymbolId> buffers(learned_.written_objects.begin(), learned_.written_objects.end());
  buffers.insert(read_objects_.begin(), read_objects_.end());
  buffers.erase(SymbolId{0});
  return buffers;
}

void Tickets::spoil(const Place& place, unsigned bytes) {
  const SymbolId object = place.space == Space::kShared ? 0 : place.object;
  bool drawn = false;
  if (place.kind == Place::kRange) {
    if (!learned_.ticket_objects_spoiled.insert(object).second) return;
    drawn = !ticketed_.empty();
  } else {
    if (learned_.ticket_objects_touched.insert(object).second) drawn = ranged_.count(object) > 0;
    GlobalPlace key = key_of(place);
    for (unsigned i = 0; i < bytes; i += 4, key.granule += 4)
      drawn |= learned_.tickets_spoiled.insert(key).second && ticketed_.count(key) > 0;
  }
  if (drawn) report_.begin_again();
}

bool Tickets::draw(const Place& place, unsigned bytes) {
  const SymbolId object = place.space == Space::kShared ? 0 : place.object;
  if (learned_.ticket_objects_spoiled.count(object) > 0) return false;
  if (place.kind == Place::kRange) {
    if (learned_.ticket_objects_touched.count(object) > 0) return false;
    ranged_.insert(object);
  }
  const GlobalPlace first = key_of(place);
  GlobalPlace key = first;
  for (unsigned i = 0; i < bytes; i += 4, key.granule += 4) {
    if (learned_.tickets_spoiled.count(key) > 0) return false;
    const auto [found, added] = ticketed_.try_emplace(key, first.granule, bytes);
    if (!added && found->second != std::pair(first.granule, bytes)) {  // an addition to a part of it
      spoil(place, bytes);
      return false;
    }
  }
  return true;
}

TicketShape Tickets::shape_of(const BlockState& state, const Warp& warp, int lane, Value address) {
  for (const LinearTerm& term : table_.terms(address.form)) {
    const Symbol& symbol = table_.symbol(term.symbol);
    if (symbol.kind != SymbolKind::kTicket || symbol.owner != setup_.owner_of(state, warp, lane)) continue;
    const Value amount = symbol.arguments[0];
    const Wide least = amount.known() ? static_cast<Wide>(mask_bits(amount.constant, symbol.bits)) : 0;
    const uint32_t location = symbol.detail;
    const Value rest = table_.subtract(address, table_.times(term, 64), 64);
    if (table_.scope_of(rest) > Scope::kBlock) return {};
    return {location, term.factor, least, rest};
  }
  return {};
}

// If all addresses of a group are the same but for distinct numbers, remembers where these come from.
void BlockRaces::find_distinct(RangeAccess& group) {
  DistinctPlaces all;
  Interval offsets;
  bool same = true;
  each_lane(group.lanes, [&](int lane) {
    const DistinctPlaces one = distinct_places(group.address[lane], table_);
    const auto offset = Wide{static_cast<int64_t>(one.source.constant)};
    if (lane == std::countr_zero(group.lanes)) all = one, offsets = Interval::exactly(offset);
    offsets = offsets.hull(Interval::exactly(offset));
    same &= one.object != 0 && one.object == all.object && one.factor == all.factor && one.rest == all.rest &&
            one.source.form == all.source.form;
  });
  if (!same || offsets.hi - offsets.lo > 65536) return;
  all.source.constant = static_cast<uint64_t>(offsets.lo);
  all.source_bytes = static_cast<uint32_t>(offsets.hi - offsets.lo) + 4;
  group.places = all;
}

}  // namespace glove::verify
