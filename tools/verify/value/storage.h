// Containers of what a run makes by the million.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace glove::verify {

// A list whose elements stay where they are while it grows.
template <class T>
class StableList {
 public:
  T& operator[](size_t index) { return chunks_[index / kChunk][index % kChunk]; }
  const T& operator[](size_t index) const { return chunks_[index / kChunk][index % kChunk]; }
  T& back() { return (*this)[size_ - 1]; }
  size_t size() const { return size_; }
  void push_back(const T& value) {
    if (size_ == chunks_.size() * kChunk) chunks_.emplace_back().reserve(kChunk);
    chunks_[size_++ / kChunk].push_back(value);
  }
  void pop_back() { chunks_[--size_ / kChunk].pop_back(); }

 private:
  static constexpr size_t kChunk = 512;
  std::vector<std::vector<T>> chunks_;
  size_t size_ = 0;
};

// Ids by a hash of what they name, which is not held a second time. Id 0 stands for none.
class IdsByHash {
 public:
  // The id with this hash for which is(id) holds; 0: there is none.
  template <class Is>
  uint32_t find(uint64_t hash, Is is) const {
    if (slots_.empty()) return 0;
    for (size_t at = place(hash); slots_[at].id != 0; at = (at + 1) & (slots_.size() - 1))
      if (slots_[at].hash == static_cast<uint32_t>(hash) && is(slots_[at].id)) return slots_[at].id;
    return 0;
  }
  void insert(uint64_t hash, uint32_t id) {
    if (2 * ++count_ > slots_.size()) grow();
    put({static_cast<uint32_t>(hash), id});
  }
  // REQUIRES: the id was inserted with this hash.
  void erase(uint64_t hash, uint32_t id) {
    const size_t mask = slots_.size() - 1;
    size_t hole = place(hash);
    while (slots_[hole].id != id) hole = (hole + 1) & mask;
    // What stands behind the hole moves up if it could not stand nearer to its place.
    for (size_t at = (hole + 1) & mask; slots_[at].id != 0; at = (at + 1) & mask)
      if (((at - place(slots_[at].hash)) & mask) >= ((at - hole) & mask))
        slots_[std::exchange(hole, at)] = slots_[at];
    slots_[hole] = {};
    --count_;
  }

 private:
  struct Slot {
    uint32_t hash = 0;
    uint32_t id = 0;
  };
  size_t place(uint64_t hash) const { return static_cast<uint32_t>(hash) & (slots_.size() - 1); }
  void put(Slot slot) {
    size_t at = place(slot.hash);
    while (slots_[at].id != 0) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = slot;
  }
  void grow() {
    const std::vector<Slot> before =
        std::exchange(slots_, std::vector<Slot>(slots_.empty() ? 64 : 2 * slots_.size()));
    for (const Slot& slot : before)
      if (slot.id != 0) put(slot);
  }

  std::vector<Slot> slots_;  // a power of two, at most half of them used
  size_t count_ = 0;
};

}  // namespace glove::verify
