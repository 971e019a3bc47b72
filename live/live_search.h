// Searches a live index: its segments, without the rows that were deleted or changed since, and the changed
// rows as the user's table has them now. As exact as search/nearest.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"
#include "live/index_recall.h"
#include "live/segment.h"
#include "search/candidates.h"
#include "search/model_searchers.h"
#include "search/ranking.h"
#include "search/row_mask.h"

namespace glove::live {

// The segments of a live index as one model, whose rows a searcher can scan. Immutable; any thread may use
// it. The rows of the model are those of the segments, one segment after the other. The model has no vectors
// and no words.
class PartSet {
 public:
  // `recall` is the calibration of the lists of the segments; null if there is none. REQUIRES: there is a
  // segment, all have the same dimensions, and their rows together do not exceed kMaxRows. The engine must
  // outlive the object.
  PartSet(Engine& engine, std::vector<SegmentPtr> segments, IndexRecallPtr recall = {});

  const std::vector<SegmentPtr>& segments() const { return *segments_; }
  const IndexRecallPtr& recall() const { return recall_; }
  ModelSearchers& searchers() const { return *searchers_; }
  const Model& model() const { return *searchers_->model(); }

  // Returns the id of a row of the model. REQUIRES: the row exists.
  int64_t id_of(int32_t row) const;
  // Returns the position of its segment, and its row in it.
  std::pair<size_t, int64_t> place_of(int32_t row) const;

  // Whether the codes of some segment are not in memory. The searchers must not be used then.
  bool has_outlines() const;

  // Returns the row of the model that begins a segment.
  int64_t first_row(size_t segment) const { return model().parts()[segment].first_row; }

  // How many rows of the segments connections have found to be gone from the user's table, as far as one of
  // them knows.
  int64_t gone() const { return gone_; }
  void found_gone(int64_t rows) const {
    if (rows > gone_) gone_ = rows;
  }

 private:
  std::shared_ptr<const std::vector<SegmentPtr>> segments_;
  IndexRecallPtr recall_;
  ModelSearchersPtr searchers_;
  mutable std::atomic<int64_t> gone_ = 0;
};

// Shared by the connections of a process, so that each segment is open once on a backend.
using PartSetPtr = std::shared_ptr<const PartSet>;

// Returns the set of these segments, which somebody in the process may hold already. REQUIRES and lifetimes
// as for PartSet. Any thread may call it.
PartSetPtr share_part_set(Engine& engine, const std::vector<SegmentPtr>& segments,
                          const IndexRecallPtr& recall);

// Returns a set that somebody holds and that begins with these segments, or has no others; null if there is
// none.
PartSetPtr find_part_set(Engine& engine, const std::vector<SegmentPtr>& segments,
                         const IndexRecallPtr& recall, bool whole = false);

// Returns the rows of the set that have a key of `keys` as their id. Errors: an interrupt.
Result<RowMaskPtr> admissible_rows(const KeySet& keys, const PartSet& set, const InterruptCheck& interrupted);

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
  // Whether read() and read_all() take long, so that rows of the parts should be read by read_indexed().
  virtual bool is_slow() const { return false; }
};

// Reads the codes of segments whose outlines are in memory. One thread at a time.
class CodeSource {
 public:
  virtual ~CodeSource() = default;
  // Leaves the codes of a block of a segment in `codes`. `id` is as in IndexState::segment_ids. Returns false
  // if the running statement has removed the segment since it began; other codes than those of the outline
  // are an error. Fast if blocks are read in order.
  virtual Result<bool> read_codes(const Segment& segment, int64_t id, int64_t number,
                                  HugePageBuffer<char>& codes) = 0;
  // The same for plane one of blocks [first, last) of plane_block_tiles().
  virtual Result<bool> read_planes(const Segment& segment, int64_t id, int64_t first, int64_t last,
                                   HugePageBuffer<char>& bytes) = 0;
  // Must be called after the last block of a search (live/outline_reader.h does).
  virtual void end_reading() = 0;
  // The most bytes of codes that the process keeps.
  virtual Result<int64_t> most_bytes() = 0;
};

// Whether a row with this D(x, x) is in the relation: a zero row has no cosine.
inline bool is_in_relation(RowMetric metric, double norm_squared) {
  return metric == RowMetric::kCosine ? norm_squared > 0 : norm_squared >= 0;
}

// What a statement sees of an index. The statement's transaction decides, so it does not outlive it.
struct IndexState {
  int64_t dims = 0;  // 0: the index has never had a row
  RowMetric metric = RowMetric::kCosine;
  PartSetPtr parts;                  // null: there are no segments
  std::vector<int64_t> segment_ids;  // by which the RowSource knows those; 0: one of the log
  std::vector<int32_t> hidden;       // rows of the parts that must not be returned, ascending
  // The logged rows that are in the relation and in no segment. Never null in a state that is searched.
  std::shared_ptr<const LiveRows> changed;
  // The log, which differs between states unless both numbers are equal: one that each command changes, and
  // how often keys were logged since (-1: the log does not tell).
  int64_t log = 0;
  int64_t changes = 0;
  std::function<void(int32_t row)> found_gone;  // receives what hide_row() does; may be empty
};

// Makes a row of the parts hidden, because the user's table no longer has it.
void hide_row(IndexState& state, int32_t row);

// Names a segment of logged rows in messages.
constexpr const char* kLogSegment = "the log's rows";

// Puts a segment of logged rows behind the segments of the parts, and joins those of the log by the rule of
// live/merge_rule.h. `stored`: how many there are before those of the log. Returns the segments, and adjusts
// the state to them except for its parts.
Result<std::vector<SegmentPtr>> add_log_segment(IndexState& state, size_t stored, SegmentPtr segment);

// Returns the row of the parts that has this id and is not hidden; nullopt if there is none.
std::optional<int32_t> row_of(const IndexState& state, int64_t id);

// The rows that a statement admits.
struct Admissible {
  KeySetPtr keys;                                       // null: those with any key
  RowMaskPtr rows;                                      // of the parts; null: all, or there are none
  int64_t first = std::numeric_limits<int64_t>::min();  // the least id

  bool all() const { return keys == nullptr; }
  bool has(int64_t id) const { return id >= first && (all() || keys->contains(id)); }
};

// Returns those of the admissible rows that have at least this id.
Admissible from_id(const Admissible& among, int64_t id, const IndexState& state);

// The relation of a statement. The sources must outlive it.
class LiveRelation final : public RankedRelation {
 public:
  LiveRelation(IndexState state, RowSource& source, CodeSource& codes, Admissible among = {})
      : state_(std::move(state)),
        source_(source),
        codes_(codes),
        all_among_(std::move(among)),
        among_(all_among_) {}

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
  // Leaves the vector of a row in `vector`. Returns false if it has none.
  Result<bool> read(int64_t id, std::vector<float>& vector);
  // From now on, the relation has only the admissible rows from this id on.
  void begin_at(int64_t id) { among_ = from_id(all_among_, id, state_); }
  RecallAudit* audit() override {
    return state_.parts == nullptr || state_.parts->recall() == nullptr ? nullptr
                                                                        : &state_.parts->recall()->audit();
  }

 private:
  bool reads_by_id() const;
  template <class Wanted, class Use>
  Status read_state(const Wanted& wanted, const InterruptCheck& interrupted, const Use& use);
  template <class Use>
  Status read_ids(std::span<const int64_t> ids, const InterruptCheck& interrupted, const Use& use);
  template <class Use>
  Status read_admissible(bool by_id, const InterruptCheck& interrupted, const Use& use);
  template <class Use>
  Status score_table(std::span<const Query> queries, const SearchOptions& options, SearchReport& report,
                     const std::function<void()>& begin, const Use& use);
  Result<Answers> best_of_table(std::span<const Query> queries, int64_t k, const SearchOptions& options,
                                SearchReport& report);
  Result<int64_t> score_candidates(const Query& query, std::span<const Neighbor> candidates, bool coarse,
                                   BestRows& best);
  Result<std::optional<Answers>> candidates(std::span<const Query> queries, int64_t k,
                                            const SearchOptions& options, SearchReport& report);
  Status scan_segments(std::span<const Query> queries, int64_t k, int64_t wanted,
                       const SearchOptions& options, SearchReport& report, Answers& answers,
                       std::vector<size_t>& left);

  IndexState state_;
  RowSource& source_;
  CodeSource& codes_;
  const Admissible all_among_;
  Admissible among_;  // from an id on
};

}  // namespace glove::live
