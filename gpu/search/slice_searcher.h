// A searcher of a slice, seen as one of the rows of the larger model.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "search/searcher.h"

namespace glove::gpu {

// Translates between the ids of a model and those of its slice, which count from 0.
class SliceSearcher final : public Searcher {
 public:
  // slice: searches rows [first_row, first_row + rows) of the model.
  SliceSearcher(int64_t first_row, int64_t rows, std::shared_ptr<Searcher> slice)
      : first_row_(first_row), rows_(rows), slice_(std::move(slice)) {}

  Status search(std::span<SearchRequest> requests) override;
  // dots: one per row of the slice.
  Status score_all(const Query& query, std::span<double> dots, const InterruptCheck& interrupted,
                   ScanCost& cost) override {
    return slice_->score_all(query, dots, interrupted, cost);
  }
  SearcherInfo info() const override { return slice_->info(); }

 private:
  Query query_of_slice(const Query& query) const;

  const int64_t first_row_;
  const int64_t rows_;
  const std::shared_ptr<Searcher> slice_;
};

}  // namespace glove::gpu
