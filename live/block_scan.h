// Searches a live index whose codes are not all in memory, block by block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/status.h"
#include "live/live_search.h"
#include "search/nearest.h"

namespace glove::live {

// Returns what candidates_of() would return for the segments of the set, in the same order, but with the rows
// that only the bounds of other blocks rule out. Only the CPU searches. All queries have the same mask. With
// `omitted`, a bit for each segment, as if the set had not those.
// REQUIRES: there is a query, and k >= 1. Fills in the report as candidates_of() does. Returns nullopt if the
// running statement has removed a segment. Errors: those of `source`, or an interrupt.
Result<std::optional<Answers>> candidates_by_blocks(const PartSet& set, std::span<const int64_t> segment_ids,
                                                    CodeSource& source, std::span<const Query> queries,
                                                    int64_t k, const SearchOptions& options,
                                                    SearchReport& report,
                                                    const std::vector<bool>& omitted = {});

}  // namespace glove::live
