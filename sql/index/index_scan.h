// Returns the rows of one xFilter call of a live index, one at a time, in the order that the planner
// promised.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "live/live_search.h"
#include "sql/adapter/connection.h"
#include "sql/index/content_rows.h"
#include "sql/index/index_definition.h"
#include "sql/nn/glove_nn_inputs.h"

namespace glove::sql {

// What the scans of one xFilter call share. All of it must outlive them.
struct IndexContext {
  Connection* connection;
  const IndexDefinition* index;
  ContentRows* rows;
  live::IndexState* state;
};

// Executes one setting of a FilterCall. Used by one thread at a time.
class IndexScan {
 public:
  // `call` must outlive the scan. REQUIRES: call.query_count() > 0.
  IndexScan(const IndexContext& context, const nn::FilterCall& call, size_t setting, SearchOptions options);

  // Moves to the first row and then to the next one. Returns false after the last row.
  Result<bool> next();

  // The current row. REQUIRES: the last next() returned true.
  const live::LiveNeighbor& row() const { return row_; }
  // Its rank; 0 if it is not known, which is so only if the statement does not read it.
  int64_t rank() const { return rank_; }
  const nn::Inputs& inputs() const { return inputs_; }

 private:
  // How the rows of each query are found.
  enum class Way {
    kNothing,  // there are none
    kIds,      // score only the requested rows
    kListed,   // compute all rows at once, for many queries together
    kRanked,   // compute rows on demand, in growing pieces
  };

  Way choose_way() const;
  int64_t limit() const;
  Status open_query();
  Status open_block();
  Status score_ids(const Query& query);
  Result<std::optional<Query>> resolve(const nn::Inputs& inputs);
  Result<std::optional<Query>> resolve_blob(const std::string& bytes) const;
  Result<std::optional<Query>> resolve_json(const std::string& text) const;
  Result<std::optional<Query>> query_of(std::vector<float> vector) const;
  Result<bool> fetch();
  void record(SearchReport report, const char* kind) const;

  IndexContext context_;
  const nn::FilterCall& call_;
  nn::Inputs inputs_;
  SearchOptions options_;
  Way way_;
  size_t next_query_ = 0;
  size_t block_start_ = 0;
  std::vector<std::vector<live::LiveNeighbor>> block_;  // kListed: block_[i] answers query block_start_ + i
  std::vector<live::LiveNeighbor> scored_;              // kIds
  std::optional<live::LiveRanking> ranking_;            // kRanked
  std::span<const live::LiveNeighbor> piece_;           // the next rows
  int64_t position_ = 0;                                // of piece_.front(), from 0
  bool more_pieces_ = false;
  live::LiveNeighbor row_{};
  int64_t rank_ = 0;
};

}  // namespace glove::sql
