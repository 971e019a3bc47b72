// The rows of one query that one thread has not been able to rule out, and the threshold that rules
// out the others.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

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

// Used by one thread at a time. Memory: k floats and about twice the candidates that remain.
class Collector {
 public:
  // A row that may belong to the answer, with the upper bound of its similarity.
  struct Candidate {
    int32_t id;
    float upper;
  };

  // k: rows wanted, at least 1. excluded: ids that the answer leaves out, ascending. Both `excluded` and
  // `shared` outlive the collector.
  Collector(int64_t k, std::span<const int32_t> excluded, SharedThreshold& shared)
      : k_(static_cast<size_t>(k)), excluded_(excluded), shared_(&shared) {}

  // A row whose upper bound is below this is certainly outside the top k.
  float threshold() const { return threshold_; }

  // Takes over what other threads have found out.
  void refresh() {
    if (const float shared = shared_->value(); shared > threshold_) threshold_ = shared;
  }

  // A row that the threshold did not rule out. A row with an infinite error is a zero row and no candidate.
  void offer(int32_t id, float estimate, float error);

  // offer() for those of `count` rows from first_id on that the threshold does not rule out.
  void offer_rows(int32_t first_id, const float* estimates, const float* errors, int count);

  // The k (or fewer) best lower bounds of the rows offered, in any order.
  std::span<const float> lower_bounds() const { return lower_bounds_; }
  std::span<const Candidate> candidates() const { return candidates_; }

 private:
  void drop_hopeless_candidates();

  size_t k_;
  std::span<const int32_t> excluded_;
  SharedThreshold* shared_;
  float threshold_ = -std::numeric_limits<float>::infinity();
  std::vector<float> lower_bounds_;  // a min-heap of at most k
  std::vector<Candidate> candidates_;
  size_t drop_at_ = 1024;  // candidates_.size() at which the hopeless ones are dropped
};

}  // namespace glove::cpu
