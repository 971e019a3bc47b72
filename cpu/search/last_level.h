// The last level of a search for one query, which decides about the rows that an earlier one leaves: vectors
// tell their similarities, and codes of 8 bits, of a model without vectors, bound them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cpu/kernels/collector.h"
#include "cpu/kernels/kernels.h"
#include "cpu/search/part_chunks.h"
#include "cpu/search/scan.h"
#include "search/candidates.h"
#include "search/searcher.h"

namespace glove::cpu {

// Scans for one query by codes of 8 bits. Immutable; any thread may use it. References outlive it.
class Codes8 {
 public:
  Codes8(const ScanContext& context, const Query& query);

  // Offers those rows of the chunk that may be in the answer. Returns the bytes that it read.
  int64_t scan(const PartChunks::Chunk& chunk, Collector& collector) const;

 private:
  const ScanKernel& kernel_;
  const Query& query_;
  const QuantizedQuery codes_;
  std::vector<int8_t> packed_;
};

// Any thread may call score() and collector(), each with a slot of its own, below the context's threads.
// References outlive it.
class LastLevel {
 public:
  LastLevel(const ScanContext& context, const SearchRequest& request);
  virtual ~LastLevel() = default;
  LastLevel(const LastLevel&) = delete;
  LastLevel& operator=(const LastLevel&) = delete;

  // A row whose upper bound is below this is certainly not in the answer.
  float threshold() const { return bounds_.threshold().value(); }

  // Receives the rows of a scan by 8 bits, with the newest threshold.
  Collector& collector(int slot);

  // Fetches from memory what score() reads of a row.
  virtual void fetch(int64_t row) const = 0;

  // Sets the similarities of rows, exact or estimated (the same numbers on every machine): kNoSimilarity for
  // a zero row. Keeps what the answer needs of them, and raises the threshold. No row may be scored twice, or
  // be excluded. Errors are those of the request's reader.
  virtual Status score(int slot, std::span<Neighbor> rows) = 0;

  // Returns the direction of a row that was scored, exactly or nearly so, in any length; nothing if the row
  // is not there any more. Errors are those of the request's reader.
  virtual Result<std::vector<float>> direction(int64_t row) = 0;

  // Returns the greatest similarity of the first kMeasuredExcluded rows that the answer omits, if it omits
  // rows because the query is made of them; kNoSimilarity if there are none.
  virtual double nearest_excluded() const = 0;

  // The following REQUIRE that no other thread uses the object.

  // Forgets all rows; the threshold stays.
  virtual void forget();

  // Returns the answer (SearchRequest::rows). Errors: an interrupt.
  virtual Result<std::vector<Neighbor>> finish(const InterruptCheck& interrupted, ScanCost& cost) = 0;

 protected:
  // Returns the rows that the collectors hold and that the threshold of all lower bounds, with these others,
  // leaves.
  std::vector<Neighbor> collected(std::vector<float> lower_bounds) const;
  const Query& query() const { return *request_.query; }

  const ScanContext& context_;
  const SearchRequest& request_;
  SharedBounds bounds_;

 private:
  std::vector<std::vector<Collector>> collectors_;  // of each slot, at most one: made when it is first used
};

// Returns that of the model: its vectors, or its codes of 8 bits. References outlive it.
std::unique_ptr<LastLevel> make_last_level(const ScanContext& context, const SearchRequest& request);

// Sets each row's exact similarity: kNoSimilarity for a zero row. Fetches the vectors ahead, so ids in
// ascending order are fastest. `wide` is widen(query.vector).
void score_rows(const ScanContext& context, const Query& query, const double* wide, std::span<Neighbor> rows);

// Sets the exact similarities of the rows of every request, and keeps the best k. Returns false if it was
// interrupted.
bool score_answers(const ScanContext& context, std::span<SearchRequest> requests,
                   const InterruptCheck& interrupted);

}  // namespace glove::cpu
