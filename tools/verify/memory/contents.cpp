#include "memory/contents.h"

#include <algorithm>

namespace glove::verify {

void Contents::write(uint64_t address, unsigned bytes, Value value, bool known) {
  Slot& slot = at(address);
  if (slot.known == Known::kTail && address >= 4) {
    Slot& head = at(address - 4);
    if (head.known == Known::kValue) head.known = Known::kUnknown;
  }
  const bool whole = address % 4 == 0 && (bytes == 4 || bytes == 8 || (bytes < 4 && slot.bytes <= bytes));
  Slot& target = at(address);
  const bool had_tail = target.bytes == 8 && bytes < 8;
  target.value = value;
  target.bytes = static_cast<uint8_t>(bytes);
  target.known = known && whole ? Known::kValue : Known::kUnknown;
  if (had_tail) at(address + 4).known = Known::kUnknown;
  for (uint64_t part = address + 4; part < address + bytes; part += 4) {
    Slot& tail = at(part);
    if (tail.bytes == 8 && tail.known == Known::kValue) at(part + 4).known = Known::kUnknown;
    tail.known = known && whole ? Known::kTail : Known::kUnknown;
    tail.bytes = 4;
  }
}

bool Contents::blur(uint64_t from, uint64_t to) {
  const uint64_t last = windows_.stride == 0 ? std::min<uint64_t>(to, kMostShared) : windows_.compact(to);
  const size_t end = static_cast<size_t>(last / 4 + 1);
  if (end > slots_.size()) slots_.resize(end);
  bool changed = false;
  for (size_t i = static_cast<size_t>(windows_.compact(from) / 4); i < end; ++i) {
    changed |= slots_[i].known != Known::kVaries;
    slots_[i].known = Known::kVaries;
    slots_[i].bytes = 4;
  }
  return changed;
}

bool Contents::write_maybe(uint64_t address, unsigned bytes) {
  bool changed = false;
  for (uint64_t part = address / 4 * 4; part < address + bytes; part += 4) {
    Slot& slot = at(part);
    if (slot.known == Known::kTail && part >= 4 && at(part - 4).known == Known::kValue)
      at(part - 4).known = Known::kVaries;
    if (slot.known == Known::kValue && slot.bytes == 8) at(part + 4).known = Known::kVaries;
    Slot& again = at(part);
    changed |= again.known != Known::kVaries;
    again.known = Known::kVaries;
    again.bytes = 4;
  }
  return changed;
}

bool Contents::count(uint64_t address, uint64_t amount, const SymbolTable& table) {
  constexpr uint64_t kMost = 0x7fffffff;
  Slot& slot = at(address);
  uint64_t least = slot.value.constant & 0xffffffffu, most = slot.value.constant >> 32;
  if (slot.known == Known::kValue && slot.bytes == 4) {
    const Interval range = table.base_range(slot.value, 32, false);
    if (range.hi > static_cast<Wide>(kMost)) return false;
    least = static_cast<uint64_t>(range.lo), most = static_cast<uint64_t>(range.hi);
  } else if (slot.known != Known::kCounted) {
    return false;
  }
  if (address % 4 != 0 || amount > kMost - most) return false;
  slot.value = {least | (most + amount) << 32, 0};
  slot.known = Known::kCounted;
  return true;
}

void Contents::settle(SymbolTable& table) {
  for (Slot& slot : slots_) {
    if (slot.known == Known::kVaries) slot.known = Known::kUnknown;
    if (slot.known != Known::kCounted) continue;
    const auto least = static_cast<Wide>(slot.value.constant & 0xffffffffu);
    slot.value = table.fresh_in(32, Scope::kBlock, {least, static_cast<Wide>(slot.value.constant >> 32)});
    slot.known = Known::kValue;
  }
}

void Contents::define(uint64_t address, uint64_t bytes, bool ordered) {
  for (uint64_t byte = address; byte < address + bytes; ++byte)
    at(byte).written |= static_cast<uint8_t>(1u << (byte % 4 + (ordered ? 0 : 4)));
}

void Contents::settle_defined(bool all_met) {
  for (Slot& slot : slots_)
    slot.written = static_cast<uint8_t>((slot.written | (all_met ? slot.written >> 4 : 0)) & 0xf);
}

bool Contents::defined(uint64_t from, uint64_t to) {
  const uint64_t bytes_there = to - from;
  from = windows_.compact(from);
  to = from + bytes_there;
  if (from >= whole_from_ && to <= whole_to_) return true;
  for (uint64_t word = from / 4; word * 4 < to; ++word) {
    const uint64_t begin = std::max(from, word * 4), end = std::min(to, word * 4 + 4);
    const unsigned bytes = ((1u << (end - begin)) - 1) << begin % 4;
    if (word >= slots_.size() || (slots_[word].written & bytes) != bytes) return false;
  }
  if (to - from > whole_to_ - whole_from_) whole_from_ = from, whole_to_ = to;
  return true;
}

bool Contents::defined_within(const Contents& other) const {
  for (size_t i = 0; i < slots_.size(); ++i) {
    const unsigned there = i < other.slots_.size() ? other.slots_[i].written : 0;
    if ((slots_[i].written & ~there & 0xf) != 0) return false;
  }
  return true;
}

void Contents::keep_defined(const Contents& other) {
  for (size_t i = 0; i < slots_.size(); ++i)
    slots_[i].written &= i < other.slots_.size() ? other.slots_[i].written : uint8_t{0};
  whole_from_ = whole_to_ = 0;
}

}  // namespace glove::verify
