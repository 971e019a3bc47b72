// A pool of objects that are expensive to create: each is lent to one thread at a time and then kept for the
// next.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"

namespace glove::gpu {

// T must have a default constructor and `Status create()`. Thread-safe. Grows to the largest number of
// objects lent at the same time.
template <class T>
class Pool {
 public:
  // Returns the object to the pool on destruction. REQUIRES: the pool outlives it.
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
      const Lock lock(mutex_);
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
    const Lock lock(mutex_);
    idle_.push_back(std::move(object));
  }

  Mutex mutex_;
  std::vector<std::unique_ptr<T>> idle_ GLOVE_GUARDED_BY(mutex_);
};

}  // namespace glove::gpu
