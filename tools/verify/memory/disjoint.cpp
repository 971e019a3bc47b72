// The rules by which two accesses with unknown addresses are told apart.
#include <cstdlib>
#include <numeric>

#include "memory/access.h"
#include "value/symbols.h"

namespace glove::verify {
namespace {

// Whether `place` .. `place` + bytes - 1 is inside the factor * n bytes that an addition of n owns.
bool inside(const Reasoner& reasoner, Value place, unsigned bytes, int64_t factor, const Symbol& ticket,
            SymbolTable& table) {
  if (reasoner.exact_range(place).lo < 0) return false;
  const Value amount =
      ticket.bits == 64 ? ticket.arguments[0] : table.zero_extended(ticket.arguments[0], ticket.bits);
  const Value room = table.subtract(table.scale(amount, factor, 64), place, 64);
  if (reasoner.exact_range(room).lo >= Wide{bytes}) return true;
  // place = factor * i: i < n leaves room for one element.
  if (place.form != 0 || bytes > static_cast<uint64_t>(factor)) return false;
  const Value index = {place.constant / static_cast<uint64_t>(factor), 0};
  return place.constant % static_cast<uint64_t>(factor) + bytes <= static_cast<uint64_t>(factor) &&
         reasoner.range(ticket.arguments[0], ticket.bits, false).lo > static_cast<Wide>(index.constant);
}

class Comparison {
 public:
  Comparison(const Side& a, const Side& b, SymbolTable& table)
      : table_(table), know_a_(table, a.position), know_b_(table, b.position), a_(a), b_(b) {
    a_.address = know_a_.simplify(a_.address, 64);
    b_.address = know_b_.simplify(b_.address, 64);
    difference_ = table.subtract(a_.address, b_.address, 64);
  }

  Overlap run() {
    const Interval all = range(difference_);
    if (difference_.form == 0) return apart(all) ? Overlap::kNever : Overlap::kPossible;
    if (apart(all) || congruence() || sorted_data(a_, know_a_, b_, know_b_) ||
        sorted_data(b_, know_b_, a_, know_a_) || tickets() || distinct_data()) {
      // As numbers of any size; a difference of 2^64 would be none.
      if (all.lo < -(Wide{1} << 64) + b_.bytes || all.hi > (Wide{1} << 64) - a_.bytes)
        table_.assume(SymbolTable::NoWrap::kAddress);
      return Overlap::kNever;
    }
    return table_.is_data(difference_) || next_tickets() ? Overlap::kPossible : Overlap::kUnproved;
  }

 private:
  // Bytes in common need -a.bytes < difference < b.bytes.
  bool apart(const Interval& difference) const {
    return difference.empty() || difference.hi <= -Wide{a_.bytes} || difference.lo >= Wide{b_.bytes};
  }

  Interval symbol_range(SymbolId symbol) const {
    const bool shared = table_.symbol(symbol).scope <= Scope::kBlock;
    const bool in_a = factor_of(a_, symbol) != 0;
    const bool in_b = factor_of(b_, symbol) != 0;
    Interval known = table_.symbol(symbol).range;
    if (shared || in_a) known = known.meet(know_a_.symbol_range(symbol));
    if (shared || in_b) known = known.meet(know_b_.symbol_range(symbol));
    return known;
  }

  Interval range(Value value) const {
    Interval sum = Interval::exactly(static_cast<int64_t>(value.constant));
    VoteSum votes;
    for (const LinearTerm& term : table_.terms(value.form))
      if (!votes.add(term, table_)) sum = sum.plus(symbol_range(term.symbol).times(term.factor));
    if (votes.empty()) return sum;
    std::vector<PredicateId> facts = know_a_.facts();
    for (const PredicateId fact : know_b_.facts()) facts.push_back(fact);
    return sum.plus(votes.range(std::move(facts), table_));
  }

  // All possible differences are equal modulo a number.
  bool congruence() const {
    uint64_t step = 0;
    Wide residue = static_cast<int64_t>(difference_.constant);
    for (const LinearTerm& term : table_.terms(difference_.form)) {
      const Symbol& symbol = table_.symbol(term.symbol);
      step = std::gcd(step, static_cast<uint64_t>(std::llabs(term.factor)) * symbol.stride);
      residue += Wide{term.factor} * symbol.residue;
    }
    if (step == 0) return false;
    // The least difference that is congruent and greater than -a.bytes.
    const Wide low = -Wide{a_.bytes} + 1;
    const Wide least =
        residue + ceil_divide(low - residue, static_cast<Wide>(step)) * static_cast<Wide>(step);
    return least >= Wide{b_.bytes};
  }

  // Two results of positive additions to one location differ; [T, T + n) belongs to who has added n.
  bool tickets() {
    for (const LinearTerm& left : table_.terms(a_.address.form)) {
      const Symbol& first = table_.symbol(left.symbol);
      if (first.kind != SymbolKind::kTicket) continue;
      for (const LinearTerm& right : table_.terms(b_.address.form)) {
        const Symbol& second = table_.symbol(right.symbol);
        if (second.kind != SymbolKind::kTicket || second.detail != first.detail ||
            right.factor != left.factor || !table_.drawn_apart(left.symbol, right.symbol) || left.factor <= 0)
          continue;
        if (distinct(left, right, first, second) || ranges_owned(left, right, first, second)) return true;
      }
    }
    return false;
  }

  // Additions of one number, of which one may come right behind the other, and then the two meet.
  bool next_tickets() const {
    const LinearTerms terms = table_.terms(difference_.form);
    if (terms.size() != 2 || terms[0].factor != -terms[1].factor) return false;
    const Symbol &first = table_.symbol(terms[0].symbol), &second = table_.symbol(terms[1].symbol);
    if (first.kind != SymbolKind::kTicket || second.kind != SymbolKind::kTicket ||
        first.detail != second.detail || !first.arguments[0].known() ||
        !(first.arguments[0] == second.arguments[0]))
      return false;
    const Wide step = Wide{sign_extend(first.arguments[0].constant, first.bits)} * terms[0].factor;
    const Wide rest = static_cast<int64_t>(difference_.constant);
    if (step == 0) return false;
    return !apart(Interval::exactly(rest + step)) || !apart(Interval::exactly(rest - step));
  }

  bool distinct(const LinearTerm& left, const LinearTerm& right, const Symbol& first, const Symbol& second) {
    const Value tickets = table_.subtract(table_.times(left, 64), table_.times(right, 64), 64);
    const Interval rest = range(table_.subtract(difference_, tickets, 64));
    const Wide least = std::min(least_amount(know_a_, first), least_amount(know_b_, second));
    const Wide gap = least * left.factor;
    return least > 0 && rest.lo + gap >= Wide{b_.bytes} && rest.hi - gap <= -Wide{a_.bytes};
  }

  static Wide least_amount(const Reasoner& reasoner, const Symbol& ticket) {
    return reasoner.range(ticket.arguments[0], ticket.bits, false).lo;
  }

  // What both addresses have.
  Value common_terms() {
    Value common;
    for (const LinearTerm& term : table_.terms(a_.address.form))
      if (factor_of(b_, term.symbol) == term.factor) common = table_.add(common, table_.times(term, 64), 64);
    return common;
  }

  bool ranges_owned(const LinearTerm& left, const LinearTerm& right, const Symbol& first,
                    const Symbol& second) {
    // What the addresses have in common cancels; the rest is the place in the range.
    const Value common = common_terms();
    const auto place = [&](const Side& side, const LinearTerm& ticket) {
      const Value own = table_.subtract(side.address, common, 64);
      return table_.subtract(own, table_.times(ticket, 64), 64);
    };
    return inside(know_a_, place(a_, left), a_.bytes, left.factor, first, table_) &&
           inside(know_b_, place(b_, right), b_.bytes, right.factor, second, table_);
  }

  // Numbers that are declared to be distinct, from different places.
  bool distinct_data() {
    for (const LinearTerm& left : table_.terms(a_.address.form))
      for (const LinearTerm& right : table_.terms(b_.address.form)) {
        if (left.symbol == right.symbol || left.factor != right.factor || left.factor <= 0) continue;
        const SymbolId first = distinct_in(table_, left.symbol), second = distinct_in(table_, right.symbol);
        if (first == 0 || second == 0 ||
            table_.distinct_numbers(first)->name != table_.distinct_numbers(second)->name)
          continue;
        const Side a = {table_.symbol(left.symbol).arguments[0], 4, a_.position};
        const Side b = {table_.symbol(right.symbol).arguments[0], 4, b_.position};
        if (first == second && compare_addresses(a, b, table_) != Overlap::kNever) continue;
        const Value numbers = table_.subtract(table_.times(left, 64), table_.times(right, 64), 64);
        const Interval rest = range(table_.subtract(difference_, numbers, 64));
        if (rest.lo + left.factor >= Wide{b_.bytes} && rest.hi - left.factor <= -Wide{a_.bytes}) return true;
      }
    return false;
  }

  // A number of a sorted list, and another that is `more` at least on this side of it.
  struct ListBound {
    SymbolId listed, value;
    int64_t more = 0;
  };

  Value place_of(SymbolId loaded) const { return table_.symbol(loaded).arguments[0]; }
  // Of those with which a side has to do. upper: `value` + `more` is at most `listed`; else at least.
  std::vector<ListBound> sorted_numbers(const Side& side, const Reasoner& know, bool upper) {
    std::vector<ListBound> found;
    const auto add = [&](SymbolId id) {
      const bool known = std::ranges::any_of(found, [&](const ListBound& b) { return b.value == id; });
      if (id != 0 && !known && sorted_in(table_, id) != 0) found.push_back({id, id});
    };
    for (const LinearTerm& term : table_.terms(side.address.form)) add(term.symbol);
    know.any_fact([&](PredicateId fact) {
      const Predicate& predicate = table_.predicate(fact);
      if (predicate.kind != PredicateKind::kCompare || predicate.is_float) return false;
      const SymbolId a = table_.single(predicate.a), b = table_.single(predicate.b);
      add(a), add(b);
      // Numbers that differ are in the order of their places.
      if (predicate.compare != CompareKind::kEq || (fact & 1) == 0 || a == 0 || b == 0) return false;
      const SymbolId list = sorted_in(table_, a);
      if (list == 0 || list != sorted_in(table_, b)) return false;
      const Value apart = table_.subtract(place_of(b), place_of(a), 64);
      const bool swap = (static_cast<int64_t>(apart.constant) > 0) != upper;
      if (apart.known()) found.push_back({swap ? a : b, swap ? b : a, 1});
      return false;
    });
    return found;
  }

  // The least that a value is, whatever holds or by one comparison of which it is a multiple.
  Wide least(Value value, const Reasoner& know) {
    Wide found = table_.exact_base_range(value, 64).lo;
    know.any_fact([&](PredicateId fact) {
      const Predicate& p = table_.predicate(fact);
      if (p.kind != PredicateKind::kCompare || p.is_float || p.compare == CompareKind::kEq) return false;
      const auto wide = [&](Value v) { return table_.sign_extended({v.constant, 0}, p.bits).constant; };
      const bool holds = (fact & 1) == 0;  // a < b, or else b <= a
      const Value a = {wide(p.a), p.a.form}, b = {wide(p.b), p.b.form};
      const Value apart = holds ? table_.subtract(b, a, 64) : table_.subtract(a, b, 64);
      const LinearTerms part = table_.terms(apart.form), whole = table_.terms(value.form);
      if (part.empty() || part.size() != whole.size()) return false;
      const int64_t times = part[0].factor == -1 ? -whole[0].factor : whole[0].factor / part[0].factor;
      const Value rest = table_.subtract(value, table_.scale(apart, times, 64), 64);
      if (times > 0 && rest.known())
        found = std::max(found, Wide{static_cast<int64_t>(rest.constant)} +
                                    (holds == (p.compare == CompareKind::kLt) ? times : 0));
      return false;
    });
    return found;
  }

  // Whether a number of a sorted list, or two, stand between the sides: the lower one ends before the one,
  // the upper one begins behind the other, which does not come before it in the list.
  bool sorted_data(const Side& lower, const Reasoner& know_lower, const Side& upper,
                   const Reasoner& know_upper) {
    if (!table_.has_sorted) return false;
    Value common;
    std::vector<int64_t> factors;
    for (const Side* side : {&lower, &upper})
      for (const LinearTerm& term : table_.terms(side->address.form)) {
        const bool listed = sorted_in(table_, term.symbol) != 0;
        if (listed && term.factor > 0 && std::ranges::find(factors, term.factor) == factors.end())
          factors.push_back(term.factor);
        if (!listed && side == &lower && factor_of(upper, term.symbol) == term.factor)
          common = table_.add(common, table_.times(term, 64), 64);
      }
    for (const ListBound& end : sorted_numbers(lower, know_lower, true))
      for (const ListBound& begin : sorted_numbers(upper, know_upper, false)) {
        const SymbolId list = sorted_in(table_, end.listed);
        const Wide behind = range(table_.subtract(place_of(begin.listed), place_of(end.listed), 64)).lo;
        if (behind < 0 || list != sorted_in(table_, begin.listed)) continue;
        const DistinctNumbers& numbers = *table_.distinct_numbers(list);
        const Wide more = Wide{end.more} + begin.more +
                          (numbers.name.empty() ? 0 : behind / static_cast<Wide>(numbers.every));
        for (const int64_t factor : factors) {
          const auto from_list = [&](Value address, SymbolId value) {
            const Value listed = table_.add(common, table_.scale(table_.of(value), factor, 64), 64);
            return table_.subtract(address, listed, 64);
          };
          const Value over = table_.scale(from_list(lower.address, end.value), -1, 64);
          const Wide above = least(from_list(upper.address, begin.value), know_upper);
          if (least(over, know_lower) + above + more * factor >= Wide{lower.bytes}) return true;
        }
      }
    return false;
  }

  int64_t factor_of(const Side& side, SymbolId symbol) const {
    for (const LinearTerm& term : table_.terms(side.address.form))
      if (term.symbol == symbol) return term.factor;
    return 0;
  }

  SymbolTable& table_;
  Reasoner know_a_, know_b_;
  Side a_, b_;
  Value difference_;
};

}  // namespace

bool apart(const TicketShape& a, unsigned bytes_a, const TicketShape& b, unsigned bytes_b,
           SymbolTable& table) {
  if (a.location == 0 || a.location != b.location || a.factor != b.factor || a.factor <= 0) return false;
  const Value difference = table.subtract(a.rest, b.rest, 64);
  const Wide least = std::min(a.least, b.least);
  if (!difference.known() || least <= 0) return false;
  const Wide offset = static_cast<int64_t>(difference.constant), gap = least * a.factor;
  return offset + gap >= Wide{bytes_b} && offset - gap <= -Wide{bytes_a};
}

// Whether distinct numbers from different places keep the addresses of the two apart.
bool apart(const DistinctPlaces& a, unsigned bytes_a, const DistinctPlaces& b, unsigned bytes_b,
           SymbolTable& table) {
  if (a.object == 0 || b.object == 0 || a.factor != b.factor ||
      table.distinct_numbers(a.object)->name != table.distinct_numbers(b.object)->name)
    return false;
  const Value difference = table.subtract(a.rest, b.rest, 64);
  const auto offset = Wide{static_cast<int64_t>(difference.constant)};
  if (!difference.known() || offset + a.factor < Wide{bytes_b} || offset - a.factor > -Wide{bytes_a})
    return false;
  return a.object != b.object || compare_addresses({a.source, a.source_bytes, {}},
                                                   {b.source, b.source_bytes, {}}, table) == Overlap::kNever;
}

bool apart(const Extent& a, unsigned bytes_a, const Extent& b, unsigned bytes_b, SymbolTable& table) {
  if (a.form != 0 && a.form == b.form && a.constants.meet(b.constants).empty()) return true;
  if (a.owned.location != 0 && a.owned.location == b.owned.location && a.owned.factor == b.owned.factor &&
      table.drawn_apart(a.owned.ticket, b.owned.ticket))
    return true;
  if (apart(a.places, bytes_a, b.places, bytes_b, table)) return true;
  if (a.end.form != 0 && b.end.form != 0) {
    const Reasoner reasoner(table, {});
    if (reasoner.exact_range(table.subtract(b.begin, a.end, 64)).lo >= 0 ||
        reasoner.exact_range(table.subtract(a.begin, b.end, 64)).lo >= 0)
      return true;
  }
  return apart(a.shape, bytes_a, b.shape, bytes_b, table);
}

OwnedRange owned_range(const Value& address, SymbolId object, unsigned bytes, Position position,
                       SymbolTable& table) {
  const Value offset = object == 0 ? address : table.subtract(address, table.of(object), 64);
  for (const LinearTerm& term : table.terms(offset.form)) {
    const Symbol& ticket = table.symbol(term.symbol);
    if (ticket.kind != SymbolKind::kTicket || term.factor <= 0) continue;
    const Value place = table.subtract(offset, table.times(term, 64), 64);
    if (inside(Reasoner(table, position), place, bytes, term.factor, ticket, table))
      return {ticket.detail, term.factor, term.symbol};
  }
  return {};
}

DistinctPlaces distinct_places(const Value& address, SymbolTable& table) {
  for (const LinearTerm& term : table.terms(address.form)) {
    const SymbolId object = distinct_in(table, term.symbol);
    if (object == 0 || term.factor <= 0) continue;
    const Value rest = table.subtract(address, table.times(term, 64), 64);
    return {object, term.factor, rest, table.symbol(term.symbol).arguments[0], 4};
  }
  return {};
}

Overlap compare_addresses(const Side& a, const Side& b, SymbolTable& table) {
  const SymbolTable::Mark mark = table.mark();
  const Overlap overlap = Comparison(a, b, table).run();
  table.forget_since(mark);
  return overlap;
}

}  // namespace glove::verify
