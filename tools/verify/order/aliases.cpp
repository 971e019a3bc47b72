// Which buffers may be the same.
#include "order/order.h"

namespace glove::verify {

SymbolId Aliases::loaded_from(SymbolId object) const {
  const Symbol& symbol = table_.symbol(object);
  if (symbol.kind != SymbolKind::kOperation || symbol.op != Op::kLoad) return 0;
  const SymbolId holder = object_of(symbol.arguments[0]);
  return holder == 0 ? object : holder;
}

bool Aliases::declared_distinct(SymbolId object) const {
  const Symbol& holder = table_.symbol(loaded_from(object));
  for (const ParameterValue& parameter : setup_.launch.parameters)
    if (parameter.distinct_pointers && holder.kind == SymbolKind::kObject &&
        holder.detail == parameter.offset) {
      report_.assume("the pointers in " + parameter.buffer + " point to buffers of their own");
      return true;
    }
  return false;
}

void Aliases::note_use(SymbolId object, const Instruction& in) {
  if (object != 0 && loaded_from(object) != 0) loaded_.try_emplace(object, setup_.number_of(in));
}

bool Aliases::add_candidates(FormId form, std::set<SymbolId>* seen, std::set<SymbolId>* objects) const {
  for (const LinearTerm& term : table_.terms(form)) {
    const Symbol& symbol = table_.symbol(term.symbol);
    if (term.factor != 1 || symbol.bits != 64 || !seen->insert(term.symbol).second) continue;
    const std::vector<FormId>* sources = table_.sources_of(term.symbol);
    const bool holds = symbol.kind == SymbolKind::kObject || symbol.kind == SymbolKind::kInput ||
                       (symbol.kind == SymbolKind::kOperation && symbol.op == Op::kLoad);
    if (holds) {
      objects->insert(term.symbol);
    } else if (sources != nullptr) {
      for (const FormId source : *sources)
        if (!add_candidates(source, seen, objects)) return false;
    } else if (symbol.kind == SymbolKind::kOperation) {
      for (const Value& argument : symbol.arguments)
        if (!add_candidates(argument.form, seen, objects)) return false;
    } else if (symbol.kind == SymbolKind::kFresh) {
      return false;
    }
  }
  return true;
}

void Aliases::note_odd_read(const Place& place, unsigned bytes, const Instruction& in) {
  OddRead& read = odd_[{setup_.number_of(in), place.object}];
  if (place.object == 0) {
    read.somewhere = true;
    read.addresses.insert(place.address.form);
  } else if (place.kind == Place::kNumber) {
    read.objects = {place.object};
    for (uint64_t word = place.address.constant / 4; word <= (place.address.constant + bytes - 1) / 4; ++word)
      read.words.push_back({place.address.form, word});
  } else {
    read.objects = {place.object};
    read.somewhere = true;
  }
}

void Aliases::check() {
  const auto& written = learned_.written_objects;
  for (auto& [key, read] : odd_) {
    const Instruction& in = setup_.kernel.code[key.first];
    std::set<SymbolId> seen;
    bool known = true;
    for (const FormId address : read.addresses)
      known = known && add_candidates(address, &seen, &read.objects);
    bool may_see = (!known || read.objects.empty()) && !written.empty();
    for (const SymbolId object : read.objects)
      may_see |= !written.empty() && loaded_from(object) != 0 && !declared_distinct(object),
          may_see |=
          written.count(object) > 0 && (read.somewhere || learned_.written_anywhere.count(object) > 0);
    bool sees = false;
    for (const GlobalPlace& word : read.words) sees |= learned_.written_words.contains(word);
    if (sees)
      report_.find(FindingKind::kRace, false, in, nullptr,
                   "'" + in.text + "' reads what the kernel writes, and may return what was there before",
                   nullptr);
    else if (may_see)
      report_.find(FindingKind::kUnproved, false, in, nullptr,
                   key.second == 0 ? "a load from a buffer that is not known, which the kernel may write"
                                   : "'" + in.text + "' may read what the kernel writes",
                   nullptr);
  }
  std::set<SymbolId> all = order_.read_only.buffers();
  for (const auto& [object, at] : loaded_) all.insert(object);
  for (const auto& [object, at] : loaded_) {
    const bool is_written = written.count(object) > 0;
    bool alone = true;
    for (const SymbolId other : all) alone &= other == object || (!is_written && written.count(other) == 0);
    if (alone || declared_distinct(object)) continue;
    report_.find(
        FindingKind::kUnproved, false, setup_.kernel.code[at], nullptr,
        "this goes through a pointer from memory, which may point to what the kernel accesses through "
        "another; declare its buffer's pointers distinct in a launch file if they are",
        nullptr);
  }
}

// Two numbers from memory that decide whether the sides meet. They may well be distinct or sorted, so that it
// is no evidence that some data make them equal. Empty: something else decides.
std::string RaceReports::values_that_decide(const Side& a, const Side& b) const {
  const Value difference = table_.subtract(a.address, b.address, 64);
  const auto name = [&](SymbolId load) {
    const Value at = table_.symbol(load).arguments[0];
    const bool known = table_.terms(at.form).size() == 1;
    return (known ? "what is at byte " + std::to_string(static_cast<int64_t>(at.constant)) : "a number") +
           " of " + name_of_object(at.form);
  };
  const auto is_index = [&](const LinearTerm& term) {
    const Symbol& symbol = table_.symbol(term.symbol);
    return symbol.kind == SymbolKind::kOperation && symbol.op == Op::kLoad && symbol.detail == 0 &&
           bits_of(symbol.type) >= 16 && distinct_in(table_, term.symbol) == 0;
  };
  const LinearTerms terms = table_.terms(difference.form);
  for (const LinearTerm& one : terms)
    for (const LinearTerm& other : terms) {
      if (one.factor <= 0 || other.factor != -one.factor || !is_index(one) || !is_index(other)) continue;
      const auto offset = static_cast<int64_t>(difference.constant);
      const bool equal = terms.size() == 2 && offset > -int64_t{a.bytes} && offset < int64_t{b.bytes};
      return (equal ? "two of these values are equal: " : "these values do not keep the two apart: ") +
             name(one.symbol) + " and " + name(other.symbol);
    }
  return "";
}

}  // namespace glove::verify
