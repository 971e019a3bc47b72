// Whether a state is an instance of a general one from which everything was explored.
#include <algorithm>

#include "verify/run/kernel_run.h"

namespace glove::verify {
namespace {

// Finds for each symbol of the general state that is its own the value that it has in the present state.
class Instance {
 public:
  Instance(const BlockSnapshot& general, SymbolTable& table) : general_(general), table_(table) {}

  bool is_any(SymbolId symbol) const {
    return std::find(general_.anything.begin(), general_.anything.end(), symbol) != general_.anything.end();
  }

  bool matches(Value pattern, Value value, unsigned bits) {
    if (pattern == value && pattern.known()) return true;
    for (const LinearTerm& term : table_.terms(pattern.form)) {
      const bool iteration = term.symbol == general_.iteration && general_.iteration != 0;
      if (!iteration && !is_any(term.symbol)) continue;
      return matches_term(LinearTerm(term), iteration, pattern, value, bits);
    }
    return pattern == value;
  }

  bool matches_predicate(Value pattern, Value value) const {
    return pattern == value || (!pattern.known() && is_any(pattern.form | 0x80000000u));
  }

  bool matches_contents(const Contents& general, const Contents& present) {
    const auto& slots = general.slots();
    const auto& now = present.slots();
    for (size_t i = 0; i < std::max(slots.size(), now.size()); ++i) {
      const Slot a = i < slots.size() ? slots[i] : Slot{}, b = i < now.size() ? now[i] : Slot{};
      if (a.known == Known::kUnknown && b.known != Known::kNothingWritten) continue;
      if (a.known != b.known) return false;
      if (a.known != Known::kValue) continue;
      if (a.bytes != b.bytes || !matches(a.value, b.value, 8u * std::max<unsigned>(a.bytes, 2u)))
        return false;
    }
    return true;
  }

 private:
  bool matches_term(LinearTerm term, bool iteration, Value pattern, Value value, unsigned bits) {
    if (!iteration && term.factor != 1) return false;
    const Value rest =
        table_.subtract(pattern, table_.scale(table_.of(term.symbol), term.factor, bits), bits);
    const Value scaled = table_.subtract(value, rest, bits);
    const auto found = meaning_.find(term.symbol);
    if (found != meaning_.end()) return table_.scale(found->second, term.factor, bits) == scaled;
    if (!iteration) {
      if (table_.symbol(term.symbol).kind == SymbolKind::kTicket && !is_new_ticket(term.symbol, scaled))
        return false;
      meaning_[term.symbol] = scaled;
      return true;
    }
    // value = rest + factor * (iteration + rounds)
    const Value step = table_.subtract(value, pattern, bits);
    const int64_t by = sign_extend(step.constant, bits);
    if (step.known() && by % term.factor == 0) {
      const int64_t rounds = by / term.factor;
      if (rounds < 0) return false;
      meaning_[term.symbol] = table_.add(table_.of(term.symbol), {static_cast<uint64_t>(rounds), 0}, 64);
      return true;
    }
    const int64_t number = sign_extend(scaled.constant, bits);
    if (!scaled.known() || number % term.factor != 0 || number / term.factor < 0) return false;
    meaning_[term.symbol] = {static_cast<uint64_t>(number / term.factor), 0};
    return true;
  }

  // A general ticket stands for itself, or for one that was drawn since, which no other one stands for.
  bool is_new_ticket(SymbolId general, Value value) const {
    const SymbolId id = table_.single(value);
    if (id == 0 || !table_.drawn_alike(general, id)) return false;
    if (id != general && id < general_.end) return false;
    return std::none_of(meaning_.begin(), meaning_.end(), [&](const auto& known) {
      return known.second == value && table_.symbol(known.first).kind == SymbolKind::kTicket;
    });
  }

  const BlockSnapshot& general_;
  SymbolTable& table_;
  std::map<SymbolId, Value> meaning_;
};

}  // namespace

bool KernelRun::subsumed(const BlockSnapshot& general, const BlockState& state, bool* facts_differ) {
  Instance instance(general, table_);
  const auto warp_matches = [&](const Warp& pattern, const Warp& warp, int place) {
    for (const uint32_t r : flow_.live_in(place)) {
      const Type type = kernel_.registers[r].type;
      bool all = true;
      each_lane(warp.alive, [&](int lane) {
        if (!all || warp.pc[static_cast<size_t>(lane)] != place) return;
        const Value a = pattern.registers[r].get(lane), b = warp.registers[r].get(lane);
        all = type == Type::kPred ? instance.matches_predicate(a, b)
                                  : instance.matches(a, b, std::max(16u, bits_of(type)));
      });
      if (!all) return false;
    }
    return true;
  };
  for (size_t w = 0; w < state.warps.size(); ++w) {
    const Warp& warp = state.warps[w];
    std::set<int> places;
    each_lane(warp.alive, [&](int lane) { places.insert(warp.pc[static_cast<size_t>(lane)]); });
    for (const int place : places)
      if (!warp_matches(general.warps[w], warp, place)) return false;
  }
  if (!instance.matches_contents(general.shared, state.shared) || general.flights != flights(state))
    return false;
  const Reasoner reasoner(table_, {nullptr, state.path.get(), 0});
  for (const Path* path = general.path.get(); path != nullptr; path = path->parent.get()) {
    const auto truth = reasoner.truth(Value{0, path->everyone});
    if (!truth || !*truth) *facts_differ = true;
  }
  return true;
}

}  // namespace glove::verify
