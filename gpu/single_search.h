// One query on a CUDA device: packing, one launch, and waiting for the answer in mapped memory.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/cuda_memory.h"
#include "gpu/device.h"
#include "gpu/kernels/single_scan.h"

namespace glove::gpu {

// A stream and its scratch memory. Lent to one thread at a time; several work side by side. Allocates only
// when a model or an answer is larger than any before.
class SingleSearch {
 public:
  Status create();

  // Device::propose for one request. `reversed`: which end of the model to scan first.
  Status run(const DevicePart& part, const ScanShape& shape, int64_t top_rows, bool reversed,
             const InterruptCheck& interrupted, SearchRequest& request);

  // Bytes that a scan of this model reads.
  static int64_t bytes_read(const DevicePart& part);

 private:
  Status reserve(const DevicePart& part, const ScanShape& shape, int64_t capacity);
  Status pack(const DevicePart& part, const Query& query, SingleScanParams& scan);
  double* similarities() const { return answer_.as<double>(); }
  int32_t* ids() const { return answer_.as<int32_t>(capacity_ * 8); }
  void take_answer(int64_t rows, bool with_similarities, std::vector<Neighbor>& to);
  void clear_answer(int64_t rows);
  static int64_t answer_rows(const SingleScanParams& scan, uint32_t candidates);
  bool arrived(const SingleScanParams& scan);
  Status wait(const SingleScanParams& scan, const InterruptCheck& interrupted);
  Result<uint32_t> launch(const DevicePart& part, const ScanShape& shape, SingleScanParams& scan, bool ranked,
                          const InterruptCheck& interrupted);

  Stream stream_;
  DeviceMemory counters_;  // two ScanCounters, used in turn
  DeviceMemory row_upper_;
  DeviceMemory long_query_;
  PinnedMemory long_query_staging_;
  PinnedMemory done_;
  DeviceMemory collected_;  // candidates that are to be ranked: similarities, then numbers of rows
  PinnedMemory answer_;     // [capacity_] similarities, then [capacity_] numbers of rows
  int64_t capacity_ = 0;
  int64_t rows_seen_ = 0;  // of the answer that is coming in
  uint32_t sequence_ = 0;
};

}  // namespace glove::gpu
