// How an approximate search knows the similarities of the rows that its estimates leave.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cpu/search/scan.h"
#include "search/searcher.h"

namespace glove::cpu {

// Used by one thread.
class ProbeScores {
 public:
  virtual ~ProbeScores() = default;

  // Fetches from memory what score() reads of a row.
  virtual void fetch(int64_t row) const = 0;

  // Sets the similarities of rows that the request admits, by which the search knows what its query is like:
  // kNoSimilarity for a zero row. No row may be scored twice. Errors are those of the request's source.
  virtual Status score(std::span<Neighbor> rows) = 0;

  // Returns the direction of a row that was scored, exactly or nearly so, in any length; nothing if the row
  // is not there any more. Errors are those of the request's source.
  virtual Result<std::vector<float>> direction(int64_t row) = 0;

  // Returns the greatest similarity of the first kMeasuredExcluded rows that the answer omits, if it omits
  // rows because the query is made of them; kNoSimilarity if there are none.
  virtual double nearest_excluded() const = 0;

  // Reads the rows that are in no lists, and returns the answer (SearchRequest::rows) from these and those
  // that were scored, of which `best` are the best, best first. Errors: an interrupt.
  virtual Result<std::vector<Neighbor>> finish(std::vector<Neighbor> best, const InterruptCheck& interrupted,
                                               ScanCost& cost) = 0;
};

// By vectors, which a model has, or by codes, of a live index. References outlive it.
std::unique_ptr<ProbeScores> make_probe_scores(const ScanContext& context, const SearchRequest& request);

}  // namespace glove::cpu
