#include "ways/ways.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace glove::verify {
namespace {

// What the first of two ways from one branch knows and the second one denies; 0: they are nothing of the
// kind.
PredicateId parted_by(const Path* a, const Path* b, int lane) {
  if (a == nullptr || b == nullptr || a->parent != b->parent) return 0;
  const PredicateId condition = a->of(lane);
  return condition == (b->of(lane) ^ 1) ? condition : 0;
}

}  // namespace

Value BundleJoin::join_values(const std::vector<std::pair<const Bundle*, Value>>& values, Type type,
                              PredicateId condition, int lane, const BlockState& state) {
  const Value first = values[0].second;
  if (std::ranges::all_of(values, [&](const auto& v) { return v.second == first; })) return first;
  if (condition != 0 && values.size() == 2)
    return table_.choose(condition, values[0].second, values[1].second, type);
  if (type == Type::kPred || is_float(type)) return table_.fresh_of(type, Scope::kThread);
  return join_integers(values, register_bits(type), lane, state);
}

// What all the values have in common, plus an unknown whose range and residue cover the rest of each.
Value BundleJoin::join_integers(const std::vector<std::pair<const Bundle*, Value>>& values, unsigned bits,
                                int lane, const BlockState& state) {
  const Value first = values[0].second;
  Value common;
  for (const LinearTerm& term : table_.terms(first.form))
    if (std::ranges::all_of(values, [&](const auto& value) {
          const LinearTerms terms = table_.terms(value.second.form);
          return std::ranges::find(terms, term) != terms.end();
        }))
      common = table_.add(common, table_.times(term, bits), bits);
  Interval hull;
  uint64_t stride = 0;
  int64_t residue = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const Value rest = table_.subtract(values[i].second, common, bits);
    const Position at = {values[i].first->path.get(), state.path.get(), lane};
    const Interval range = Reasoner(table_, at).range(rest, bits, true);
    hull = i == 0 ? range : hull.hull(range);
    uint64_t at_rest = rest.constant;
    for (const LinearTerm& term : table_.terms(rest.form)) {
      const Symbol& symbol = table_.symbol(term.symbol);
      stride = std::gcd(stride, static_cast<uint64_t>(term.factor) * symbol.stride);
      at_rest += static_cast<uint64_t>(term.factor) * static_cast<uint64_t>(symbol.residue);
    }
    if (i == 0) residue = sign_extend(at_rest, bits);
    stride = std::gcd(stride, mask_bits(at_rest - static_cast<uint64_t>(residue), bits));
  }
  // Only powers of two stay congruent when a register wraps.
  stride = stride == 0 ? 1 : uint64_t{1} << std::countr_zero(stride);
  if (common.form != 0 && stride == 1 && hull == Interval::of_signed(bits)) common = {};
  const Value unknown = table_.fresh_in(bits, Scope::kThread, hull);
  for (const auto& [bundle, value] : values)
    table_.note_source(table_.single(unknown), table_.subtract(value, common, bits));
  if (stride > 1) {
    Symbol& symbol = table_.change(table_.single(unknown));
    symbol.stride = stride;
    symbol.residue = static_cast<int64_t>(static_cast<uint64_t>(residue) % stride);
  }
  return table_.add(common, unknown, bits);
}

// In which order a lane's bundles are joined, two sides of one branch at a time, so that what two sides agree
// on keeps its name; nothing if that is not how they parted.
std::vector<BundleJoin::Meeting> BundleJoin::meetings_of(const std::vector<const Bundle*>& bundles,
                                                         int lane) {
  std::vector<const Path*> paths;
  for (const Bundle* bundle : bundles) paths.push_back(bundle->path.get());
  std::vector<Meeting> meetings;
  for (bool found = true; found;) {
    found = false;
    for (size_t i = 0; !found && i < paths.size(); ++i)
      for (size_t j = i + 1; !found && j < paths.size(); ++j) {
        const PredicateId condition = parted_by(paths[i], paths[j], lane);
        if (condition == 0) continue;
        meetings.push_back({i, j, condition});
        paths[i] = paths[i]->parent.get();
        paths.erase(paths.begin() + static_cast<long>(j));
        found = true;
      }
  }
  if (paths.size() > 1) meetings.clear();
  return meetings;
}

// What the lane's bundles have in register `i` of those that their branch writes. condition: that of the
// first branch, if its sides alone are joined.
Value BundleJoin::joined(const std::vector<const Bundle*>& bundles, size_t i,
                         const std::vector<Meeting>& meetings, PredicateId condition, Type type, int lane,
                         const BlockState& state) {
  std::vector<std::pair<const Bundle*, Value>> values;
  for (const Bundle* bundle : bundles) values.emplace_back(bundle, bundle->registers[i].get(lane));
  // Where no two sides agree, what each knows of its value bounds them best together.
  const auto agree = [&](const Meeting& meeting) {
    return values[meeting.into].second == values[meeting.from].second;
  };
  const bool keeps_name = !meetings.empty() && agree(meetings[0]);
  for (const Meeting& meeting : keeps_name ? meetings : std::vector<Meeting>()) {
    Value& into = values[meeting.into].second;
    into = join_values({values[meeting.into], values[meeting.from]}, type, meeting.condition, lane, state);
    values.erase(values.begin() + static_cast<long>(meeting.from));
  }
  if (bundles.size() != 2) {
    condition = 0;
  } else if (condition != 0) {
    if (bundles[0]->side == 2) condition ^= 1;
  } else {
    condition = parted_by(bundles[0]->path.get(), bundles[1]->path.get(), lane);
  }
  return join_values(values, type, condition, lane, state);
}

void BundleJoin::join_bundles(BlockState& state, Warp& warp, Context& context,
                              const std::vector<Bundle>& finished, Lanes before) {
  const bool ends = context.stop >= setup_.flow.end();
  static const std::vector<uint32_t> kNone;
  static const std::vector<Meeting> kNoMeetings;
  const std::vector<uint32_t>& live = ends ? kNone : setup_.flow.live_in(context.stop);
  const bool simple = finished.size() == 2 && context.condition != 0 &&
                      finished[0].side + finished[1].side == 3 && finished[0].side != 0 && !context.loops;
  std::array<std::vector<const Bundle*>, 32> arrived;
  for (const Bundle& bundle : finished)
    each_lane(bundle.lanes & ~bundle.exited, [&](int lane) { arrived[lane].push_back(&bundle); });
  PathPointer only;
  Lanes only_lanes = 0;
  each_lane(before, [&](int lane) {
    auto& bundles = arrived[lane];
    const Lanes bit = 1u << lane;
    if (bundles.empty()) {
      warp.alive &= ~bit;
      return;
    }
    warp.alive |= bit;
    warp.pc[lane] = context.stop;
    uint64_t observed = ~uint64_t{0};
    for (const Bundle* bundle : bundles) observed &= bundle->observed[lane];
    warp.observed[lane] = observed;
    if (bundles.size() == 1 && (!only || only == bundles[0]->path))
      only = bundles[0]->path, only_lanes |= bit;
    const std::vector<Meeting> meetings =
        bundles.size() > 2 && !context.loops ? meetings_of(bundles, lane) : kNoMeetings;
    for (size_t i = 0; i < context.written->size(); ++i) {
      const uint32_t r = (*context.written)[i];
      if (!ends && !std::ranges::binary_search(live, r)) continue;
      warp.registers.change(r).set(lane, joined(bundles, i, meetings, simple ? context.condition : 0,
                                                setup_.kernel.registers[r].type, lane, state));
    }
  });
  Lanes seen = 0;
  for (const Bundle& bundle : finished) {
    const Lanes here = bundle.lanes & ~bundle.exited;
    warp.copies.assign(here & ~seen, bundle.copies);
    warp.copies.merge(here & seen, bundle.copies);
    warp.copies.abandon(bundle.lanes & bundle.exited, bundle.copies);
    seen |= here;
  }
  // The others have left the kernel: what the one way knows holds from here on.
  if (only && only_lanes == before) warp.path = only;
}

bool BundleJoin::merge_into(Context& context, Bundle& into, const Bundle& other, const BlockState& state) {
  if (into.lanes != other.lanes || into.exited != 0 || other.exited != 0 || into.trips != other.trips)
    return false;
  const int at = into.pc[static_cast<size_t>(std::countr_zero(into.lanes))];
  bool same = true;
  each_lane(into.lanes, [&](int lane) { same &= into.pc[lane] == at && other.pc[lane] == at; });
  // Those at the join are joined there, where all are known.
  if (!same || at >= setup_.flow.end() || (at == context.stop && !context.loops)) return false;
  const auto& live = setup_.flow.live_in(at);
  // The condition that tells the two apart, if they split at one branch.
  for (size_t i = 0; i < context.written->size(); ++i) {
    const uint32_t r = (*context.written)[i];
    if (!std::ranges::binary_search(live, r)) continue;
    each_lane(into.lanes, [&](int lane) {
      const Value a = into.registers[i].get(lane), b = other.registers[i].get(lane);
      if (a == b) return;
      const PredicateId condition = parted_by(into.path.get(), other.path.get(), lane);
      const std::vector<std::pair<const Bundle*, Value>> values = {{&into, a}, {&other, b}};
      into.registers[i].set(lane,
                            join_values(values, setup_.kernel.registers[r].type, condition, lane, state));
    });
  }
  each_lane(into.lanes, [&](int lane) {
    into.observed[lane] &= other.observed[lane];
    into.exact &= parted_by(into.path.get(), other.path.get(), lane) != 0;
  });
  into.exact &= other.exact;
  meet_knowledge(into, other);
  into.copies.merge(into.lanes, other.copies);
  into.path = common_path(into.path, other.path);
  into.uniform &= other.uniform;
  if (into.side != other.side) into.side = 0;
  return true;
}

}  // namespace glove::verify
