// How a search reads a model: chosen once, by what the ways cost, as a number of bytes of codes that are read
// in order in the same time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "cpu/search/level.h"
#include "model/model.h"
#include "model/quantize.h"
#include "search/row_mask.h"
#include "search/searcher.h"

namespace glove::cpu {

// The most memory of a copy of rows.
constexpr int64_t kMostCopied = int64_t{64} << 20;

// What decides how exact requests with the same mask are answered.
struct PlanFacts {
  int64_t rows = 0;  // of the model
  int64_t dims = 0;
  int64_t queries = 1;
  int64_t k = 1;                 // the greatest of the queries'
  Level last = Level::kVectors;  // kCodes8: the model has no vectors
  bool has_codes4 = false;
  int64_t rows_in_lists = 0;  // 0: the model cannot be read by planes
  int64_t most_k = 0;         // for which those are expected to pay
  bool is_masked = false;     // by a mask of this model, whose codes are in memory
  int64_t admissible = 0;     // rows; without a mask all
  int64_t rows_of_tiles = 0;  // of the tiles that have an admissible row
};

// REQUIRES: there is a request, and the masks are the same.
PlanFacts facts_of(const Model& model, std::span<const SearchRequest> requests);

// The levels that a search reads, in turn.
struct SearchPlan {
  // Reads every row of the tiles that have an admissible row; kVectors: only the admissible rows.
  Level first = Level::kCodes8;
  // Decides about the rows that the first one leaves.
  Level last = Level::kVectors;
  // What a copy of the admissible rows' codes of 8 bits, to be read in place of the tiles, would save; 0: no
  // copy.
  int64_t copy_saves = 0;

  // Returns the levels in words, for glove_stats: "4 bits -> vectors". Static.
  std::string_view words() const;
};

// Returns the plan that promises to be fastest, or that begins with the level that a test forces.
SearchPlan plan_search(const PlanFacts& facts, FirstLevel forced = FirstLevel::kFastest);

// What scoring this many rows costs, by vectors or by codes of 8 bits, which are spread over a tile.
int64_t cost_of_scores(Level last, int64_t rows, int64_t dims);

// The bytes of a scan by 8 bits of this many rows: their codes, scales and residuals.
inline int64_t scan_bytes(int64_t rows, int64_t dims) {
  return code_bytes(rows, dims) + rows * 2 * static_cast<int64_t>(sizeof(float));
}

// How many fewer bytes than those of 8 bits the codes of a coarser level have that are read of every row.
int64_t bytes_saved(Level first, int64_t rows, int64_t dims);

// What copying the codes of the admissible rows costs.
int64_t cost_of_copying(const RowMask& among, int64_t dims);

// The admissible rows of a model.
inline int64_t answerable_rows(const Model& model, const RowMask* among) {
  return among == nullptr ? model.words() : among->count();
}

// Model rows per admissible row, at most 16: the factor for how many rows are read first for a threshold.
inline int64_t rows_per_answerable(const Model& model, const RowMask* among) {
  return std::clamp<int64_t>(model.words() / std::max<int64_t>(1, answerable_rows(model, among)), 1, 16);
}

}  // namespace glove::cpu
