// A scan by codes of 8 bits, for one query or a batch.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "cpu/kernels/collector.h"
#include "cpu/kernels/kernels.h"
#include "cpu/search/part_chunks.h"
#include "cpu/search/scan.h"
#include "search/copied_codes.h"
#include "search/searcher.h"

namespace glove::cpu {

// The rows that requests with the same mask have not ruled out, and their thresholds. References outlive it.
class CodeScan {
 public:
  // `copy` has the codes of the admissible rows, or of the longest ones, and is scanned in place of the
  // model's; null: there is none.
  CodeScan(const ScanContext& context, std::span<const SearchRequest> requests,
           const CopiedCodes* copy = nullptr);

  // Makes the queries' codes. Must come before scan(). Errors: an interrupt.
  Status prepare(const InterruptCheck& interrupted);

  // Scans all rows, those in memory first, because they give the others a threshold. Errors: an interrupt,
  // and those of the requests' reader.
  Status scan_all(const InterruptCheck& interrupted);
  // Scans one part of the model. Prepares the queries if necessary.
  Status scan_part(size_t number, const InterruptCheck& interrupted);

  // Offers those rows of the chunk that may be in an answer. Any thread may call it, and collector(), with a
  // slot of its own, below the context's threads.
  void scan(int slot, const PartChunks::Chunk& chunk);
  // Receives the rows of a request that another level has left, with the newest threshold.
  Collector& collector(int slot, size_t request = 0);

  SharedBounds& bounds(size_t request = 0) { return bounds_[request]; }
  // Whether a request's answer is among the rows that were scanned, if those are the longest ones.
  bool is_complete(size_t request) const;
  // What was read.
  int64_t rows() const { return rows_; }
  int64_t bytes() const { return bytes_; }

  // The following REQUIRE that no other thread uses the object.

  // Returns the rows of one request that the threshold of all lower bounds, with these others, leaves, with
  // the upper bounds of their similarities.
  std::vector<Neighbor> candidates_of(size_t request, std::vector<float> lower_bounds = {}) const;

  // Forgets all rows; the thresholds stay.
  void forget();

 private:
  Status scan(std::span<const ModelPart> parts, const InterruptCheck& interrupted);
  // Whether a row of this length may reach the threshold of a request. REQUIRES: scores are inner products.
  bool may_reach(size_t request, double length) const;
  // Whether the rows of a chunk are so short that they are in no answer.
  bool are_too_short(const PartChunks::Chunk& chunk) const;
  std::vector<Collector>& collectors_of(int slot);
  // The mask of the rows that are scanned.
  const RowMask* among() const { return copy_ ? nullptr : requests_.front().query->among.get(); }

  const ScanContext& context_;
  const std::span<const SearchRequest> requests_;
  const CopiedCodes* const copy_;
  const ScanKernel& kernel_;
  const std::span<const int32_t> excluded_;  // the rows that all requests exclude, if these are the same
  std::vector<QuantizedQuery> queries_;
  std::vector<FineQuery> fine_;  // of a batch by kL2, or none
  std::vector<int8_t> packed_;
  std::deque<SharedBounds> bounds_;                 // [request]
  std::vector<std::vector<Collector>> collectors_;  // [slot][request], made when they are first used
  std::atomic<int64_t> rows_ = 0;
  std::atomic<int64_t> bytes_ = 0;
};

}  // namespace glove::cpu
