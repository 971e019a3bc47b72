// Memory for large arrays that are read from end to end, or at random.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

#include "base/buffer.h"
#include "base/system_calls.h"

namespace glove {

// Allocates arrays of 4 MiB or more on huge pages where the system has them: the processor then finds
// addresses faster and fetches ahead further. Such an array takes up to 2 MiB more than its size.
template <class T>
struct HugePageAllocator : UninitializedAllocator<T> {
  template <class U>
  struct rebind {
    using other = HugePageAllocator<U>;
  };

  static T* allocate(size_t count) {
    if (!is_large(count)) return std::allocator<T>().allocate(count);
    void* const place = ::operator new(count * sizeof(T), kPage);
    system_calls::advise_huge_pages(place, count * sizeof(T));
    return static_cast<T*>(place);
  }
  static void deallocate(T* place, size_t count) {
    if (is_large(count)) {
      ::operator delete(static_cast<void*>(place), kPage);
    } else {
      std::allocator<T>().deallocate(place, count);
    }
  }

 private:
  static constexpr std::align_val_t kPage{size_t{2} << 20};
  static bool is_large(size_t count) { return count >= (size_t{4} << 20) / sizeof(T); }
};

// A Buffer on huge pages.
template <class T>
using HugePageBuffer = std::vector<T, HugePageAllocator<T>>;

}  // namespace glove
