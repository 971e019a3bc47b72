#include "value/symbol_store.h"

#include <algorithm>

namespace glove::verify {

SymbolStore::SymbolStore() {
  forms_.emplace_back();  // 0: no symbol
  predicates_.emplace_back();
  Symbol unused;
  unused.bits = 0;
  bodies_.resize(kSharedBodies, unused);
  (void)add_symbol({});
  (void)fresh(64, Scope::kThread);  // kUnnamed
}

FormId SymbolStore::form_of(std::vector<LinearTerm> terms) {
  if (terms.empty()) return 0;
  if (terms.size() == 1 && terms[0].factor == 1) return of(terms[0].symbol).form;
  const auto found = form_ids_.find(terms);
  if (found != form_ids_.end()) return *found;
  const auto id = static_cast<FormId>(forms_.size());
  terms.shrink_to_fit();
  forms_.push_back(std::move(terms));
  form_ids_.insert(id);
  return id;
}

void SymbolStore::forget_since(const Mark& mark) {
  if (symbols_.size() != mark.symbols || predicates_.size() != mark.predicates) return;
  for (; forms_.size() > mark.forms; forms_.pop_back()) {
    const auto& sum = forms_.back();
    if (sum.size() == 1 && sum[0].factor == 1)
      symbols_[sum[0].symbol].form = 0;
    else
      form_ids_.erase(static_cast<FormId>(forms_.size() - 1));
  }
}

Value SymbolStore::of(SymbolId id) {
  FormId& form = symbols_[id].form;
  if (form == 0) {
    form = static_cast<FormId>(forms_.size());
    forms_.push_back({{id, 1}});
  }
  return {0, form};
}

SymbolId SymbolStore::add_symbol(const Symbol& symbol) {
  symbols_.push_back({static_cast<uint32_t>(bodies_.size()), 0});
  bodies_.push_back(symbol);
  return static_cast<SymbolId>(symbols_.size() - 1);
}

Symbol& SymbolStore::change(SymbolId id) {
  Entry& entry = symbols_[id];
  if (entry.body < kSharedBodies) {
    const Symbol copy = bodies_[entry.body];
    entry.body = static_cast<uint32_t>(bodies_.size());
    bodies_.push_back(copy);
  }
  return bodies_[entry.body];
}

Value SymbolStore::fresh(unsigned bits, Scope scope, bool data) {
  const uint32_t shared = bits * 6 + static_cast<uint32_t>(scope) * 2 + (data ? 1 : 0);
  if (bodies_[shared].bits == 0) {
    Symbol& symbol = bodies_[shared];
    symbol.scope = scope;
    symbol.bits = static_cast<uint8_t>(bits);
    symbol.range = Interval::of_signed(bits);
    symbol.unsigned_range = Interval::of_unsigned(bits);
    symbol.data = data;
  }
  symbols_.push_back({shared, 0});
  return of(static_cast<SymbolId>(symbols_.size() - 1));
}

InternKey SymbolStore::key_of(const Symbol& symbol) {
  if (symbol.kind != SymbolKind::kOperation)
    return {{static_cast<uint64_t>(symbol.kind), symbol.detail, symbol.bits, 0, 0, 0, 1}};
  const auto& x = symbol.arguments;
  return {{static_cast<uint64_t>(symbol.op) | static_cast<uint64_t>(symbol.type) << 8 |
               uint64_t{symbol.bits} << 16 | uint64_t{symbol.detail} << 32,
           symbol.condition | uint64_t{x[0].form} << 32, x[1].form | uint64_t{x[2].form} << 32, x[0].constant,
           x[1].constant, x[2].constant, 0}};
}

Scope SymbolStore::scope_of(Value value) const {
  Scope scope = Scope::kGrid;
  for (const LinearTerm& term : terms(value.form)) scope = std::max(scope, symbol(term.symbol).scope);
  return scope;
}

bool SymbolStore::is_data(Value value) const {
  bool any = false;
  for (const LinearTerm& term : terms(value.form)) {
    const Symbol& symbol = SymbolStore::symbol(term.symbol);
    if (symbol.scope == Scope::kGrid && !symbol.data) continue;
    if (!symbol.data) return false;
    any = true;
  }
  return any;
}

InternKey SymbolStore::key_of(const Predicate& predicate) {
  return {{static_cast<uint64_t>(predicate.kind) | static_cast<uint64_t>(predicate.compare) << 8 |
               uint64_t{predicate.is_float} << 16 | uint64_t{predicate.is_signed} << 17 |
               uint64_t{predicate.bits} << 24,
           predicate.a.form | uint64_t{predicate.b.form} << 32, predicate.a.constant, predicate.b.constant,
           predicate.p | uint64_t{predicate.q} << 32, 0, 2}};
}

PredicateId SymbolStore::intern(const Predicate& predicate) {
  const auto found = predicate_ids_.find(key_of(predicate));
  if (found != predicate_ids_.end()) return *found << 1;
  const auto id = static_cast<uint32_t>(predicates_.size());
  predicates_.push_back(predicate);
  predicate_ids_.insert(id);
  return id << 1;
}

}  // namespace glove::verify
