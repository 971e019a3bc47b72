// Conditions that say the same about the order of numbers, and floats that are numbers.
//
// Of two numbers a and b exactly one holds of a < b, a == b and a > b; of floats if neither is NaN. So
// `a < b || (a == b && i < j)` is the negation of `b < a || (b == a && j < i)`, if i and j are different: of
// two lanes that exchange (a, i) and (b, j), both take the same pair. A name for each such function of the
// order makes the two conditions one, and the selections of both lanes one value. After the butterfly's last
// exchange all lanes of the warp have that value. Nothing of this asks which exchanges there were: where one
// is missing, where ties leave each lane its own pair, or where NaN may come in, the selections keep
// different names.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "value/symbols.h"

namespace glove::verify {
namespace {

constexpr size_t kMostAtoms = 4;     // of a condition that gets a common name
constexpr unsigned kMostNodes = 48;  // that are walked over
constexpr unsigned kMostRows = 64;   // of its table
constexpr uint64_t kMostStride = 1 << 16;

// What a condition asks about: the order of two numbers, or something else that holds or does not.
struct Atom {
  Value a, b;  // of which the first has the lower name
  bool is_float = false;
  bool is_signed = false;
  unsigned bits = 0;
  PredicateId other = 0;  // not 0: it is no comparison
  bool differ = false;    // the two are never equal

  unsigned outcomes() const { return other != 0 ? 2 : 3; }  // no, yes; less, equal, greater
  std::array<uint64_t, 4> key() const {
    return {other | uint64_t{is_float} << 32 | uint64_t{is_signed} << 33 | uint64_t{bits} << 40,
            a.form | uint64_t{b.form} << 32, a.constant, b.constant};
  }
};

bool before(Value a, Value b) {
  return std::pair(a.form, a.constant) < std::pair(b.form, b.constant);
}

// Whether the numbers of a comparison have an order, which then is one of three.
bool has_order(const Predicate& predicate, const SymbolTable& table) {
  if (predicate.kind != PredicateKind::kCompare || predicate.a == predicate.b) return false;
  if (!predicate.is_float) return !predicate.a.known() && !predicate.b.known();
  return table.is_number(predicate.a, predicate.bits) && table.is_number(predicate.b, predicate.bits);
}

Atom atom_of(PredicateId id, const SymbolTable& table) {
  const Predicate& predicate = table.predicate(id);
  Atom atom;
  if (!has_order(predicate, table)) {
    atom.other = id & ~1u;
    return atom;
  }
  atom.a = predicate.a, atom.b = predicate.b;
  atom.is_float = predicate.is_float, atom.is_signed = predicate.is_signed, atom.bits = predicate.bits;
  if (before(atom.b, atom.a)) std::swap(atom.a, atom.b);
  if (!atom.is_float) {
    const auto [stride, residue] = table.residue_of(atom.a);
    const auto [other_stride, other] = table.residue_of(atom.b);
    atom.differ = (residue - other) % static_cast<int64_t>(std::min(stride, other_stride)) != 0;
  }
  return atom;
}

// The atoms of a condition, in one order whichever condition has them.
class Atoms {
 public:
  explicit Atoms(const SymbolTable& table) : table_(table) {}

  // Returns false if there are too many, or none compares numbers.
  bool collect(PredicateId id) {
    if (!walk(id)) return false;
    std::ranges::sort(atoms_, {}, &Atom::key);
    const auto same = [](const Atom& a, const Atom& b) { return a.key() == b.key(); };
    atoms_.erase(std::unique(atoms_.begin(), atoms_.end(), same), atoms_.end());
    rows_ = 1;
    for (const Atom& atom : atoms_) rows_ *= atom.outcomes();
    return atoms_.size() <= kMostAtoms && rows_ <= kMostRows &&
           std::ranges::any_of(atoms_, [](const Atom& atom) { return atom.other == 0; });
  }

  // For each combination of outcomes that can be, whether the condition holds; and those that can be.
  struct Rows {
    uint64_t holds = 0, possible = 0;
  };
  Rows rows(PredicateId id) const {
    Rows rows;
    for (unsigned row = 0; row < rows_; ++row) {
      std::array<unsigned, kMostAtoms> outcome{};
      bool possible = true;
      for (unsigned i = 0, rest = row; i < atoms_.size(); ++i) {
        outcome[i] = rest % atoms_[i].outcomes();
        rest /= atoms_[i].outcomes();
        possible &= !(atoms_[i].differ && outcome[i] == 1);
      }
      if (!possible) continue;
      rows.possible |= uint64_t{1} << row;
      rows.holds |= uint64_t{holds(id, outcome)} << row;
    }
    return rows;
  }

  std::vector<uint64_t> key(uint64_t holds) const {
    std::vector<uint64_t> key = {holds};
    for (const Atom& atom : atoms_) {
      const auto words = atom.key();
      key.insert(key.end(), words.begin(), words.end());
    }
    return key;
  }

 private:
  bool walk(PredicateId id) {
    if (++nodes_ > kMostNodes) return false;
    const Predicate& predicate = table_.predicate(id);
    if (predicate.kind == PredicateKind::kAnd || predicate.kind == PredicateKind::kXor)
      return walk(predicate.p) && walk(predicate.q);
    atoms_.push_back(atom_of(id, table_));
    return true;
  }

  bool holds(PredicateId id, const std::array<unsigned, kMostAtoms>& outcome) const {
    const Predicate& predicate = table_.predicate(id);
    bool result = false;
    if (predicate.kind == PredicateKind::kAnd) {
      result = holds(predicate.p, outcome) && holds(predicate.q, outcome);
    } else if (predicate.kind == PredicateKind::kXor) {
      result = holds(predicate.p, outcome) != holds(predicate.q, outcome);
    } else {
      const Atom atom = atom_of(id, table_);
      const unsigned found = outcome[static_cast<size_t>(
          std::ranges::lower_bound(atoms_, atom.key(), {}, &Atom::key) - atoms_.begin())];
      result = atom.other != 0 ? found == 1
                               : compares(predicate, before(predicate.b, predicate.a) ? 2 - found : found);
    }
    return result != ((id & 1) != 0);
  }

  // order: 0, 1 and 2 if a is less than, equal to or greater than b.
  static bool compares(const Predicate& predicate, unsigned order) {
    switch (predicate.compare) {
      case CompareKind::kEq:
        return order == 1;
      case CompareKind::kNe:
        return order != 1;
      case CompareKind::kLt:
        return order == 0;
      case CompareKind::kLe:
        return order <= 1;
      case CompareKind::kGt:
        return order == 2;
      case CompareKind::kGe:
        return order >= 1;
      case CompareKind::kNumber:
        return true;
    }
    return false;
  }

  const SymbolTable& table_;
  std::vector<Atom> atoms_;
  unsigned nodes_ = 0, rows_ = 1;
};

// Whether a condition that holds says that a float is not NaN: an ordered comparison of it, or of its size,
// does.
bool says_number(PredicateId id, Value value, unsigned bits, const SymbolStore& store) {
  const Predicate& predicate = store.predicate(id);
  if ((id & 1) != 0) return false;
  if (predicate.kind == PredicateKind::kAnd)
    return says_number(predicate.p, value, bits, store) || says_number(predicate.q, value, bits, store);
  if (predicate.kind != PredicateKind::kCompare || !predicate.is_float || predicate.bits != bits)
    return false;
  return std::ranges::any_of(std::array{predicate.a, predicate.b}, [&](Value side) {
    if (side == value) return true;
    const Symbol& symbol = store.symbol(store.single(side));
    return store.single(side) != 0 && symbol.kind == SymbolKind::kOperation && symbol.bits == bits &&
           (symbol.op == Op::kAbs || symbol.op == Op::kNeg) && is_float(symbol.type) &&
           symbol.arguments[0] == value;
  });
}

}  // namespace

std::pair<uint64_t, int64_t> SymbolStore::residue_of(Value value) const {
  uint64_t stride = kMostStride, residue = value.constant;
  for (const LinearTerm& term : terms(value.form)) {
    const Symbol& symbol = SymbolStore::symbol(term.symbol);
    const auto factor = static_cast<uint64_t>(term.factor);
    stride = std::gcd(stride, factor * symbol.stride);
    residue += factor * static_cast<uint64_t>(symbol.residue);
  }
  return {stride, static_cast<int64_t>(residue % stride)};
}

bool SymbolStore::is_number(Value value, unsigned bits) const {
  if (bits != 32 && bits != 64) return false;
  if (value.known())
    return bits == 32 ? !std::isnan(std::bit_cast<float>(static_cast<uint32_t>(value.constant)))
                      : !std::isnan(std::bit_cast<double>(value.constant));
  const Symbol& symbol = SymbolStore::symbol(single(value));
  return single(value) != 0 && symbol.bits == bits && symbol.number;
}

bool makes_number(const Symbol& symbol, const SymbolStore& store) {
  const auto number = [&](int i) { return store.is_number(symbol.arguments[i], symbol.bits); };
  switch (symbol.op) {
    case Op::kSelect:
      return (number(0) || says_number(symbol.condition, symbol.arguments[0], symbol.bits, store)) &&
             (number(1) || says_number(symbol.condition ^ 1, symbol.arguments[1], symbol.bits, store));
    case Op::kAbs:
    case Op::kNeg:
      return is_float(symbol.type) && number(0);
    case Op::kMin:
    case Op::kMax:
      return is_float(symbol.type) && number(0) && number(1);
    default:
      return false;
  }
}

PredicateId SymbolTable::common_name(PredicateId condition) {
  const auto [cached, added] = common_names_.try_emplace(condition & ~1u, condition & ~1u);
  if (added) {
    Atoms atoms(*this);
    if (atoms.collect(condition & ~1u)) {
      const Atoms::Rows rows = atoms.rows(condition & ~1u);
      const auto negated = orders_.find(atoms.key(rows.possible & ~rows.holds));
      cached->second = negated != orders_.end()
                           ? negated->second ^ 1
                           : orders_.try_emplace(atoms.key(rows.holds), condition & ~1u).first->second;
    }
  }
  return cached->second ^ (condition & 1);
}

}  // namespace glove::verify
