// What the steps of a search cost, as a number of bytes of codes that are read in order in the same time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "model/model.h"
#include "model/quantize.h"
#include "search/candidates.h"
#include "search/row_mask.h"

namespace glove::cpu {

// Scoring a row takes as long as reading its vector and this many bytes of codes, by measurement: its memory
// is not read in order.
constexpr int64_t kScoreBytes = 4096;

inline int64_t bytes_of_scores(int64_t scores, int64_t dims) {
  return scores * (kScoreBytes + dims * static_cast<int64_t>(sizeof(float)));
}

// What scoring rows costs. Without vectors it is bounding them by codes of 8 bits, which are spread over a
// tile.
inline int64_t cost_of_scores(const Model& model, int64_t rows) {
  return has_vectors(model) ? bytes_of_scores(rows, model.dims())
                            : rows * code_bytes(kTileRows, model.dims()) / 2;
}

// The rows that a scan by planes reads.
inline int64_t rows_in_lists(const Model& model) {
  int64_t rows = 0;
  for (const ModelPart& part : model.parts()) rows += part.planes == nullptr ? 0 : part.rows;
  return rows;
}

// The rows that a scan by 8 bits is expected to leave, by measurement on word vectors.
constexpr int64_t expected_candidates(int64_t k) {
  return k + k / 2;
}

// The bytes of a scan by 8 bits of this many rows: their codes, scales and residuals.
inline int64_t scan_bytes(int64_t rows, int64_t dims) {
  return code_bytes(rows, dims) + rows * 2 * static_cast<int64_t>(sizeof(float));
}

// The rows that a scan reads: those of the tiles that have an admissible row.
inline int64_t rows_to_scan(const Model& model, const RowMask* among) {
  return among == nullptr ? model.words() : among->rows_of_tiles();
}

// The rows whose codes count: of the tiles that it reads, a search tells only of the admissible rows.
inline int64_t answerable_rows(const Model& model, const RowMask* among) {
  return among == nullptr ? model.words() : among->count();
}

// Model rows per admissible row, at most 16: the factor for how many rows are read first for a threshold.
inline int64_t rows_per_answerable(const Model& model, const RowMask* among) {
  return std::clamp<int64_t>(model.words() / std::max<int64_t>(1, answerable_rows(model, among)), 1, 16);
}

}  // namespace glove::cpu
