#include "value/symbols.h"

#include <algorithm>

namespace glove::verify {
namespace {

constexpr size_t kMostTerms = 12;    // of a linear form
constexpr size_t kMostCounts = 140;  // with those that count votes: four ballots of each warp, and more

bool fits(const Interval& range, unsigned bits) {
  return Interval::of_signed(bits).contains(range);
}

}  // namespace

SymbolStore::SymbolStore() {
  forms_.push_back({});  // 0: no symbol
  predicates_.push_back({});
  Symbol unused;
  unused.bits = 0;
  while (bodies_.size() < kSharedBodies) bodies_.push_back(unused);
  (void)add_symbol({});
  (void)fresh(64, Scope::kThread);  // kUnnamed
}

void SymbolStore::push_form(LinearTerms terms) {
  if (terms_used_ + terms.size() > kTermBlock) {
    term_blocks_.push_back(std::make_unique<LinearTerm[]>(kTermBlock));
    terms_used_ = 0;
  }
  LinearTerm* const begin = term_blocks_.back().get() + terms_used_;
  std::copy(terms.begin(), terms.end(), begin);
  terms_used_ += terms.size();
  forms_.push_back({begin, terms.size()});
}

void SymbolStore::pop_form() {
  const LinearTerms last = forms_.back();
  // The last form of the block before leaves a gap.
  if (last.data() + last.size() == term_blocks_.back().get() + terms_used_) terms_used_ -= last.size();
  forms_.pop_back();
}

FormId SymbolStore::form_of(LinearTerms terms) {
  if (terms.empty()) return 0;
  if (terms.size() == 1 && terms[0].factor == 1) return of(terms[0].symbol).form;
  const uint64_t hash = InternHash()(terms);
  const auto is = [&](FormId id) { return std::ranges::equal(forms_[id], terms); };
  if (const FormId known = form_ids_.find(hash, is); known != 0) return known;
  const auto id = static_cast<FormId>(forms_.size());
  form_ids_.insert(hash, id);
  push_form(terms);
  return id;
}

void SymbolStore::forget_since(const Mark& mark) {
  if (symbols_.size() != mark.symbols || predicates_.size() != mark.predicates) return;
  for (; forms_.size() > mark.forms; pop_form()) {
    const LinearTerms sum = forms_.back();
    if (sum.size() == 1 && sum[0].factor == 1)
      symbols_[sum[0].symbol].form = 0;
    else
      form_ids_.erase(InternHash()(sum), static_cast<FormId>(forms_.size() - 1));
  }
}

Value SymbolStore::of(SymbolId id) {
  FormId& form = symbols_[id].form;
  if (form == 0) {
    form = static_cast<FormId>(forms_.size());
    const LinearTerm alone = {id, 1};
    push_form({&alone, 1});
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

Value SymbolStore::fresh(unsigned bits, Scope scope, bool data, SymbolKind kind) {
  const uint32_t shared = bits * 12 + static_cast<uint32_t>(scope) * 3 +
                          (kind == SymbolKind::kClaim ? 2
                           : data                     ? 1
                                                      : 0);
  if (bodies_[shared].bits == 0) {
    bodies_[shared] = {.kind = kind,
                       .scope = scope,
                       .bits = static_cast<uint8_t>(bits),
                       .range = Interval::of_signed(bits),
                       .unsigned_range = Interval::of_unsigned(bits),
                       .data = data};
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
    // What is computed from data may depend on them, unless it was seen that any value comes out.
    if (symbol.scope == Scope::kGrid && !symbol.data && symbol.kind != SymbolKind::kOperation) continue;
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
  const InternKey key = key_of(predicate);
  const uint64_t hash = InternHash()(key);
  const auto is = [&](uint32_t index) { return key_of(predicates_[index]) == key; };
  if (const uint32_t known = predicate_ids_.find(hash, is); known != 0) return known << 1;
  const auto id = static_cast<uint32_t>(predicates_.size());
  predicates_.push_back(predicate);
  predicate_ids_.insert(hash, id);
  const auto only = [&](Value side) { return terms(side.form).size() == 1 ? terms(side.form)[0].symbol : 0; };
  predicates_.back().only_a = only(predicate.a), predicates_.back().only_b = only(predicate.b);
  return id << 1;
}

Value SymbolTable::fresh_in(unsigned bits, Scope scope, Interval range) {
  const Value value = fresh(bits, scope);
  Symbol& symbol = change(single(value));
  symbol.range = range.meet(Interval::of_signed(bits));
  if (symbol.range.lo >= 0) symbol.unsigned_range = symbol.range;
  return value;
}

Value SymbolTable::iteration(Scope scope) {
  const Interval range = {0, (Wide{1} << 31) - 1};
  return of(add_symbol(
      {.kind = SymbolKind::kIteration, .scope = scope, .bits = 64, .range = range, .unsigned_range = range}));
}

bool SymbolTable::goes_on(Value before, Value now, SymbolId iteration, unsigned bits) {
  for (const LinearTerm& term : terms(before.form))
    if (term.symbol == iteration)
      return subtract(now, before, bits) == Value{mask_bits(static_cast<uint64_t>(term.factor), bits), 0};
  return false;
}

Value SymbolTable::operation(Op op, Type type, uint32_t detail, unsigned bits, const Value (&arguments)[3],
                             PredicateId condition) {
  Symbol symbol = {.kind = SymbolKind::kOperation,
                   .bits = static_cast<uint8_t>(bits),
                   .type = type,
                   .op = op,
                   .detail = detail,
                   .condition = condition};
  std::copy(arguments, arguments + 3, symbol.arguments);
  const InternKey key = key_of(symbol);
  if (const SymbolId known = find_symbol(key); known != 0) return of(known);
  symbol.scope = condition != 0 ? scope_of_predicate(condition) : Scope::kGrid;
  for (const Value& argument : arguments) symbol.scope = std::max(symbol.scope, scope_of(argument));
  const bool passes_data = op == Op::kAnd || op == Op::kRem || op == Op::kShr || op == Op::kMin ||
                           op == Op::kMax || op == Op::kConvert || op == Op::kBitExtract;
  symbol.data = passes_data && is_data(arguments[0]) && (arguments[1].known() || is_data(arguments[1]));
  set_operation_range(symbol);
  symbol.number = makes_number(symbol, *this);
  const SymbolId id = add_symbol(symbol);
  symbol_ids_.insert(InternHash()(key), id);
  return of(id);
}

Value SymbolTable::loaded(Type type, uint32_t space, unsigned bits, Value address) {
  const Value value = operation(Op::kLoad, type, space, bits, {address, {}, {}});
  change(single(value)).data = true;
  return value;
}

Value SymbolTable::input(SymbolKind kind, uint32_t detail, unsigned bits, Scope scope) {
  Symbol symbol = {.kind = kind, .bits = static_cast<uint8_t>(bits), .detail = detail};
  const InternKey key = key_of(symbol);
  if (const SymbolId known = find_symbol(key); known != 0) return of(known);
  symbol.scope = scope;
  symbol.range = Interval::of_signed(bits);
  symbol.unsigned_range = Interval::of_unsigned(bits);
  const SymbolId id = add_symbol(symbol);
  symbol_ids_.insert(InternHash()(key), id);
  return of(id);
}

Value SymbolTable::combine(Value a, Value b, int64_t sign, unsigned bits) {
  const uint64_t constant = mask_bits(sign > 0 ? a.constant + b.constant : a.constant - b.constant, bits);
  if (b.form == 0) return {constant, a.form};
  if (a.form == 0 && sign > 0) return {constant, b.form};
  if (a.form == b.form && sign < 0) return {constant, 0};
  const LinearTerms left = terms(a.form), right = terms(b.form);
  std::array<LinearTerm, 2 * kMostCounts> sum;
  size_t count = 0, i = 0, j = 0;
  const auto push = [&](SymbolId symbol, uint64_t factor) {
    if (const int64_t small = sign_extend(factor, bits); small != 0) sum[count++] = {symbol, small};
  };
  while (i < left.size() || j < right.size()) {
    if (j == right.size() || (i < left.size() && left[i].symbol < right[j].symbol)) {
      push(left[i].symbol, static_cast<uint64_t>(left[i].factor)), ++i;
    } else if (i == left.size() || right[j].symbol < left[i].symbol) {
      push(right[j].symbol, static_cast<uint64_t>(sign) * static_cast<uint64_t>(right[j].factor)), ++j;
    } else {
      push(left[i].symbol, static_cast<uint64_t>(left[i].factor) +
                               static_cast<uint64_t>(sign) * static_cast<uint64_t>(right[j].factor));
      ++i, ++j;
    }
  }
  const LinearTerms all(sum.data(), count);
  // A sum of very many unknowns says nothing and costs time, unless it counts votes.
  const auto unknown = [&] {
    return std::ranges::count_if(all, [&](auto term) { return !counts_votes(term.symbol); });
  };
  if (count > kMostTerms && (count > kMostCounts || unknown() > ptrdiff_t{kMostTerms}))
    return long_sum(a, b, sign, bits);
  return {constant, form_of(all)};
}

// A sum of more terms than a form has.
Value SymbolTable::long_sum(Value a, Value b, int64_t sign, unsigned bits) {
  const Interval range = exact_base_range(a, bits).plus(exact_base_range(b, bits).times(sign));
  const Value sum = operation(Op::kAdd, Type::kNone, static_cast<uint32_t>(sign), bits, {a, b, {}});
  if (!fits(range, bits)) return sum;
  Symbol& symbol = change(single(sum));
  symbol.range = range;
  if (range.lo >= 0) symbol.unsigned_range = range;
  return sum;
}

Value SymbolTable::scale(Value a, int64_t factor, unsigned bits) {
  const uint64_t by = static_cast<uint64_t>(factor);
  std::array<LinearTerm, kMostCounts> scaled;
  size_t count = 0;
  for (const LinearTerm& term : terms(a.form))
    if (const int64_t small = sign_extend(static_cast<uint64_t>(term.factor) * by, bits); small != 0)
      scaled[count++] = {term.symbol, small};
  return {mask_bits(a.constant * by, bits), form_of({scaled.data(), count})};
}

// In a form of 64 bits a narrower symbol stands for its signed number.
Value SymbolTable::sign_extended(Value a, unsigned from) {
  const Value wide = {static_cast<uint64_t>(sign_extend(a.constant, from)), a.form};
  if (a.form == 0) return wide;
  if (!fits(exact_base_range(a, from), from)) assume(SymbolTable::NoWrap::kIndex);
  return wide;
}

Value SymbolTable::zero_extended(Value a, unsigned from) {
  if (a.form == 0) return {mask_bits(a.constant, from), 0};
  Value sum = {static_cast<uint64_t>(sign_extend(a.constant, from)), 0};
  if (Interval::of_unsigned(from).contains(exact_base_range(a, from))) return {sum.constant, a.form};
  assume(SymbolTable::NoWrap::kIndex);
  for (const LinearTerm& term : terms(a.form)) {
    const Value narrow = of(term.symbol);
    const bool may_be_negative = symbol(term.symbol).range.lo < 0;
    const Value wide =
        may_be_negative ? operation(Op::kConvert, Type::kU64, from, 64, {narrow, {}, {}}) : narrow;
    sum = add(sum, scale(wide, term.factor, 64), 64);
  }
  return sum;
}

// What the counter's lower half counts: a ticket of its own, as long as that half does not wrap either.
Value SymbolTable::lower_half(SymbolId ticket) {
  const auto known = lower_halves_.find(ticket);
  if (known != lower_halves_.end()) return of(known->second);
  const Symbol& whole = symbol(ticket);
  const Value amount = truncated(whole.arguments[0], 64, 32);
  const Value half = fresh(32, whole.scope);
  lower_halves_[ticket] = single(half);
  Symbol& symbol = change(single(half));
  symbol.kind = SymbolKind::kTicket;
  symbol.detail = whole.detail | kLowerHalf;
  symbol.owner = whole.owner;
  symbol.arguments[0] = amount;
  symbol.range = symbol.unsigned_range = {0, (Wide{1} << 31) - 1};
  return half;
}

Value SymbolTable::truncated(Value a, unsigned from, unsigned to) {
  if (a.form == 0) return {mask_bits(a.constant, to), 0};
  Value sum = {mask_bits(a.constant, to), 0};
  for (const LinearTerm& term : terms(a.form)) {
    const Symbol& symbol = SymbolTable::symbol(term.symbol);
    Value narrow = of(term.symbol);
    if (symbol.kind == SymbolKind::kOperation && symbol.op == Op::kConvert && symbol.type == Type::kU64 &&
        symbol.detail == to) {
      narrow = symbol.arguments[0];
    } else if (symbol.kind == SymbolKind::kTicket && symbol.bits == 64 && to == 32) {
      narrow = lower_half(term.symbol);
    } else if (symbol.bits > to && !fits(symbol.range, to) && symbol.kind != SymbolKind::kIteration) {
      narrow = operation(Op::kConvert, Type::kB32, to, to, {narrow, {}, {}});
    }
    sum = add(sum, scale(narrow, term.factor, to), to);
  }
  (void)from;
  return sum;
}

namespace {

// How far share() follows what a value is computed from.
int deepest(Scope with) {
  return with == Scope::kWarp ? 24 : 3;
}

}  // namespace

void SymbolTable::share(Value value, Scope with, int depth) {
  if (depth == 0 && scope_of(value) <= with) return;
  if (depth == 0) seen_.clear();
  for (const LinearTerm& term : terms(value.form)) {
    const Symbol& symbol = SymbolTable::symbol(term.symbol);
    const bool operation = symbol.kind == SymbolKind::kOperation;
    const bool alone = symbol.kind == SymbolKind::kFresh || symbol.kind == SymbolKind::kObserved ||
                       symbol.kind == SymbolKind::kTicket || symbol.kind == SymbolKind::kInput;
    if (symbol.scope <= with || depth > deepest(with) || !(alone || operation)) continue;
    if (operation && with == Scope::kWarp && !seen_.insert(term.symbol).second) continue;
    Scope scope = with;
    for (const Value& argument : symbol.arguments) {
      if (!operation) break;
      share(argument, with, depth + 1);
      scope = std::max(scope, scope_of(argument));
    }
    if (symbol.condition != 0) scope = std::max(scope, share_condition(symbol.condition, with, depth + 1));
    if (scope < symbol.scope) change(term.symbol).scope = scope;
  }
}

Scope SymbolTable::share_condition(PredicateId id, Scope with, int depth) {
  Predicate& condition = predicates_[id >> 1];
  if (condition.scope <= with || depth > deepest(with)) return condition.scope;
  if (with == Scope::kWarp && !seen_.insert(uint64_t{id} << 32).second) return condition.scope;
  Scope scope = condition.scope;
  if (condition.kind == PredicateKind::kCompare) {
    share(condition.a, with, depth + 1);
    share(condition.b, with, depth + 1);
    scope = std::max(scope_of(condition.a), scope_of(condition.b));
  } else if (condition.kind != PredicateKind::kSymbol) {
    const Scope p = share_condition(condition.p, with, depth + 1);
    scope = std::max(p, share_condition(condition.q, with, depth + 1));
  }
  return condition.scope = std::max(scope, with);
}

SymbolId SymbolTable::listed_in(SymbolId id) const {
  const Symbol& load = SymbolTable::symbol(id);
  if (load.kind != SymbolKind::kOperation || load.op != Op::kLoad || load.detail != 0 || load.bits != 32 ||
      bits_of(load.type) != 32)
    return 0;
  SymbolId object = 0;
  for (const LinearTerm& term : terms(load.arguments[0].form))
    if (term.factor == 1 && distinct_.count(term.symbol) > 0) object = term.symbol;
  if (object == 0) return 0;
  const auto every = static_cast<Wide>(distinct_.at(object).every);
  Wide residue = static_cast<int64_t>(load.arguments[0].constant);
  for (const LinearTerm& term : terms(load.arguments[0].form)) {
    if (term.symbol == object) continue;
    const Symbol& symbol = SymbolTable::symbol(term.symbol);
    if (Wide{term.factor} * static_cast<Wide>(symbol.stride) % every != 0) return 0;
    residue += Wide{term.factor} * symbol.residue;
  }
  return residue % every == 0 ? object : 0;
}

Interval SymbolStore::exact_base_range(Value value, unsigned bits) const {
  Interval exact = Interval::exactly(sign_extend(value.constant, bits));
  for (const LinearTerm& term : terms(value.form))
    exact = exact.plus(symbol(term.symbol).range.times(term.factor));
  return exact;
}

Interval SymbolTable::base_range(Value value, unsigned bits, bool as_signed) const {
  const Interval whole = as_signed ? Interval::of_signed(bits) : Interval::of_unsigned(bits);
  if (value.form == 0)
    return Interval::exactly(as_signed ? Wide{sign_extend(value.constant, bits)}
                                       : static_cast<Wide>(mask_bits(value.constant, bits)));
  const LinearTerms sum = terms(value.form);
  if (sum.size() == 1 && sum[0].factor == 1 && value.constant == 0 && symbol(sum[0].symbol).bits == bits)
    return as_signed ? symbol(sum[0].symbol).range : symbol(sum[0].symbol).unsigned_range;
  const Interval exact = exact_base_range(value, bits);
  return whole.contains(exact) ? exact : whole;
}

}  // namespace glove::verify
