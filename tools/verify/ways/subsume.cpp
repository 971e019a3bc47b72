// Whether a state is an instance of a general one from which everything was explored.
#include "ways/explorer.h"

#include <algorithm>

#include "value/symbols.h"

namespace glove::verify {
namespace {

// Finds for each symbol of the general state that is its own the value that it has in the present state.
class Instance {
 public:
  Instance(const BlockSnapshot& general, SymbolTable& table)
      : general_(general), table_(table), inputs_(table, first_own(general)) {}

  bool is_any(SymbolId symbol) const {
    return std::ranges::find(general_.anything, symbol) != general_.anything.end();
  }

  bool matches(Value pattern, Value value, unsigned bits) {
    const LinearTerm* sought = nullptr;
    Value rest = {pattern.constant, 0};
    for (const LinearTerm& term : table_.terms(pattern.form)) {
      const auto found = meaning_.find(term.symbol);
      if (found != meaning_.end()) {
        rest = table_.add(rest, table_.scale(found->second, term.factor, bits), bits);
      } else if (sought == nullptr && is_own(term.symbol)) {
        sought = &term;
      } else {
        const SymbolId load = sought == nullptr ? moving_load(pattern) : 0;
        if (load != 0) return matches_load(load, value);
        if (!stays(term.symbol)) return false;
        rest = table_.add(rest, table_.scale(table_.of(term.symbol), term.factor, bits), bits);
      }
    }
    return sought == nullptr ? rest == value : matches_term(LinearTerm(*sought), rest, value, bits);
  }

  bool matches_predicate(Value pattern, Value value) {
    if (pattern.known()) return pattern == value;
    if (!is_any(pattern.form | kPredicateBit)) return pattern == value && stays(pattern);
    return meaning_.try_emplace(pattern.form | kPredicateBit, value).first->second == value;
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
  bool is_own(SymbolId symbol) const {
    return (symbol == general_.iteration && general_.iteration != 0) || is_any(symbol);
  }

  // The first of the state's own symbols; predicates may stand before it.
  static SymbolId first_own(const BlockSnapshot& general) {
    SymbolId first = general.iteration != 0 ? general.iteration : ~0u;
    for (const SymbolId symbol : general.anything)
      first = std::min(first, (symbol & kPredicateBit) != 0 ? 1 : symbol);
    return first;
  }

  // value = rest + factor * symbol, which no other value has given a meaning so far.
  bool matches_term(LinearTerm term, Value rest, Value value, unsigned bits) {
    const bool iteration = term.symbol == general_.iteration;
    if (!iteration && term.factor != 1) return false;
    const Value scaled = table_.subtract(value, rest, bits);
    if (!iteration) {
      if (table_.symbol(term.symbol).kind == SymbolKind::kTicket && !is_new_ticket(term.symbol, scaled))
        return false;
      meaning_[term.symbol] = scaled;
      return true;
    }
    // value = rest + factor * (iteration + rounds)
    const Value step = table_.subtract(scaled, table_.scale(table_.of(term.symbol), term.factor, bits), bits);
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
    return std::ranges::none_of(meaning_, [&](const auto& known) {
      return known.second == value && table_.symbol(known.first).kind == SymbolKind::kTicket;
    });
  }

  // A load from memory that nobody writes, at an address that is the state's own; 0: the value is none.
  SymbolId moving_load(Value value) const {
    const SymbolId load = table_.load(value);
    if (load == 0) return 0;
    for (const LinearTerm& term : table_.terms(table_.symbol(load).arguments[0].form))
      if (is_own(term.symbol)) return load;
    return 0;
  }

  bool matches_load(SymbolId pattern, Value value) {
    const SymbolId load = table_.load(value);
    if (load == 0) return false;
    const Symbol &a = table_.symbol(pattern), &b = table_.symbol(load);
    return a.type == b.type && a.detail == b.detail && a.bits == b.bits &&
           matches(a.arguments[0], b.arguments[0], 64);
  }

  // Whether all symbols of the state's own from which a symbol or a predicate is computed can stand for
  // themselves, which they do from now on.
  bool stays(SymbolId symbol) { return inputs_stay(symbol, 0); }
  bool stays(Value predicate) { return inputs_stay(0, predicate.form); }
  bool inputs_stay(SymbolId symbol, PredicateId predicate) {
    const auto means = [&](uint32_t own, Value itself) {
      return meaning_.try_emplace(own, itself).first->second == itself;
    };
    return inputs_.all(
        symbol, predicate, [&](SymbolId id) { return !is_own(id) || means(id, table_.of(id)); },
        [&](PredicateId id) {
          return (!is_any(id | kPredicateBit) || means(id | kPredicateBit, {0, id})) &&
                 (!is_any(id | 1 | kPredicateBit) || means(id | 1 | kPredicateBit, {0, id | 1}));
        });
  }

  static constexpr uint32_t kPredicateBit = 0x80000000u;
  const BlockSnapshot& general_;
  SymbolTable& table_;
  std::map<SymbolId, Value> meaning_;  // of the state's own symbols, and with kPredicateBit of its predicates
  ValueInputs inputs_;
};

}  // namespace

bool Generaliser::subsumed(const BlockSnapshot& general, const BlockState& state, bool* facts_differ) {
  Instance instance(general, table_);
  const auto warp_matches = [&](const Warp& pattern, const Warp& warp, int place) {
    for (const uint32_t r : setup_.flow.live_in(place)) {
      const Type type = setup_.kernel.registers[r].type;
      bool all = true;
      each_lane(warp.alive, [&](int lane) {
        if (!all || warp.pc[lane] != place) return;
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
    each_lane(warp.alive, [&](int lane) { places.insert(warp.pc[lane]); });
    for (const int place : places)
      if (!warp_matches(general.warps[w], warp, place)) return false;
  }
  if (!instance.matches_contents(general.shared, state.shared) || general.flights != records_.flights(state))
    return false;
  const Reasoner reasoner(table_, {nullptr, state.path.get(), 0});
  for (const Path* path = general.path.get(); path != nullptr; path = path->parent.get()) {
    const auto truth = reasoner.truth(Value{0, path->everyone});
    if (!truth || !*truth) *facts_differ = true;
  }
  return true;
}

}  // namespace glove::verify
