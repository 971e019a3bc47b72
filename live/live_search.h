// Searches a live index: its segments, without the rows that were deleted or changed since, and the changed
// rows as the user's table has them now. Exact, like search/nearest.h.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"
#include "live/part_set.h"
#include "search/candidates.h"
#include "search/ranking.h"

namespace glove::live {

// Receives a row with its vector. An error ends the reading.
using UseRow = std::function<Status(int64_t id, std::span<const float> vector)>;

struct IndexState;

// Reads the vectors of the user's table as the running statement sees it. A row has a vector if it is in the
// table and is neither NULL nor of other dimensions than the index, nor has a NaN or an infinity. One thread
// at a time.
class RowSource {
 public:
  virtual ~RowSource() = default;
  // Leaves the vector of a row in `vector`. Returns false if it has none.
  virtual Result<bool> read(int64_t id, std::vector<float>& vector) = 0;
  // The same for a row of the state's parts that is not hidden.
  virtual Result<bool> read_indexed(const IndexState& state, int32_t row, std::vector<float>& vector) = 0;
  // Passes every row that has a vector, in any order.
  virtual Status read_all(const UseRow& use) = 0;
};

// The logged rows that are in the relation.
struct ChangedRows {
  std::vector<int64_t> ids;
  std::vector<float> vectors;         // [ids.size(), dims]
  std::vector<double> norms_squared;  // [ids.size()], D(x, x) > 0
};

// What a statement sees of an index. The statement's transaction decides, so it does not outlive it.
struct IndexState {
  int64_t dims = 0;                            // 0: the index has never had a row
  PartSetPtr parts;                            // null: there are no segments
  std::vector<int64_t> segment_ids;            // by which the RowSource knows the segments of the parts
  std::vector<int32_t> hidden;                 // rows of the parts that must not be returned, ascending
  std::shared_ptr<const ChangedRows> changed;  // never null in a state that is searched
};

// Makes a row of the parts hidden, because the user's table no longer has it.
void hide_row(IndexState& state, int32_t row);

// The rows that a statement admits.
struct Admissible {
  KeySetPtr keys;   // null: all rows, and there is no mask
  RowMaskPtr rows;  // of the parts; null if there are none

  bool all() const { return keys == nullptr; }
  bool has(int64_t id) const { return all() || keys->contains(id); }
};

// The relation of a statement. The source must outlive it.
class LiveRelation final : public RankedRelation {
 public:
  LiveRelation(IndexState state, RowSource& source, Admissible among = {})
      : state_(std::move(state)), source_(source), among_(std::move(among)) {}

  // Without a set of admissible rows there is no limit: only a pass over the user's table counts the rows.
  int64_t most_rows() const override {
    return among_.all() ? std::numeric_limits<int64_t>::max() : among_.keys->size();
  }
  bool wants_full_pass(int64_t k) const override;
  // A row of a segment that the user's table lacks is hidden from now on. REQUIRES: the queries have no
  // excluded rows.
  Result<Answers> nearest(std::span<const Query> queries, int64_t k, const SearchOptions& options,
                          SearchReport& report) override;
  Result<OrderedRows> all_rows(const Query& query, const SearchOptions& options,
                               SearchReport& report) override;
  Result<std::vector<Neighbor>> score(const Query& query, std::span<const int64_t> ids,
                                      const InterruptCheck& interrupted) override;

 private:
  bool reads_by_id() const;
  template <class Use>
  Status read_admissible(const InterruptCheck& interrupted, const Use& use);
  template <class Use>
  Status score_table(std::span<const Query> queries, const SearchOptions& options, SearchReport& report,
                     Use&& use);
  Result<Answers> best_of_table(std::span<const Query> queries, int64_t k, const SearchOptions& options,
                                SearchReport& report);
  Result<bool> score_candidates(const Query& query, std::span<const Neighbor> candidates, BestRows& best);
  Status scan_segments(std::span<const Query> queries, int64_t k, const SearchOptions& options,
                       SearchReport& report, Answers& answers, std::vector<size_t>& left);

  IndexState state_;
  RowSource& source_;
  Admissible among_;
};

}  // namespace glove::live
