// What a register may hold: a number, or a linear form in symbols. Symbols stand for what the verifier does
// not know; the same expression of the same inputs is the same symbol, whichever thread computes it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "ptx/program.h"
#include "value/budget.h"
#include "value/interval.h"
#include "value/storage.h"

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

// The lowest bits of a number that has the type, extended to 64 bits with its sign if it has one.
inline uint64_t extend(uint64_t number, Type type) {
  return is_signed(type) ? static_cast<uint64_t>(sign_extend(number, bits_of(type)))
                         : mask_bits(number, bits_of(type));
}
// Bits of a register that holds values of the type, and bytes of such a value in memory.
inline unsigned register_bits(Type type) {
  return std::max(16u, bits_of(type));
}
inline unsigned bytes_of(Type type) {
  return std::max(1u, bits_of(type) / 8);
}

// The form of a value that has no name yet. Two such values have nothing to do with each other; callers that
// need a value to stay the same must name it first, as Part::read does.
constexpr FormId kUnnamed = 1;

// factor * symbol.
struct LinearTerm {
  SymbolId symbol;
  int64_t factor;
  bool operator==(const LinearTerm&) const = default;
};
// Of a form, by increasing symbol; valid as long as the form is.
using LinearTerms = std::span<const LinearTerm>;

// For whom a symbol is the same number.
enum class Scope : uint8_t {
  kGrid,    // all threads, always: parameters, memory that nobody writes, and what is computed from them
  kBlock,   // all threads of a block, between two full barriers
  kWarp,    // all lanes of a warp: one has handed the number to others
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
  kClaim,      // what an atomic other than an addition, or a shuffle, returned
  kObserved,   // what a strong load saw; `detail` names the location
};

// A conjunction of more parts is a symbol: a loop may make one of a million.
constexpr unsigned kMostParts = 256;

constexpr uint32_t kLowerHalf = 1u << 30;  // in a ticket's location: of a counter of 64 bits

// Numbers of 32 bits in a buffer that are declared to be distinct, also from those of other buffers that are
// named alike, or sorted.
struct DistinctNumbers {
  std::string name;     // empty: they may be equal
  uint64_t every = 4;   // bytes from one to the next
  bool sorted = false;  // none is negative, or less than those before it
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
  Interval range = {};   // as a signed number
  Interval unsigned_range = {};
  uint64_t stride = 1;  // the value is `residue` modulo this
  int64_t residue = 0;
  Value arguments[3] = {};    // a ticket's first: how much was added; of a count of votes: ballot, mask
  PredicateId condition = 0;  // of kSelect
  bool data = false;          // loaded from memory that may hold anything, so that any value may occur
  bool number = false;        // as a float of so many bits it is not NaN
  uint32_t epoch = ~0u;       // the owner's when it came to know the number, if that is known
};

enum class CompareKind : uint8_t { kEq, kLt, kLe, kGt, kGe, kNe, kNumber };  // kGt to kNumber: floats only
enum class PredicateKind : uint8_t { kCompare, kAnd, kXor, kSymbol };

// An unknown truth value: a comparison, a combination of two others, or a symbol.
struct Predicate {
  PredicateKind kind = PredicateKind::kSymbol;
  CompareKind compare = CompareKind::kEq;
  bool is_float = false;
  bool is_signed = false;  // of floats: subnormal numbers are not taken for 0 (no .ftz)
  uint8_t bits = 32;
  Scope scope = Scope::kThread;
  bool data = false;
  Value a = {}, b = {};
  PredicateId p = 0, q = 0;
  SymbolId only_a = 0, only_b = 0;  // the symbol of a side that is a multiple of one, and a constant
  uint16_t parts = 1;               // that hold if it holds, counted as often as a walk over them meets them
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
    for (const uint64_t word : key.words) hash = mix(hash, word);
    return hash;
  }
  size_t operator()(LinearTerms terms) const {
    uint64_t hash = terms.size();
    for (const LinearTerm& term : terms)
      hash = mix(hash, term.symbol + (static_cast<uint64_t>(term.factor) << 20));
    return hash;
  }
};

// Owns symbols, forms and predicates, and finds those that are equal. Ids are never reused.
class SymbolStore {
 public:
  SymbolStore();
  SymbolStore(const SymbolStore&) = delete;
  SymbolStore& operator=(const SymbolStore&) = delete;

  const Symbol& symbol(SymbolId id) const { return bodies_[symbols_[id].body]; }
  LinearTerms terms(FormId form) const { return forms_[form]; }
  const Predicate& predicate(PredicateId id) const { return predicates_[id >> 1]; }
  size_t symbol_count() const { return symbols_.size(); }

  static Value number(uint64_t value) { return {value, 0}; }
  Value of(SymbolId id);
  FormId form_of(LinearTerms terms);

  SymbolId add_symbol(const Symbol& symbol);
  // A new symbol about which nothing is known; `data`: which may have any value.
  Value fresh(unsigned bits, Scope scope, bool data = false, SymbolKind kind = SymbolKind::kFresh);
  Value fresh_predicate(Scope scope, bool data);
  // The same for a register of the type.
  Value fresh_of(Type type, Scope scope, bool data = false) {
    return type == Type::kPred ? fresh_predicate(scope, data) : fresh(register_bits(type), scope, data);
  }

  // How much there is; forget_since() drops the forms that were made since, if nothing else was, since only
  // symbols and predicates hold forms for longer.
  struct Mark {
    size_t symbols, predicates, forms;
  };
  Mark mark() const { return {symbols_.size(), predicates_.size(), forms_.size()}; }
  void forget_since(const Mark& mark);

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
  // What is computed here and from here may take no more; it outlives the table, or is null.
  void set_budget(Budget* budget) { budget_ = budget; }
  void spend() {
    if (budget_ != nullptr) budget_->spend();
  }
  // What a new unknown of 64 bits may be: it stands for values that were named, among which there may be
  // pointers.
  void note_source(SymbolId unknown, Value value) {
    if (unknown == 0 || symbol(unknown).bits != 64 || value.form == 0) return;
    std::vector<FormId>& known = sources_[unknown];
    if (std::find(known.begin(), known.end(), value.form) == known.end()) known.push_back(value.form);
  }
  // The forms of these values; null: it stands for anything.
  const std::vector<FormId>* sources_of(SymbolId unknown) const {
    const auto found = sources_.find(unknown);
    return found == sources_.end() ? nullptr : &found->second;
  }
  // The symbol if the value is one symbol and nothing else; else 0.
  SymbolId single(Value value) const {
    const LinearTerms sum = forms_[value.form];
    return value.constant == 0 && sum.size() == 1 && sum[0].factor == 1 ? sum[0].symbol : 0;
  }

  // The symbol if the value is what memory that nobody writes holds, and nothing else; else 0.
  SymbolId load(Value value) const {
    const SymbolId id = single(value);
    return id != 0 && symbol(id).kind == SymbolKind::kOperation && symbol(id).op == Op::kLoad ? id : 0;
  }

  // Whether the symbol counts votes: the lanes of its second argument in the ballot that is its first.
  bool counts_votes(SymbolId id) const;

  Scope scope_of(Value value) const;
  Scope scope_of_predicate(PredicateId id) const { return predicate(id).scope; }
  // Any value can occur, whatever other threads have: the data decide.
  bool is_data(Value value) const;
  // Whether the value, as a float, is certain not to be NaN.
  bool is_number(Value value, unsigned bits) const;
  // A power of two, and what the value is modulo that.
  std::pair<uint64_t, int64_t> residue_of(Value value) const;
  // The range of the sum as a number that does not wrap, without knowledge of the path.
  Interval exact_base_range(Value value, unsigned bits) const;

 protected:
  // A predicate of two others.
  Predicate combined(PredicateKind kind, PredicateId a, PredicateId b) const;
  // The predicate's id, which equal ones have in common.
  PredicateId intern(const Predicate& predicate);
  unsigned parts_of(PredicateId id) const {
    const Predicate& of = predicate(id);
    return of.kind == PredicateKind::kAnd && (id & 1) != 0 ? 1 : of.parts;
  }

  struct Entry {
    uint32_t body;
    FormId form;  // the symbol alone; 0: nobody has asked for it yet
  };
  // Bodies of fresh symbols that nobody has changed, by their bits, scope and whether they are data or a
  // claim.
  static constexpr uint32_t kSharedBodies = 256 * 12;
  StableList<Entry> symbols_;
  StableList<Symbol> bodies_;
  StableList<LinearTerms> forms_;
  StableList<Predicate> predicates_;
  static InternKey key_of(const Symbol& symbol);
  static InternKey key_of(const Predicate& predicate);
  SymbolId find_symbol(const InternKey& key) const {
    return symbol_ids_.find(InternHash()(key), [&](SymbolId id) { return key_of(symbol(id)) == key; });
  }
  void push_form(LinearTerms terms);
  void pop_form();

  Budget* budget_ = nullptr;
  std::unordered_map<SymbolId, std::vector<FormId>> sources_;
  IdsByHash form_ids_, symbol_ids_, predicate_ids_;  // symbols: operations and inputs
  // The terms of all forms, one form behind the other.
  static constexpr size_t kTermBlock = 4096;
  std::vector<std::unique_ptr<LinearTerm[]>> term_blocks_;
  size_t terms_used_ = kTermBlock;  // of the last block
};

// Whether the result of an operation, as a float, is certain not to be NaN.
bool makes_number(const Symbol& symbol, const SymbolStore& store);

// Whether each number of the value's exact_base_range(), in steps of its stride, is possible: data decide
// alone.
bool takes_every_value(Value value, const SymbolStore& store);

}  // namespace glove::verify
