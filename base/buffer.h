// A vector for elements that are about to be overwritten.
#pragma once

#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace glove {

// A std::vector whose resize() leaves new elements of arithmetic types uninitialised.
template <class T>
struct UninitializedAllocator : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = UninitializedAllocator<U>;
  };
  template <class U>
  void construct(U* place) {
    ::new (static_cast<void*>(place)) U;
  }
  template <class U, class... Arguments>
  void construct(U* place, Arguments&&... arguments) {
    ::new (static_cast<void*>(place)) U(std::forward<Arguments>(arguments)...);
  }
};
template <class T>
using Buffer = std::vector<T, UninitializedAllocator<T>>;

}  // namespace glove
