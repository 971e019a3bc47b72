// A query's whole relation, computed only as far as it is read.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "search/nearest.h"

namespace glove {

// The rows that a query ranks: those of a model or of a live index. Exact. One thread at a time.
class RankedRelation {
 public:
  virtual ~RankedRelation() = default;

  // Returns a number that the number of rows does not exceed.
  virtual int64_t most_rows() const = 0;
  // True when all_rows() is cheaper than nearest().
  virtual bool wants_full_pass(int64_t k) const = 0;
  // As the functions of search/nearest.h.
  virtual Result<Answers> nearest(std::span<const Query> queries, int64_t k, const SearchOptions& options,
                                  SearchReport& report) = 0;
  virtual Result<OrderedRows> all_rows(const Query& query, const SearchOptions& options,
                                       SearchReport& report) = 0;
  // Returns only the rows with these ids that are in the relation, in any order.
  virtual Result<std::vector<Neighbor>> score(const Query& query, std::span<const int64_t> ids,
                                              const InterruptCheck& interrupted) = 0;
  // Returns the audits of its approximate searches; nullptr if all are exact.
  virtual RecallAudit* audit() = 0;
};

// Returns relation.nearest(), exact if audits have shown that the relation does not keep its recall. Answers
// one in so many approximate queries of the process, as the setting "audits" says, exactly as well, for the
// relation's audits; the report knows nothing of that. `name` is the relation's in the log.
Result<Answers> nearest_with_audits(Engine& engine, RankedRelation& relation, std::string_view name,
                                    std::span<const Query> queries, int64_t k, const SearchOptions& options,
                                    SearchReport& report);

// The words of a model.
class ModelRelation final : public RankedRelation {
 public:
  // `among` is the mask of its queries, or null.
  explicit ModelRelation(ModelSearchersPtr searchers, RowMaskPtr among = nullptr)
      : searchers_(std::move(searchers)), among_(std::move(among)) {}

  int64_t most_rows() const override {
    return among_ == nullptr ? searchers_->model()->words() : among_->count();
  }
  bool wants_full_pass(int64_t k) const override { return glove::wants_full_pass(*searchers_->model(), k); }
  Result<Answers> nearest(std::span<const Query> queries, int64_t k, const SearchOptions& options,
                          SearchReport& report) override {
    return glove::nearest(*searchers_, queries, k, options, report);
  }
  Result<OrderedRows> all_rows(const Query& query, const SearchOptions& options,
                               SearchReport& report) override {
    return glove::all_rows(*searchers_, query, options, report);
  }
  Result<std::vector<Neighbor>> score(const Query& query, std::span<const int64_t> ids,
                                      const InterruptCheck& interrupted) override {
    return score_words(*searchers_->model(), query, ids, interrupted);
  }
  RecallAudit* audit() override { return &searchers_->audit(); }

 private:
  ModelSearchersPtr searchers_;
  RowMaskPtr among_;
};

// A query's relation, best first, computed in growing pieces as rows are requested: searches for the nearest
// rows, each for eight times as many as the previous one, then one pass over all rows that is sorted only as
// far as it is read. One thread at a time may use it.
class Ranking {
 public:
  // `first_piece`: how many rows to compute first (a hint such as LIMIT + OFFSET; 0 = a default). `limit`:
  // rows beyond it are never computed (k); -1 = no limit. `labels`: what the report says besides the cost.
  // The relation must outlive the ranking.
  Ranking(RankedRelation& relation, Query query, SearchOptions options, int64_t first_piece, int64_t limit,
          SearchReport labels = {});

  // Returns the computed rows from `position` (0-based; rank = position + 1) on: at least one, or none past
  // the end. Valid until the next call. After an error the same rows may be requested again.
  Result<std::span<const Neighbor>> rows_from(int64_t position);

  // Returns the total cost of all pieces; k is the number of rows that were requested from the backend.
  const SearchReport& report() const { return report_; }

 private:
  Status compute_through(int64_t position);
  std::span<const Neighbor> ready() const;

  RankedRelation& relation_;
  Query query_;
  SearchOptions options_;
  int64_t next_piece_;
  int64_t limit_;
  bool complete_ = false;           // no rows follow those that are ready
  std::vector<Neighbor> rows_;      // from the first pieces
  std::optional<OrderedRows> all_;  // replaces rows_ once it is set
  SearchReport report_;
};

}  // namespace glove
