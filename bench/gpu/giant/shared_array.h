// An array in memory that can be mapped several times in a row, as if it were longer than it is.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "base/status.h"

namespace glove::bench {

template <class T>
class SharedArray {
 public:
  SharedArray() = default;
  SharedArray(SharedArray&& other) noexcept
      : file_(std::exchange(other.file_, -1)), count_(other.count_), all_(std::move(other.all_)) {}
  SharedArray& operator=(SharedArray&& other) noexcept {
    std::swap(file_, other.file_);
    std::swap(count_, other.count_);
    std::swap(all_, other.all_);
    return *this;
  }
  ~SharedArray() {
    if (file_ >= 0) close(file_);
  }

  // REQUIRES: the array ends with a page.
  static Result<SharedArray> make(int64_t count) {
    SharedArray array;
    array.count_ = count;
    array.file_ = memfd_create("rows", MFD_CLOEXEC);
    if (array.file_ < 0 || ftruncate(array.file_, array.bytes()) != 0)
      return failed("reserving", array.bytes());
    GLOVE_ASSIGN_OR_RETURN(array.all_, array.map(1));
    return array;
  }

  // Returns the array `times` times one after another. The same memory is behind each.
  Result<std::shared_ptr<T>> map(int64_t times) const {
    const auto whole = static_cast<size_t>(bytes() * times);
    void* const start = mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) return failed("reserving", bytes() * times);
    std::shared_ptr<T> mapped(static_cast<T*>(start), [whole](T* data) { munmap(data, whole); });
    for (int64_t i = 0; i < times; ++i) {
      char* const place = static_cast<char*>(start) + i * bytes();
      if (mmap(place, static_cast<size_t>(bytes()), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_,
               0) == MAP_FAILED)
        return failed("mapping", bytes());
      madvise(place, static_cast<size_t>(bytes()), MADV_HUGEPAGE);  // fails where that is switched off
    }
    return mapped;
  }

  T* data() const { return all_.get(); }
  std::span<T> span() const { return {data(), static_cast<size_t>(count_)}; }
  int64_t count() const { return count_; }
  int64_t bytes() const { return count_ * static_cast<int64_t>(sizeof(T)); }

 private:
  static Error failed(const char* what, int64_t bytes) {
    return {ErrorCode::kOutOfMemory,
            std::string(what) + " " + std::to_string(bytes) +
                " bytes of memory failed: " + std::generic_category().message(errno)};
  }

  int file_ = -1;
  int64_t count_ = 0;
  std::shared_ptr<T> all_;
};

}  // namespace glove::bench
