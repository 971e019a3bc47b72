// What a register may hold: a number, or a linear form in symbols. Symbols stand for what the verifier does
// not know; the same expression of the same inputs is the same symbol, whichever thread computes it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ptx/program.h"
#include "value/interval.h"

namespace glove::verify {

using SymbolId = uint32_t;
using FormId = uint32_t;       // 0: no symbol
using PredicateId = uint32_t;  // an index times 2, plus 1 if negated; 0: none

// `constant` plus a form, modulo 2^bits of the register that holds it. Of a predicate register: `constant` is
// 0 or 1, or `form` is a PredicateId.
struct Value {
  uint64_t constant = 0;
  uint32_t form = 0;

  bool known() const { return form == 0; }
  bool operator==(const Value&) const = default;
};

// The form of a value that has no name yet. Two such values have nothing to do with each other; callers that
// need a value to stay the same must name it first, as KernelRun::operand does.
constexpr FormId kUnnamed = 1;

// factor * symbol.
struct LinearTerm {
  SymbolId symbol;
  int64_t factor;
  bool operator==(const LinearTerm&) const = default;
};

// For whom a symbol is the same number.
enum class Scope : uint8_t {
  kGrid,    // all threads, always: parameters, memory that nobody writes, and what is computed from them
  kBlock,   // all threads of a block, between two full barriers
  kThread,  // one thread, once
};

// Where a symbol comes from.
enum class SymbolKind : uint8_t {
  kInput,      // a parameter, or data that were loaded
  kObject,     // the address of a buffer
  kOperation,  // of other values
  kFresh,      // something unknown
  kIteration,  // how often a loop has run
  kTicket,     // what an atomic addition returned
  kObserved,   // what a strong load saw; `detail` names the location
};

// A conjunction of more parts is a symbol: a loop may make one of a million.
constexpr unsigned kMostParts = 256;

constexpr uint32_t kLowerHalf = 1u << 30;  // in a ticket's location: of a counter of 64 bits

// Numbers of 32 bits in a buffer that are declared to be distinct, also from those of other buffers that are
// named alike.
struct DistinctNumbers {
  std::string name;
  uint64_t every = 4;  // bytes from one to the next
};

// What each lane of a warp has voted: predicates, 0 of lanes that take no part.
using Votes = std::array<Value, 32>;

// A closed interval of floats.
struct FloatRange {
  double lo;
  double hi;
  bool maybe_nan;
};

// An unknown number, and what is known about it without regard to a path.
struct Symbol {
  SymbolKind kind = SymbolKind::kFresh;
  Scope scope = Scope::kThread;
  uint8_t bits = 32;
  Type type = Type::kB32;
  Op op = Op::kPure;
  uint32_t detail = 0;   // distinguishes operations; a ticket's location; a parameter's offset
  uint32_t owner = 0;    // of a ticket or what a load saw: the thread, counted from 1 over all blocks
  SymbolId drawing = 0;  // a ticket's: may be the same number as others with this; 0: is no other's
  Interval range;        // as a signed number
  Interval unsigned_range;
  uint64_t stride = 1;  // the value is `residue` modulo this
  int64_t residue = 0;
  Value arguments[3];         // a ticket's first: how much was added; of a count of votes: ballot, mask
  PredicateId condition = 0;  // of kSelect
  bool data = false;          // loaded from memory that may hold anything, so that any value may occur
  uint32_t epoch = ~0u;       // the owner's when it came to know the number, if that is known
};

enum class CompareKind : uint8_t { kEq, kLt, kLe, kGt, kGe, kNe, kNumber };  // kGt to kNumber: floats only
enum class PredicateKind : uint8_t { kCompare, kAnd, kXor, kSymbol };

// An unknown truth value: a comparison, a combination of two others, or a symbol.
struct Predicate {
  PredicateKind kind = PredicateKind::kSymbol;
  CompareKind compare = CompareKind::kEq;
  bool is_float = false;
  bool is_signed = false;
  uint8_t bits = 32;
  Scope scope = Scope::kThread;
  bool data = false;
  Value a, b;
  PredicateId p = 0, q = 0;
  uint16_t parts = 1;  // that hold if it holds, counted as often as a walk over them meets them
  // What follows if it does not hold, and if it does: of a comparison with a selection, which side was
  // selected.
  PredicateId implied[2] = {0, 0};
};

// What an operation, a predicate or an input is, to find the same one again.
struct InternKey {
  std::array<uint64_t, 7> words{};
  bool operator==(const InternKey&) const = default;
};
struct InternHash {
  size_t operator()(const InternKey& key) const {
    uint64_t hash = 0x9e3779b97f4a7c15u;
    for (const uint64_t word : key.words) {
      hash ^= word;
      hash *= 0xff51afd7ed558ccdu;
      hash ^= hash >> 32;
    }
    return hash;
  }
  size_t operator()(const std::vector<LinearTerm>& terms) const {
    uint64_t hash = terms.size();
    for (const LinearTerm& term : terms) {
      hash ^= term.symbol + (static_cast<uint64_t>(term.factor) << 20);
      hash *= 0xff51afd7ed558ccdu;
      hash ^= hash >> 32;
    }
    return hash;
  }
};

// Owns symbols, forms and predicates for one kernel's run. Ids are never reused.
class SymbolTable {
 public:
  SymbolTable();
  SymbolTable(const SymbolTable&) = delete;
  SymbolTable& operator=(const SymbolTable&) = delete;

  const Symbol& symbol(SymbolId id) const { return bodies_[symbols_[id].body]; }
  const std::vector<LinearTerm>& terms(FormId form) const { return forms_[form]; }
  const Predicate& predicate(PredicateId id) const { return predicates_[id >> 1]; }
  size_t symbol_count() const { return symbols_.size(); }

  static Value number(uint64_t value) { return {value, 0}; }
  Value of(SymbolId id);
  FormId form_of(std::vector<LinearTerm> terms);

  SymbolId add_symbol(const Symbol& symbol);
  // A new symbol about which nothing is known; `data`: which may have any value.
  Value fresh(unsigned bits, Scope scope, bool data = false);
  Value fresh_in(unsigned bits, Scope scope, Interval range);
  // The symbol of an operation; `detail` distinguishes what the arguments do not.
  Value operation(Op op, Type type, uint32_t detail, unsigned bits, const Value (&arguments)[3],
                  PredicateId condition = 0);
  // What memory that nobody writes holds at an address.
  Value loaded(Type type, uint32_t space, unsigned bits, Value address);
  // The symbol of an input that is named by kind and detail, such as a parameter's offset.
  Value input(SymbolKind kind, uint32_t detail, unsigned bits, Scope scope);

  // How much there is; forget_since() drops the forms that were made since, if nothing else was, since only
  // symbols and predicates hold forms for longer.
  struct Mark {
    size_t symbols, predicates, forms;
  };
  Mark mark() const { return {symbols_.size(), predicates_.size(), forms_.size()}; }
  void forget_since(const Mark& mark);

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
  // `mask` of a ballot, or of parts of one; nullopt: the value is nothing of the kind, or the mask leaves no
  // shape that is known.
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
  // Whether the two are never the same number if both have added something: they are drawn apart.
  bool drawn_apart(SymbolId ticket, SymbolId other) const {
    const SymbolId drawing = symbol(ticket).drawing;
    return ticket != other && (drawing == 0 || drawing != symbol(other).drawing);
  }

  // Whether one thread has drawn both tickets itself, by additions of the same number at one location.
  bool drawn_alike(SymbolId ticket, SymbolId other) const {
    const Symbol &a = symbol(ticket), &b = symbol(other);
    return a.kind == SymbolKind::kTicket && b.kind == SymbolKind::kTicket && a.drawing == 0 &&
           b.drawing == 0 && a.detail == b.detail && a.owner == b.owner && a.bits == b.bits &&
           a.arguments[0] == b.arguments[0];
  }

  Symbol& change(SymbolId id);
  // The symbol if the value is one symbol and nothing else; else 0.
  SymbolId single(Value value) const {
    const auto& sum = forms_[value.form];
    return value.constant == 0 && sum.size() == 1 && sum[0].factor == 1 ? sum[0].symbol : 0;
  }

  // All threads of a block may have read the value, which is one number: it is the same for them.
  void share(Value value, int depth);

  // The symbol if the value is what memory that nobody writes holds, and nothing else; else 0.
  SymbolId load(Value value) const {
    const SymbolId id = single(value);
    return id != 0 && symbol(id).kind == SymbolKind::kOperation && symbol(id).op == Op::kLoad ? id : 0;
  }

  Scope scope_of(Value value) const;
  Scope scope_of_predicate(PredicateId id) const { return predicate(id).scope; }
  // Any value can occur, whatever other threads have: the data decide.
  bool is_data(Value value) const;

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
  PredicateId intern(const Predicate& predicate);
  void imply_selection(Predicate& predicate) const;
  unsigned parts_of(PredicateId id) const {
    const Predicate& of = predicate(id);
    return of.kind == PredicateKind::kAnd && (id & 1) != 0 ? 1 : of.parts;
  }

  // References to what they hold stay valid when they grow.
  struct Entry {
    uint32_t body;
    FormId form;  // the symbol alone; 0: nobody has asked for it yet
  };
  // Bodies of fresh symbols that nobody has changed, by their bits, scope and whether they are data.
  static constexpr uint32_t kSharedBodies = 256 * 6;
  std::deque<Entry> symbols_;
  std::deque<Symbol> bodies_;
  std::deque<std::vector<LinearTerm>> forms_;
  std::deque<Predicate> predicates_;
  // Finds the form of given terms without holding them a second time.
  struct FormHash {
    using is_transparent = void;
    const std::deque<std::vector<LinearTerm>>* forms;
    size_t operator()(FormId id) const { return InternHash()((*forms)[id]); }
    size_t operator()(const std::vector<LinearTerm>& terms) const { return InternHash()(terms); }
  };
  struct FormEqual {
    using is_transparent = void;
    const std::deque<std::vector<LinearTerm>>* forms;
    bool operator()(FormId a, FormId b) const { return a == b; }
    bool operator()(const std::vector<LinearTerm>& terms, FormId id) const { return (*forms)[id] == terms; }
    bool operator()(FormId id, const std::vector<LinearTerm>& terms) const { return (*forms)[id] == terms; }
  };
  std::unordered_set<FormId, FormHash, FormEqual> form_ids_{16, FormHash{&forms_}, FormEqual{&forms_}};
  // Operations and inputs, found by what they are without holding it a second time.
  static InternKey key_of(const Symbol& symbol);
  struct SymbolHash {
    using is_transparent = void;
    const SymbolTable* table;
    size_t operator()(SymbolId id) const { return InternHash()(key_of(table->symbol(id))); }
    size_t operator()(const InternKey& key) const { return InternHash()(key); }
  };
  struct SymbolEqual {
    using is_transparent = void;
    const SymbolTable* table;
    bool operator()(SymbolId a, SymbolId b) const { return a == b; }
    bool operator()(const InternKey& key, SymbolId id) const { return key_of(table->symbol(id)) == key; }
    bool operator()(SymbolId id, const InternKey& key) const { return key_of(table->symbol(id)) == key; }
  };
  std::unordered_set<SymbolId, SymbolHash, SymbolEqual> symbol_ids_{16, SymbolHash{this}, SymbolEqual{this}};
  static InternKey key_of(const Predicate& predicate);
  struct PredicateHash {
    using is_transparent = void;
    const std::deque<Predicate>* predicates;
    size_t operator()(uint32_t index) const { return InternHash()(key_of((*predicates)[index])); }
    size_t operator()(const InternKey& key) const { return InternHash()(key); }
  };
  struct PredicateEqual {
    using is_transparent = void;
    const std::deque<Predicate>* predicates;
    bool operator()(uint32_t a, uint32_t b) const { return a == b; }
    bool operator()(const InternKey& key, uint32_t at) const { return key_of((*predicates)[at]) == key; }
    bool operator()(uint32_t at, const InternKey& key) const { return key_of((*predicates)[at]) == key; }
  };
  std::unordered_set<uint32_t, PredicateHash, PredicateEqual> predicate_ids_{16, PredicateHash{&predicates_},
                                                                             PredicateEqual{&predicates_}};
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
