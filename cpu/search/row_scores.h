// Exact similarities of rows that are scattered in memory.
#pragma once

#include <span>

#include "cpu/search/scan.h"
#include "search/neighbor.h"
#include "search/query.h"

namespace glove::cpu {

// Sets each row's exact similarity: kNoSimilarity for a zero row. Fetches the vectors ahead, so ids in
// ascending order are fastest. `wide` is widen(query.vector).
void score_rows(const ScanContext& context, const Query& query, const double* wide, std::span<Neighbor> rows);

}  // namespace glove::cpu
