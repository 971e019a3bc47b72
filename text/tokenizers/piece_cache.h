// The ids of short pieces that a scratch has met lately: words repeat, and encoding one costs more than
// finding it here.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace glove::tokenizers {

// One place per piece: of two pieces with the same place, the later one has it.
class PieceCache {
 public:
  // Forgets everything, unless `owner`, the number of a tokenizer, is that of the last call.
  void use_for(uint64_t owner) {
    if (owner_ == owner) return;
    entries_.assign(kEntries, {});
    owner_ = owner;
  }

  // Appends the ids of a piece and returns true, if they are known.
  bool append(std::string_view piece, std::vector<uint32_t>& ids) const {
    if (piece.size() > kMostBytes) return false;
    const Key key = key_of(piece);
    const Entry& entry = entries_[place(key)];
    if (entry.key != key) return false;
    ids.insert(ids.end(), entry.ids.begin(), entry.ids.begin() + entry.count);
    return true;
  }

  void keep(std::string_view piece, std::span<const uint32_t> ids) {
    if (piece.size() > kMostBytes || ids.size() > kMostIds) return;
    const Key key = key_of(piece);
    Entry& entry = entries_[place(key)];
    entry.key = key;
    entry.count = static_cast<uint32_t>(ids.size());
    std::copy(ids.begin(), ids.end(), entry.ids.begin());
  }

 private:
  static constexpr size_t kEntries = 4096;
  static constexpr size_t kMostBytes = 23;
  static constexpr size_t kMostIds = 7;
  using Key = std::array<uint64_t, 3>;  // the bytes, zeros, and the length, so that no key is all zeros

  struct Entry {
    Key key{};
    uint32_t count = 0;
    std::array<uint32_t, kMostIds> ids{};
  };

  static Key key_of(std::string_view piece) {
    char bytes[24] = {};
    std::memcpy(bytes, piece.data(), piece.size());
    bytes[kMostBytes] = static_cast<char>(piece.size());
    Key key;
    std::memcpy(key.data(), bytes, sizeof bytes);
    return key;
  }

  static size_t place(const Key& key) {
    constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15u;
    const uint64_t mixed = ((key[0] * kMultiplier ^ key[1]) * kMultiplier ^ key[2]) * kMultiplier;
    return mixed >> 52;
  }

  std::vector<Entry> entries_;
  uint64_t owner_ = 0;
};

}  // namespace glove::tokenizers
