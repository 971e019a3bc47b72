// Objects that are expensive to make, lent to one thread at a time and kept for the next.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/status.h"

namespace glove::gpu {

// T has a default constructor and `Status create()`. Thread-safe. Grows to the largest number lent at once.
template <class T>
class Pool {
 public:
  // Gives the object back when it goes. REQUIRES: the pool outlives it.
  class Loan {
   public:
    Loan(Pool* pool, std::unique_ptr<T> object) : pool_(pool), object_(std::move(object)) {}
    Loan(Loan&&) noexcept = default;
    Loan& operator=(Loan&&) = delete;
    ~Loan() {
      if (object_) pool_->give_back(std::move(object_));
    }
    T* operator->() const { return object_.get(); }

   private:
    Pool* pool_;
    std::unique_ptr<T> object_;
  };

  Result<Loan> take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        Loan loan(this, std::move(idle_.back()));
        idle_.pop_back();
        return loan;
      }
    }
    auto made = std::make_unique<T>();
    GLOVE_RETURN_IF_ERROR(made->create());
    return Loan(this, std::move(made));
  }

 private:
  void give_back(std::unique_ptr<T> object) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(object));
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> idle_;
};

}  // namespace glove::gpu
