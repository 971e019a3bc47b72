// One query on a CUDA device: packs it, launches one kernel, and waits for the answer in mapped memory.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/device/cuda_memory.h"
#include "gpu/device/device.h"
#include "gpu/kernels/coarse_scan.h"

namespace glove::gpu {

// A stream and its scratch memory, lent to one thread at a time; several can run concurrently. Allocates only
// when a model or an answer is larger than every earlier one.
class SingleSearch {
 public:
  Status create();

  // Which codes of a part a search scans. kCoarse REQUIRES: part.vectors, part.coarse and part.packed_rows.
  enum class Scan { kFine, kCoarse };

  // Device::propose for one request. `reversed` starts the scan at the last tile.
  Status run(const DevicePart& part, const ScanShape& shape, Scan scan, int64_t top_rows, bool reversed,
             const InterruptCheck& interrupted, SearchRequest& request);

  // Returns the number of bytes that a scan of this model reads.
  static int64_t bytes_read(const DevicePart& part, Scan scan);

 private:
  Status reserve(const DevicePart& part, const ScanShape& shape, int64_t capacity);
  Status pack(const DevicePart& part, const Query& query, CoarseScanParams& params);
  void take_answer(int64_t rows, std::vector<Neighbor>& to);
  void clear_answer(int64_t rows);
  static int64_t answer_rows(const SingleScanParams& scan, uint32_t candidates);
  bool arrived(const SingleScanParams& scan);
  Status wait(const SingleScanParams& scan, const InterruptCheck& interrupted);
  Result<uint32_t> launch(const DevicePart& part, const ScanShape& shape, Scan codes,
                          CoarseScanParams& params, bool ranked, const InterruptCheck& interrupted);

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
