// The last level of a search for one query, which decides about the rows that an earlier one leaves: vectors
// tell their similarities, and codes of 8 bits, of a model without vectors, bound them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cpu/search/code_scan.h"
#include "cpu/search/scan.h"
#include "search/candidates.h"
#include "search/searcher.h"

namespace glove::cpu {

// Any thread may call score() with a slot of its own, below the context's threads. References outlive it.
class LastLevel {
 public:
  LastLevel(const ScanContext& context, const SearchRequest& request);
  virtual ~LastLevel() = default;
  LastLevel(const LastLevel&) = delete;
  LastLevel& operator=(const LastLevel&) = delete;

  // A row whose upper bound is below this is certainly not in the answer.
  float threshold() const { return bounds_.threshold().value(); }

  // Scans by 8 bits for the same answer.
  CodeScan& codes() { return codes_; }

  // Fetches from memory what score() reads of a row.
  virtual void fetch(int64_t row) const = 0;

  // Sets the similarities of rows, exact or estimated (the same numbers on every machine): kNoScore for
  // a zero row. Keeps what the answer needs of them, and raises the threshold. No row may be scored twice, or
  // be excluded. Errors are those of the request's reader.
  virtual Status score(int slot, std::span<Neighbor> rows) = 0;

  // Returns the direction of a row that was scored, exactly or nearly so, in any length; nothing if the row
  // is not there any more. Errors are those of the request's reader.
  virtual Result<std::vector<float>> direction(int64_t row) = 0;

  // Returns the greatest similarity of the first kMeasuredExcluded rows that the answer omits, if it omits
  // rows because the query is made of them; kNoScore if there are none.
  virtual double nearest_excluded() const = 0;

  // The following REQUIRE that no other thread uses the object.

  // Forgets all rows; the threshold stays.
  virtual void forget() = 0;

  // Returns the answer (SearchRequest::rows). Errors: an interrupt.
  virtual Result<std::vector<Neighbor>> finish(const InterruptCheck& interrupted, ScanCost& cost) = 0;

 protected:
  const Query& query() const { return *request_.query; }

  const ScanContext& context_;
  const SearchRequest& request_;
  CodeScan codes_;
  SharedBounds& bounds_;
};

// Returns that of the model: its vectors, or its codes of 8 bits. References outlive it.
std::unique_ptr<LastLevel> make_last_level(const ScanContext& context, const SearchRequest& request);

// Sets each row's exact similarity: kNoScore for a zero row. Fetches the vectors ahead, so ids in
// ascending order are fastest. `wide` is widen(query.vector).
void score_rows(const ScanContext& context, const Query& query, const double* wide, std::span<Neighbor> rows);

// Sets the exact similarities of the rows of every request, and keeps the best k. Returns false if it was
// interrupted.
bool score_answers(const ScanContext& context, std::span<SearchRequest> requests,
                   const InterruptCheck& interrupted);

}  // namespace glove::cpu
