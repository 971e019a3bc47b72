// A search on the CPU: scans the codes of all rows for a batch of queries, on several threads.
#pragma once

#include <span>

#include "cpu/kernels/kernels.h"
#include "cpu/search/level.h"
#include "model/model.h"
#include "search/query.h"
#include "search/searcher.h"

namespace glove::cpu {

class LongestRows;

// How and where to work. References outlive the call.
struct ScanContext {
  const Kernels& kernels;
  const Model& model;
  int threads;  // at most, the calling one included
  FirstLevel forced = FirstLevel::kFastest;
  LongestRows* longest = nullptr;  // of the model; null: rows are searched in their own order
};

// Searcher::search.
Status search(const ScanContext& context, std::span<SearchRequest> requests);

// Searcher::score_all.
Status score_all(const ScanContext& context, const Query& query, std::span<double> dots,
                 const InterruptCheck& interrupted, ScanCost& cost);

}  // namespace glove::cpu
