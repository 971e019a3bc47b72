// The rows of one query that one thread has not been able to rule out, and the threshold that rules out the
// others.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "model/quantized_query.h"
#include "search/query.h"

namespace glove::cpu {

// A lower bound of the k-th best similarity, shared by the threads that search for one query.
class SharedThreshold {
 public:
  float value() const { return value_.load(std::memory_order_relaxed); }
  void raise(float threshold) {
    float seen = value();
    while (seen < threshold && !value_.compare_exchange_weak(seen, threshold, std::memory_order_relaxed)) {
    }
  }

 private:
  std::atomic<float> value_{-std::numeric_limits<float>::infinity()};
};

// Returns the largest float that is not above the value.
inline float round_down_to_float(double value) {
  const float rounded = static_cast<float>(value);
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  return static_cast<double>(rounded) > value ? std::nextafter(rounded, kLowest) : rounded;
}

// Returns the k-th largest value, or minus infinity if there are fewer. Reorders the values.
float kth_largest(std::vector<float>& values, int64_t k);

// The k best lower bounds that the threads which search for one query have found, and the threshold that
// they make. Thread-safe.
class SharedBounds {
 public:
  explicit SharedBounds(int64_t k) : k_(static_cast<size_t>(k)) {}

  int64_t k() const { return static_cast<int64_t>(k_); }
  // Others may raise it too.
  SharedThreshold& threshold() { return threshold_; }
  const SharedThreshold& threshold() const { return threshold_; }

  // Adds the lower bounds of other rows than before. Those that cannot raise the threshold, and NaN, are
  // omitted.
  void offer(std::span<const float> lower_bounds);

  // Forgets the lower bounds; the threshold stays. REQUIRES: nobody else uses it.
  void clear() GLOVE_NOT_CHECKED { lower_bounds_.clear(); }

  // Returns the k (or fewer) best that were not omitted, in any order. REQUIRES: nobody offers any more.
  std::span<const float> lower_bounds() const GLOVE_NOT_CHECKED { return lower_bounds_; }

 private:
  const size_t k_;
  SharedThreshold threshold_;
  Mutex mutex_;
  std::vector<float> lower_bounds_ GLOVE_GUARDED_BY(mutex_);  // a min-heap of at most k elements
};

// The codes of 16 bits of a batch's query, which bound the rows that those of 8 bits leave. Any thread may
// use it.
struct FineQuery {
  const Model& model;
  QuantizedQuery codes;

  // Replaces the estimate of a row's score and its error, unless its codes are not in memory.
  void bound(int32_t id, float& estimate, float& error) const;
};

// Used by one thread at a time. Memory: about twice the candidates that remain.
class Collector {
 public:
  // A row that may belong to the answer, with the upper bound of its similarity.
  struct Candidate {
    int32_t id;
    float upper;
  };

  // excluded: ids that the answer omits, ascending. among: those that it may have, or null for all. ids:
  // those of the rows that are offered; empty if a row's number is its id. fine: null if the rows keep the
  // bounds that they are offered with. All must outlive the collector.
  Collector(std::span<const int32_t> excluded, const RowMask* among, SharedBounds& shared,
            std::span<const int32_t> ids = {}, const FineQuery* fine = nullptr)
      : excluded_(excluded),
        among_(among),
        ids_(ids),
        fine_(fine),
        shared_(&shared),
        shared_at_once_(static_cast<size_t>(std::clamp<int64_t>(shared.k() / 32, 1, 64))) {}

  // A row whose upper bound is below this is certainly outside the top k.
  float threshold() const { return threshold_; }

  // Adopts the threshold that other threads have found.
  void refresh() {
    if (const float shared = shared_->threshold().value(); shared > threshold_) threshold_ = shared;
  }

  // Adds a row that the threshold does not rule out. A row with an infinite error is a zero row and is
  // ignored.
  void offer(int32_t row, float estimate, float error);

  // Returns the lower bounds that SharedBounds does not have yet.
  std::span<const float> unshared() const { return unshared_; }
  std::span<const Candidate> candidates() const { return candidates_; }

 private:
  void drop_ruled_out_candidates();

  std::span<const int32_t> excluded_;
  const RowMask* among_;
  std::span<const int32_t> ids_;
  const FineQuery* fine_;
  SharedBounds* shared_;
  float threshold_ = -std::numeric_limits<float>::infinity();
  size_t shared_at_once_;  // lower bounds, so that threads do not wait for each other where k is large
  std::vector<float> unshared_;
  std::vector<Candidate> candidates_;
  size_t drop_at_ = 1024;  // the number of candidates at which those below the threshold are dropped
};

// Returns the rows of one query that these collectors hold and that the threshold of all their lower bounds,
// with these others, leaves: with upper bounds in place of the similarities, in any order. REQUIRES: nobody
// offers any more.
std::vector<Neighbor> rows_left(const SharedBounds& shared, std::span<const Collector* const> collectors,
                                std::vector<float> lower_bounds = {});

}  // namespace glove::cpu
