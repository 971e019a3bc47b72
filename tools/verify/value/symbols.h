// Values: what is computed from symbols, and what is known about it.
#pragma once

#include <optional>
#include <unordered_map>

#include "value/symbol_store.h"

namespace glove::verify {

// Arithmetic, conditions and votes on values, for one kernel's run.
class SymbolTable : public SymbolStore {
 public:
  Value fresh_in(unsigned bits, Scope scope, Interval range);
  // The symbol of an operation; `detail` distinguishes what the arguments do not.
  Value operation(Op op, Type type, uint32_t detail, unsigned bits, const Value (&arguments)[3],
                  PredicateId condition = 0);
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
  Value fresh_predicate(Scope scope, bool data);

  // The result of a ballot, of which some vote is not known.
  Value ballot(const Votes& votes);
  // The votes of a ballot; null: the symbol is none.
  const Votes* votes_of(SymbolId ballot) const;
  // How many of the lanes in `mask` have voted yes.
  Value count_votes(SymbolId ballot, uint32_t mask);
  // Whether the symbol counts votes: the lanes of its second argument in the ballot that is its first.
  bool counts_votes(SymbolId id) const;
  // The votes of a ballot, or of a part of one, under a mask. Returns nullopt if the value is neither, or if
  // several votes of a shifted ballot are left.
  std::optional<Value> masked_votes(Value value, uint64_t mask);
  std::optional<Value> popcount_of_votes(Value value);
  void declare_distinct(SymbolId object, DistinctNumbers numbers) {
    distinct_.insert_or_assign(object, std::move(numbers));
  }
  const DistinctNumbers* distinct_numbers(SymbolId object) const {
    const auto found = distinct_.find(object);
    return found == distinct_.end() ? nullptr : &found->second;
  }
  // The object from which one of its distinct numbers was loaded; 0: the symbol is none.
  SymbolId distinct_in(SymbolId id) const;
  // All threads of a block may have read the value, which is one number: it is the same for them.
  void share(Value value, int depth);

  // Without knowledge of the path; exact: of the sum as a number that does not wrap.
  Interval exact_base_range(Value value, unsigned bits) const;
  Interval base_range(Value value, unsigned bits, bool as_signed) const;

  // An extension was taken to keep the number, which holds if index arithmetic does not wrap.
  bool assumed_no_wrap() const { return assumed_no_wrap_; }
  void assume_no_wrap() { assumed_no_wrap_ = true; }

 private:
  Value combine(Value a, Value b, int64_t sign, unsigned bits);
  Value long_sum(Value a, Value b, int64_t sign, unsigned bits);
  // The same of a condition that decides such a value; returns for whom it is the same now.
  Scope share_condition(PredicateId id, int depth);
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
  std::unordered_map<SymbolId, Votes> ballots_;
  std::unordered_map<SymbolId, DistinctNumbers> distinct_;
  std::unordered_map<SymbolId, SymbolId> lower_halves_;  // of tickets of 64 bits
  bool assumed_no_wrap_ = false;
};

}  // namespace glove::verify
