// Many queries on a CUDA device: packs them, launches the kernels of each round, and reads the answers.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "gpu/device/cuda_memory.h"
#include "gpu/device/device.h"
#include "gpu/kernels/batch_scan.h"
#include "gpu/layout/block_layout.h"
#include "gpu/layout/plan.h"

namespace glove::gpu {

// A stream and its scratch memory, lent to one thread at a time. Allocates only when a batch is larger than
// every earlier one.
class BatchSearch {
 public:
  Status create();

  // Device::propose. Appends to `again` the positions of the requests whose list overflowed, so that their
  // rows are missing. REQUIRES: plan == plan_batch(...) for this model, and it is worthwhile.
  Status run(const DevicePart& part, const DeviceShape& shape, const BatchPlan& plan,
             std::span<SearchRequest> requests, int64_t top_rows, const InterruptCheck& interrupted,
             std::vector<size_t>& again);

 private:
  struct Layout;
  Status round(const DevicePart& part, const DeviceShape& shape, const BatchPlan& plan,
               std::span<SearchRequest> requests, int64_t top_rows, const InterruptCheck& interrupted);
  void take_answer(size_t position, bool with_similarities, SearchRequest& request) const;
  Status describe(const DevicePart& part, const Layout& layout, const BatchPlan& plan, int64_t top_rows);
  template <class T>
  std::remove_const_t<T>* staged(T* on_device) const;
  void pack(const Layout& layout, std::span<const SearchRequest> requests);
  Status launch(const Layout& layout, const DeviceShape& shape);

  Stream stream_;
  Event events_[4];
  DeviceArray<std::byte> device_;
  PinnedArray<std::byte> staging_;
  PinnedArray<std::byte> answer_;
  BatchScanParams scan_ = {};
  AnswerArrays answers_ = {};  // in answer_
};

}  // namespace glove::gpu
