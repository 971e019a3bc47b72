// Encodes the rows of a new segment on the process's threads while the caller reads further rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "base/thread_pool.h"
#include "live/segment.h"

namespace glove::live {

// One thread at a time may use it. Its rows are complete only after finish(), and nobody else may use the
// builder in between.
class SegmentEncoder {
 public:
  // `builder`, which must outlive the object, gets the rows.
  explicit SegmentEncoder(SegmentBuilder& builder);

  // Appends a row. REQUIRES: as SegmentBuilder::add().
  void add(int64_t id, std::span<const float> vector, double norm_squared);

  // Waits until all rows are encoded.
  void finish();

 private:
  struct Batch {
    int64_t first_row = 0;
    LiveRows rows;
  };

  void hand_over();
  bool encode_next();

  SegmentBuilder& builder_;
  const size_t batch_rows_;
  std::unique_ptr<Batch> batch_;  // which the caller fills
  Mutex mutex_;
  std::deque<std::unique_ptr<Batch>> waiting_ GLOVE_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Batch>> spare_ GLOVE_GUARDED_BY(mutex_);  // keep their memory
  ThreadPool::Helpers helpers_;  // destroyed first, because the helpers use the other members
};

}  // namespace glove::live
