// Divides one block of memory into arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace glove::gpu {

// Where an array of T lies in every block of one layout.
template <class T>
struct Slot {
  int64_t at = 0;     // its first byte, counted from the start of the block
  int64_t count = 0;  // its elements

  int64_t bytes() const { return count * static_cast<int64_t>(sizeof(T)); }
  T* in(std::byte* block) const { return reinterpret_cast<T*>(block + at); }
};

// Puts arrays one after another, each at a multiple of kAlignment bytes.
class BlockLayout {
 public:
  static constexpr int64_t kAlignment = 256;

  template <class T>
  Slot<T> add(int64_t count) {
    const Slot<T> slot{end_, count};
    end_ += (slot.bytes() + kAlignment - 1) / kAlignment * kAlignment;
    return slot;
  }
  int64_t bytes() const { return end_; }  // of a block that holds all arrays

  // Adds an array whose address place() writes to `array`, which must stay where it is until then.
  template <class T>
  void bind(T*& array, int64_t count) {
    bound_.push_back([&array, slot = add<T>(count)](std::byte* block) { array = slot.in(block); });
  }
  void place(std::byte* block) const {
    for (const auto& write : bound_) write(block);
  }

 private:
  int64_t end_ = 0;
  std::vector<std::function<void(std::byte* block)>> bound_;
};

}  // namespace glove::gpu
