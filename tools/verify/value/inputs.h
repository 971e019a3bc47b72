// What a value is computed from.
#pragma once

#include <unordered_set>
#include <vector>

#include "value/symbols.h"

namespace glove::verify {

// Walks over the symbols and predicates from which values are computed, each once however many values share
// it. REQUIRES: the table outlives it.
class ValueInputs {
 public:
  // Symbols before `first` are passed over: they are computed from nothing behind it.
  ValueInputs(const SymbolTable& table, SymbolId first) : table_(table), first_(first) {}

  // Calls visit(symbol) and visit_predicate(id) until one returns false, and returns whether none did. What
  // an earlier call has visited counts as visited.
  template <class Visit, class VisitPredicate>
  bool all(SymbolId symbol, PredicateId predicate, Visit visit, VisitPredicate visit_predicate) {
    if (symbol != 0) symbols_.push_back(symbol);
    if (predicate != 0) predicates_.push_back(predicate);
    bool go_on = true;
    while (go_on && !(symbols_.empty() && predicates_.empty())) {
      if (!symbols_.empty()) {
        const SymbolId id = take(symbols_);
        if (id >= first_ && seen_.insert(id).second) go_on = visit(id), push_symbol(id);
      } else {
        const PredicateId id = take(predicates_) & ~1u;
        if (seen_predicates_.insert(id).second) go_on = visit_predicate(id), push_predicate(id);
      }
    }
    symbols_.clear(), predicates_.clear();
    return go_on;
  }

 private:
  static uint32_t take(std::vector<uint32_t>& list) {
    const uint32_t last = list.back();
    list.pop_back();
    return last;
  }
  void push_terms(Value value) {
    for (const LinearTerm& term : table_.terms(value.form)) symbols_.push_back(term.symbol);
  }
  void push_symbol(SymbolId id) {
    const Symbol& symbol = table_.symbol(id);
    if (symbol.kind != SymbolKind::kOperation) return;
    for (const Value& argument : symbol.arguments) push_terms(argument);
    if (symbol.condition != 0) predicates_.push_back(symbol.condition);
  }
  void push_predicate(PredicateId id) {
    const Predicate& predicate = table_.predicate(id);
    if (predicate.kind == PredicateKind::kCompare) push_terms(predicate.a), push_terms(predicate.b);
    if (predicate.kind != PredicateKind::kAnd && predicate.kind != PredicateKind::kXor) return;
    predicates_.push_back(predicate.p), predicates_.push_back(predicate.q);
  }

  const SymbolTable& table_;
  SymbolId first_;
  std::unordered_set<SymbolId> seen_;
  std::unordered_set<PredicateId> seen_predicates_;
  std::vector<uint32_t> symbols_, predicates_;  // still to visit
};

// Whether a value, or a predicate, is computed from the symbol.
inline bool computed_from(const SymbolTable& table, Value value, bool predicate, SymbolId symbol) {
  if (symbol == 0 || value.known()) return false;
  ValueInputs inputs(table, symbol);
  const auto other = [&](SymbolId id) { return id != symbol; };
  const auto any = [](PredicateId) { return true; };
  if (predicate) return !inputs.all(0, value.form, other, any);
  for (const LinearTerm& term : table.terms(value.form))
    if (!inputs.all(term.symbol, 0, other, any)) return true;
  return false;
}

}  // namespace glove::verify
