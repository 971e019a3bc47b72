// A search on the CPU: scans the codes of all rows for a batch of queries, on several threads.
#pragma once

#include <span>

#include "cpu/kernels/kernels.h"
#include "model/model.h"
#include "search/query.h"
#include "search/searcher.h"

namespace glove::cpu {

// How and where to work. References outlive the call.
struct ScanContext {
  const Kernels& kernels;
  const Model& model;
  int threads;        // at most, the calling one included
  int scan_bits = 0;  // CpuBackendOptions::scan_bits
};

// Searcher::search.
Status search(const ScanContext& context, std::span<SearchRequest> requests);

// Searcher::score_all.
Status score_all(const ScanContext& context, const Query& query, std::span<double> dots,
                 const InterruptCheck& interrupted, ScanCost& cost);

// Fetches the beginning of a row's vector from memory.
void fetch_row(const Model& model, int64_t id);

// Sets each row's exact similarity: kNoSimilarity for a zero row. Fetches the vectors ahead, so ids in
// ascending order are fastest. `wide` is widen(query.vector).
void score_rows(const ScanContext& context, const Query& query, const double* wide, std::span<Neighbor> rows);

}  // namespace glove::cpu
