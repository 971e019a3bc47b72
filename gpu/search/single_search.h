// One query on a CUDA device: packs it, launches one kernel, and waits for the answer in mapped memory.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/device/cuda_memory.h"
#include "gpu/device/device.h"
#include "gpu/kernels/single_scan.h"
#include "gpu/layout/plan.h"

namespace glove::gpu {

// A stream and its scratch memory, lent to one thread at a time; several can run concurrently. Allocates only
// when a model or an answer is larger than every earlier one.
class SingleSearch {
 public:
  Status create();

  // Device::propose for one request, as plan_single() says. `reversed` starts the scan at the last tile.
  // REQUIRES: single_scan_fits(); for 4 bits part.vectors, part.coarse and part.packed_rows.
  Status run(const DevicePart& part, const DeviceShape& shape, const SinglePlan& plan, int64_t top_rows,
             bool reversed, const InterruptCheck& interrupted, SearchRequest& request);

 private:
  Status reserve(const DevicePart& part, const DeviceShape& shape, int64_t capacity);
  Status pack(const DevicePart& part, const Query& query, SingleScanParams& scan);
  void take_answer(int64_t rows, std::vector<Neighbor>& to);
  void clear_answer(int64_t rows);
  static int64_t answer_rows(const SingleScanParams& scan, uint32_t candidates);
  bool arrived(const SingleScanParams& scan);
  Status wait(const SingleScanParams& scan, const InterruptCheck& interrupted);
  Result<uint32_t> launch(const DeviceShape& shape, int bits, SingleScanParams& scan, bool ranked,
                          const InterruptCheck& interrupted);

  Stream stream_;
  DeviceArray<ScanCounters> counters_;  // two, used alternately
  DeviceArray<uint16_t> row_upper_;
  DeviceArray<std::byte> long_query_;
  PinnedArray<std::byte> long_query_staging_;
  PinnedArray<ScanDone> done_;
  DeviceArray<double> collected_similarities_;  // of candidates to be ranked
  DeviceArray<int32_t> collected_ids_;
  PinnedArray<double> similarities_;  // of the answer, [capacity_]
  PinnedArray<int32_t> ids_;          // [capacity_]
  int64_t capacity_ = 0;
  int64_t rows_seen_ = 0;  // of the answer that is arriving
  uint32_t sequence_ = 0;
};

}  // namespace glove::gpu
