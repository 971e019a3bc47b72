// What follows from the branches that were taken on the way to an instruction.
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "value/symbols.h"

namespace glove::verify {

// A condition that holds from a branch on, and what held before. Immutable and shared. A path may have a
// million conditions, so its end releases those that nobody else holds one after the other, not by recursion.
struct Path {
  Path() = default;
  Path(const Path&) = delete;
  Path& operator=(const Path&) = delete;
  ~Path();

  std::shared_ptr<Path> parent;
  PredicateId everyone = 0;                              // the same for all lanes, or
  std::unique_ptr<std::array<PredicateId, 32>> by_lane;  // lane by lane; 0: nothing
  uint32_t site = 0;                                     // of the branch

  PredicateId of(int lane) const { return by_lane ? (*by_lane)[lane] : everyone; }
};
using PathPointer = std::shared_ptr<Path>;  // not changed but by ~Path

// A path with one condition more, which holds for all lanes.
PathPointer extend(PathPointer parent, PredicateId condition, uint32_t site);

// Where a thread stands: what its warp knows, and what all warps of its block know.
struct Position {
  const Path* warp = nullptr;
  const Path* block = nullptr;
  int lane = 0;
};

// Derives what holds at a position. Cheap to make; keeps nothing. REQUIRES: the path outlives it.
class Reasoner {
 public:
  Reasoner(SymbolTable& table, Position position) : table_(table), position_(position) {}

  // nullopt: may be either.
  std::optional<bool> truth(Value predicate) const;
  // The range of a value of so many bits.
  Interval range(Value value, unsigned bits, bool as_signed) const {
    return range(value, bits, as_signed, 0);
  }
  // The range of `constant` + form as numbers that do not wrap.
  Interval exact_range(Value value) const;
  FloatRange float_range(Value value, unsigned bits) const { return float_range(value, bits, 0); }
  // Selections whose condition is known become what they select.
  Value simplify(Value value, unsigned bits) const;

  // The same where a condition holds in addition.
  Value simplify_under(PredicateId condition, Value value, unsigned bits) const {
    return under(condition).simplify(value, bits);
  }

  Interval symbol_range(SymbolId id) const { return symbol_range(id, 1); }
  // All conditions that hold.
  std::vector<PredicateId> facts() const;

  // Calls visit(id) for every condition that holds, conjunctions taken apart; stops when it returns true.
  template <class Visit>
  bool any_fact(Visit visit) const {
    for (const Reasoner* at = this; at != nullptr; at = at->outer_)
      if (at->extra_ != 0 && visit_parts(at->extra_, visit)) return true;
    for (const Path* path : {position_.warp, position_.block})
      for (; path != nullptr; path = path->parent.get())
        if (const PredicateId id = path->of(position_.lane); id != 0 && visit_parts(id, visit)) return true;
    return false;
  }

 private:
  static constexpr int kDepth = 6;      // operations that are followed
  static constexpr int kFactDepth = 3;  // where conditions are still asked
  static constexpr int kRounds = 8;     // over the facts about a symbol

  template <class Visit>
  bool visit_parts(PredicateId id, Visit& visit) const {
    if (visit(id)) return true;
    const Predicate& predicate = table_.predicate(id);
    if (const PredicateId implied = predicate.implied[(id & 1) == 0 ? 1 : 0];
        implied != 0 && visit_parts(implied, visit))
      return true;
    if (predicate.kind != PredicateKind::kAnd || (id & 1) != 0) return false;
    return visit_parts(predicate.p, visit) || visit_parts(predicate.q, visit);
  }
  // Meets a range with what each condition that holds or is declared says: by(condition, range).
  template <class By>
  void narrow(Interval& known, By by) const {
    const auto visit = [&](PredicateId fact) {
      known = known.meet(by(fact, known));
      return false;
    };
    any_fact(visit);
    for (SymbolTable::Declared& declared : table_.declared) {
      const Interval before = known;
      visit_parts(declared.condition, visit);
      declared.used |= !(before == known);
    }
  }
  Interval range(Value value, unsigned bits, bool as_signed, int depth) const;
  // The same, where a condition holds in addition. REQUIRES: this outlives it.
  Reasoner under(PredicateId condition) const;
  std::optional<Value> simplified(const Symbol& symbol, unsigned bits) const;
  Interval symbol_range(SymbolId id, int depth) const;
  Interval operation_range(const Symbol& symbol, int depth) const;
  // What a condition says about `form` as a number: its sides are compared with it.
  Interval bound(PredicateId id, FormId form, Interval known, int depth) const;
  Interval difference_bound(PredicateId id, FormId form) const;
  // Whether a ballot, or another number, is certain not to be 0.
  bool not_zero(Value value) const;
  std::optional<bool> compare_truth(const Predicate& predicate, int depth) const;
  std::optional<bool> truth(PredicateId id, int depth) const;
  FloatRange float_range(Value value, unsigned bits, int depth) const;
  FloatRange float_operation(const Symbol& symbol, int depth) const;

  SymbolTable& table_;
  Position position_;
  PredicateId extra_ = 0;
  const Reasoner* outer_ = nullptr;
};

}  // namespace glove::verify
