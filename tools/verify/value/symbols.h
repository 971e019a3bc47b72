// Values: what is computed from symbols, what is known about it, and from what it is computed.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "value/symbol_store.h"

namespace glove::verify {

// Arithmetic, conditions and votes on values, for one kernel's run.
class SymbolTable : public SymbolStore {
 public:
  Value fresh_in(unsigned bits, Scope scope, Interval range);
  // How often a loop has run.
  Value iteration(Scope scope);
  // Whether a value is that of the round behind `before`, which counts the iterations.
  bool goes_on(Value before, Value now, SymbolId iteration, unsigned bits);
  // The symbol of an operation; `detail` distinguishes what the arguments do not.
  Value operation(Op op, Type type, uint32_t detail, unsigned bits, const Value (&arguments)[3],
                  PredicateId condition = 0);
  // `yes` where the condition holds, `no` elsewhere.
  Value select(PredicateId condition, Value yes, Value no, Type type, unsigned bits) {
    condition = common_name(condition);
    if ((condition & 1) != 0) std::swap(yes, no);
    return operation(Op::kSelect, type, 0, bits, {yes, no}, condition & ~1u);
  }
  // The same for values of registers of the type, predicates too.
  Value choose(PredicateId condition, Value yes, Value no, Type type) {
    if (type != Type::kPred) return select(condition, yes, no, type, register_bits(type));
    const Value p = {0, condition};
    return logical_or(logical_and(p, yes), logical_and(logical_not(p), no));
  }
  // What memory that nobody writes holds at an address.
  Value loaded(Type type, uint32_t space, unsigned bits, Value address);
  // The symbol of an input that is named by kind and detail, such as a parameter's offset.
  Value input(SymbolKind kind, uint32_t detail, unsigned bits, Scope scope);

  Value add(Value a, Value b, unsigned bits) { return combine(a, b, 1, bits); }
  Value subtract(Value a, Value b, unsigned bits) { return combine(a, b, -1, bits); }
  Value scale(Value a, int64_t factor, unsigned bits);
  Value sign_extended(Value a, unsigned from);  // to 64 bits
  Value zero_extended(Value a, unsigned from);
  Value truncated(Value a, unsigned from, unsigned to);

  Value compare(CompareKind kind, bool is_float, bool is_signed, unsigned bits, Value a, Value b);
  Value logical_and(Value a, Value b);
  Value logical_or(Value a, Value b) { return logical_not(logical_and(logical_not(a), logical_not(b))); }
  Value logical_xor(Value a, Value b);
  static Value logical_not(Value a) { return a.known() ? Value{a.constant ^ 1, 0} : Value{0, a.form ^ 1}; }
  // A symbol of a form times its factor.
  Value times(const LinearTerm& term, unsigned bits) { return scale(of(term.symbol), term.factor, bits); }

  // The name that conditions have in common which ask the same about the order of the same numbers, whichever
  // they name first; its negation if the condition is that.
  PredicateId common_name(PredicateId condition);

  // The result of a ballot, of which some vote is not known.
  Value ballot(const Votes& votes);
  // The votes of a ballot; null: the symbol is none.
  const Votes* votes_of(SymbolId ballot) const;
  // How many of the lanes in `mask` have voted yes.
  Value count_votes(SymbolId ballot, uint32_t mask);
  // The votes of a ballot, or of a part of one, under a mask. Returns nullopt if the value is neither, or if
  // several votes of a shifted ballot are left.
  std::optional<Value> masked_votes(Value value, uint64_t mask);
  std::optional<Value> popcount_of_votes(Value value);
  void declare_distinct(SymbolId object, DistinctNumbers numbers) {
    has_sorted |= numbers.sorted;
    distinct_.insert_or_assign(object, std::move(numbers));
  }
  const DistinctNumbers* distinct_numbers(SymbolId object) const {
    const auto found = distinct_.find(object);
    return found == distinct_.end() ? nullptr : &found->second;
  }
  // The object from which one of its distinct, or of its sorted, numbers was loaded; 0: the symbol is none.
  SymbolId listed_in(SymbolId id) const;
  // All threads of a block, or lanes of a warp, may have got the value, which is one number: it is the same
  // for them.
  // depth: how far it has followed what such a value is computed from.
  void share(Value value, Scope with, int depth = 0);

  // Without knowledge of the path.
  Interval base_range(Value value, unsigned bits, bool as_signed) const;

  // A proof took sums not to wrap: of an index that was extended or compared, or of an address in 64 bits.
  enum class NoWrap : uint8_t { kIndex, kAddress };
  // A condition that is declared to hold everywhere, and whether anything was concluded from it.
  struct Declared {
    PredicateId condition = 0;
    std::string text;
    bool used = false;
  };
  std::vector<Declared> declared;
  bool has_sorted = false;  // some list of numbers is
  bool assumed(NoWrap which) const { return assumed_[static_cast<size_t>(which)]; }
  void assume(NoWrap which) { assumed_[static_cast<size_t>(which)] = true; }

 private:
  Value combine(Value a, Value b, int64_t sign, unsigned bits);
  Value long_sum(Value a, Value b, int64_t sign, unsigned bits);
  // The same of a condition that decides such a value; returns for whom it is the same now.
  Scope share_condition(PredicateId id, Scope with, int depth);
  Value lower_half(SymbolId ticket);
  void set_operation_range(Symbol& symbol) const;
  void imply_selection(Predicate& predicate) const;
  // The lanes `mask` of a ballot, shifted down.
  struct VoteMask {
    SymbolId ballot = 0;  // 0: it is nothing of the kind
    uint32_t mask = 0;
    unsigned shift = 0;
  };
  VoteMask voted(Value value) const;
  std::unordered_set<uint64_t> seen_;  // by share(), so that it meets nothing twice
  std::unordered_map<PredicateId, PredicateId> common_names_;
  std::map<std::vector<uint64_t>, PredicateId> orders_;  // what they say about which numbers: their name
  std::unordered_map<SymbolId, Votes> ballots_;
  std::unordered_map<SymbolId, DistinctNumbers> distinct_;
  std::unordered_map<SymbolId, SymbolId> lower_halves_;  // of tickets of 64 bits
  std::array<bool, 2> assumed_{};
};

// The object from which one of its distinct numbers was loaded; 0: the symbol is none.
inline SymbolId distinct_in(const SymbolTable& table, SymbolId id) {
  const SymbolId object = table.listed_in(id);
  return object == 0 || table.distinct_numbers(object)->name.empty() ? 0 : object;
}
// The same of sorted numbers.
inline SymbolId sorted_in(const SymbolTable& table, SymbolId id) {
  const SymbolId object = table.listed_in(id);
  return object == 0 || !table.distinct_numbers(object)->sorted ? 0 : object;
}

// The part of a linear form that counts votes of ballots, vote by vote: the votes below two lanes differ by
// those between them, however many there are below.
class VoteSum {
 public:
  // Takes a term that counts votes; returns false, and takes nothing, if it does not.
  bool add(const LinearTerm& term, const SymbolTable& table);
  bool empty() const { return ballots_.empty(); }
  // The range of the sum where all of these conditions hold.
  Interval range(std::vector<PredicateId> facts, const SymbolTable& table) const;

 private:
  struct Ballot {
    SymbolId symbol;
    std::array<int64_t, 32> factors{};  // of its votes
  };
  std::vector<Ballot> ballots_;
};

// Walks over the symbols and predicates from which values are computed, each once however many values share
// it. REQUIRES: the table outlives it.
class ValueInputs {
 public:
  // Symbols before `first` are passed over: they are computed from nothing behind it. into_loads: the address
  // counts as an input of what was loaded.
  ValueInputs(const SymbolTable& table, SymbolId first, bool into_loads = true)
      : table_(table), first_(first), into_loads_(into_loads) {}

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
    if (symbol.kind != SymbolKind::kOperation || (symbol.op == Op::kLoad && !into_loads_)) return;
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
  bool into_loads_;
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
