#include "order/tickets.h"

namespace glove::verify {

void Tickets::spoil(const Place& place, unsigned bytes) {
  const SymbolId object = place.space == Space::kShared ? 0 : place.object;
  bool drawn = false;
  if (place.kind == Place::kRange) {
    if (!learned_.ticket_objects_spoiled.insert(object).second) return;
    drawn = !ticketed_.empty();
  } else {
    GlobalPlace key = key_of(place);
    for (unsigned i = 0; i < bytes; i += 4, key.granule += 4)
      drawn |= learned_.tickets_spoiled.insert(key).second && ticketed_.count(key) > 0;
  }
  if (drawn) report_.begin_again();
}

bool Tickets::draw(const Place& place, unsigned bytes) {
  if (learned_.ticket_objects_spoiled.count(place.space == Space::kShared ? 0 : place.object) > 0)
    return false;
  const GlobalPlace first = key_of(place);
  GlobalPlace key = first;
  for (unsigned i = 0; i < bytes; i += 4, key.granule += 4) {
    if (learned_.tickets_spoiled.count(key) > 0) return false;
    const auto [found, added] = ticketed_.try_emplace(key, first.granule, bytes);
    if (!added && found->second != std::pair(first.granule, bytes)) {  // an addition to a part of it
      spoil(place, bytes);
      return false;
    }
  }
  return true;
}

TicketShape Tickets::shape_of(const BlockState& state, const Warp& warp, int lane, Value address) {
  for (const LinearTerm& term : std::vector<LinearTerm>(table_.terms(address.form))) {
    const Symbol& symbol = table_.symbol(term.symbol);
    if (symbol.kind != SymbolKind::kTicket || symbol.owner != setup_.owner_of(state, warp, lane)) continue;
    const Value amount = symbol.arguments[0];
    const Wide least = amount.known() ? static_cast<Wide>(mask_bits(amount.constant, symbol.bits)) : 0;
    const uint32_t location = symbol.detail;
    const Value rest = table_.subtract(address, table_.scale(table_.of(term.symbol), term.factor, 64), 64);
    if (table_.scope_of(rest) == Scope::kThread) return {};
    return {location, term.factor, least, rest};
  }
  return {};
}

}  // namespace glove::verify
