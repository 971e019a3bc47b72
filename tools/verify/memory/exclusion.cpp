// Whether what two threads know lets both come where they are.
#include "memory/access.h"
#include "value/symbols.h"

namespace glove::verify {
namespace {

// The number that a ticket is known to be.
bool same_ticket_value(const Reasoner& a, const Reasoner& b, SymbolTable& table) {
  bool found = false;
  const auto each_ticket = [&](const Reasoner& reasoner, auto visit) {
    reasoner.any_fact([&](PredicateId fact) {
      const Predicate predicate = table.predicate(fact);
      if (predicate.kind != PredicateKind::kCompare || predicate.is_float) return false;
      for (const Value& side : {predicate.a, predicate.b})
        for (const LinearTerm& term : table.terms(side.form))
          if (table.symbol(term.symbol).kind == SymbolKind::kTicket &&
              reasoner.symbol_range(term.symbol).single())
            visit(term.symbol, reasoner.symbol_range(term.symbol).lo);
      return false;
    });
  };
  each_ticket(a, [&](SymbolId left, Wide value) {
    each_ticket(b, [&](SymbolId right, Wide other) {
      const Symbol& first = table.symbol(left);
      const Symbol& second = table.symbol(right);
      found |= table.drawn_apart(left, right) && value == other && first.detail == second.detail &&
               a.range(first.arguments[0], first.bits, false).lo > 0 &&
               b.range(second.arguments[0], second.bits, false).lo > 0;
    });
  });
  return found;
}

}  // namespace

bool exclude_each_other(Position a, Position b, bool one_warp, SymbolTable& table) {
  const Reasoner know_a(table, a), know_b(table, b);
  const bool contradiction = know_a.any_fact([&](PredicateId fact) {
    if (table.scope_of_predicate(fact) > (one_warp ? Scope::kWarp : Scope::kBlock)) return false;
    const auto there = know_b.truth(Value{0, fact});
    return there && !*there;
  });
  return contradiction || same_ticket_value(know_a, know_b, table);
}

}  // namespace glove::verify
