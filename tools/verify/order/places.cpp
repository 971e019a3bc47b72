#include "order/places.h"

#include <algorithm>

namespace glove::verify {
namespace {

constexpr uint64_t kShared = uint64_t{1} << 60;
constexpr uint64_t kLocal = uint64_t{2} << 60;
constexpr uint64_t kParam = uint64_t{3} << 60;

}  // namespace

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

SymbolId Places::object_of(Value address) {
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
  if (best != 0 && rank < 3 && table_.symbol(best).scope == Scope::kThread) return 0;
  return best;
}

Place Places::place_of(const BlockState& state, const Warp& warp, const Instruction& in, Value address,
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

// What is wrong with an access to a known place; empty if nothing is.
std::string Places::outside(const Instruction& in, const Place& place) const {
  const uint64_t bytes = uint64_t{std::max(1u, bits_of(in.type) / 8)} * in.vector;
  const uint64_t address = place.address.constant;
  const std::string at = std::to_string(static_cast<int64_t>(address));
  if (place.space == Space::kShared) {
    if (address > kMostShared || address + bytes > setup_.shared_end())
      return "shared memory at " + at + ", which ends at " + std::to_string(setup_.shared_end());
    if (address % bytes != 0 && in.op != Op::kMatrixLoad)
      return "shared memory at " + at + ", which is not aligned to " + std::to_string(bytes) + " bytes";
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
bool Places::check_bounds(BlockState& state, Warp& warp, const Instruction& in, const Place& place, int lane,
                          bool certain) {
  if (place.kind != Place::kNumber) {
    if (place.space != Space::kShared) return true;
    const Interval range = Reasoner(table_, position(state, warp, lane)).exact_range(place.address);
    const uint64_t bytes = uint64_t{std::max(1u, bits_of(in.type) / 8)} * in.vector;
    if (range.lo < 0 || range.hi + bytes > setup_.shared_end())
      report_.assume("the index into shared memory at " + setup_.source_line(in) + " stays inside its array");
    return true;
  }
  const std::string what = outside(in, place);
  if (what.empty()) return true;
  const std::string thread = "thread " + std::to_string(warp.thread(lane));
  if (!certain) {
    report_.find(FindingKind::kUnproved, false, in, nullptr,
                 "under a condition that is not known, " + thread + " accesses " + what, &state);
    return false;
  }
  report_.find(FindingKind::kBounds, true, in, nullptr, thread + " accesses " + what, &state);
  report_.end_path();
  return false;
}

Interval Places::touched_bytes(const BlockState& state, const Warp& warp, int lane, SymbolId object,
                               Value address, unsigned bytes) {
  if (object != 0) address = table_.subtract(address, table_.of(object), 64);
  Interval touched = Reasoner(table_, position(state, warp, lane)).exact_range(address);
  touched.hi = clamp_wide(touched.hi + bytes - 1);
  return touched;
}

void Places::note_pointer(Value address) {
  if (const SymbolId pointer = table_.single(address); pointer != 0) learned_.pointers.insert(pointer);
}

}  // namespace glove::verify
