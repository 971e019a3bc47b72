// What the unit tests share: a table of values, what a path knows, and how failures print both.
#pragma once

#include <gtest/gtest.h>

#include <ostream>

#include "memory/access.h"

namespace glove::verify {

constexpr Wide kTwo31 = Wide{1} << 31;
constexpr Wide kTwo32 = Wide{1} << 32;
constexpr Wide kTwo63 = Wide{1} << 63;

// Found by GoogleTest.
inline void PrintTo(const Interval& interval, std::ostream* out) {
  *out << '[' << testing::PrintToString(interval.lo) << ", " << testing::PrintToString(interval.hi) << ']';
}
inline void PrintTo(const Value& value, std::ostream* out) {
  *out << value.constant << " + form " << value.form;
}
inline void PrintTo(const std::optional<bool>& truth, std::ostream* out) {
  *out << (truth ? *truth ? "true" : "false" : "unknown");
}

// Conditions that hold, one after the other.
class Facts {
 public:
  Facts& holds(Value predicate) {
    path_ = extend(path_, predicate.form, 0);
    return *this;
  }
  Facts& fails(Value predicate) { return holds(SymbolTable::logical_not(predicate)); }
  // Holds for one lane only.
  Facts& holds_for(int lane, Value predicate) {
    path_ = extend(path_, 0, 0);
    path_->by_lane = std::make_unique<std::array<PredicateId, 32>>();
    (*path_->by_lane)[static_cast<size_t>(lane)] = predicate.form;
    return *this;
  }
  Position at(int lane = 0) const { return {path_.get(), nullptr, lane}; }
  const PathPointer& path() const { return path_; }

 private:
  PathPointer path_;
};

class TableTest : public testing::Test {
 protected:
  static Value number(int64_t value, unsigned bits = 32) {
    return SymbolStore::number(mask_bits(static_cast<uint64_t>(value), bits));
  }
  Value any(unsigned bits = 32, Scope scope = Scope::kThread) { return table.fresh(bits, scope); }
  Value in(Wide lo, Wide hi, unsigned bits = 32, Scope scope = Scope::kThread) {
    return table.fresh_in(bits, scope, {lo, hi});
  }
  // Comparisons of 32 bits.
  Value equal(Value a, Value b) { return table.compare(CompareKind::kEq, false, true, 32, a, b); }
  Value less(Value a, Value b) { return table.compare(CompareKind::kLt, false, true, 32, a, b); }
  Value at_most(Value a, Value b) { return table.compare(CompareKind::kLe, false, true, 32, a, b); }
  Value below(Value a, Value b) { return table.compare(CompareKind::kLt, false, false, 32, a, b); }
  Value up_to(Value a, Value b) { return table.compare(CompareKind::kLe, false, false, 32, a, b); }
  // An operation of 32 bits.
  Value operation(Op op, Type type, Value a, Value b = {}, Value c = {}, PredicateId condition = 0) {
    return table.operation(op, type, 0, 32, {a, b, c}, condition);
  }
  Value select(Value condition, Value yes, Value no) {
    return operation(Op::kSelect, Type::kB32, yes, no, {}, condition.form);
  }
  // What an atomic addition of `amount` returns.
  Value ticket(uint32_t location, Value amount, SymbolId drawing = 0, uint32_t owner = 1) {
    const Value drawn = any();
    Symbol& symbol = table.change(table.single(drawn));
    symbol.kind = SymbolKind::kTicket;
    symbol.detail = location;
    symbol.owner = owner;
    symbol.drawing = drawing;
    symbol.arguments[0] = amount;
    symbol.range = symbol.unsigned_range = {0, kTwo31 - 1};
    return drawn;
  }
  Interval unsigned_range(Value value, unsigned bits = 32) const {
    return table.base_range(value, bits, false);
  }
  Interval signed_range(Value value, unsigned bits = 32) const { return table.base_range(value, bits, true); }
  const Symbol& symbol(Value value) const { return table.symbol(table.single(value)); }

  SymbolTable table;
};

}  // namespace glove::verify
