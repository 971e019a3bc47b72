// The codes of 8 bits of a part, a piece after the other, from memory or from a reader.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/require.h"
#include "base/status.h"
#include "cpu/search/part_chunks.h"
#include "model/quantize.h"
#include "search/part_reader.h"

namespace glove::cpu {

// Calls scan(chunk) for pieces of a part that have a row that is admissible (null: all are) and not excluded,
// in order: of kRowsPerPiece rows, or as many as the reader reads at a time. REQUIRES: the codes are in
// memory, or there is a reader. Errors: those of the reader, and of scan().
template <class Scan>
Status for_pieces_of(std::span<const ModelPart> parts, size_t number, PartReader* reader,
                     const RowMask* among, std::span<const int32_t> excluded, const Scan& scan) {
  constexpr int64_t kRowsPerPiece = kTileRows << 10;
  const ModelPart& part = parts[number];
  const CodeLevel& level = part.level(8);
  const bool is_read = level.codes.empty();
  GLOVE_REQUIRE(!is_read || reader != nullptr);
  const int64_t step = is_read ? reader->tiles_at_once(number) * kTileRows : kRowsPerPiece;
  for (int64_t first = 0; first < part.rows; first += step) {
    const int64_t last = std::min(part.rows, first + step);
    const PartChunks::Chunk rows{part, first, last};
    bool is_admissible = false;
    for_admissible_tiles(rows, among, excluded, [&](int64_t, int64_t) { is_admissible = true; });
    if (!is_admissible) continue;
    if (!is_read) {
      GLOVE_RETURN_IF_ERROR(scan(rows));
      continue;
    }
    GLOVE_ASSIGN_OR_RETURN(const auto codes, reader->read_tiles(number, first / kTileRows));
    const auto begin = static_cast<size_t>(first), count = static_cast<size_t>(last - first);
    ModelPart piece;
    piece.first_row = part.first_row + first;
    piece.rows = last - first;
    piece.dims = part.dims;
    CodeLevel& codes8 = piece.levels.emplace_back(
        CodeLevel{8, codes, level.scales.subspan(begin, count), level.residuals.subspan(begin, count)});
    if (!level.along.empty()) {
      codes8.along = level.along.subspan(begin, count);
      codes8.lengths = level.lengths.subspan(begin, count);
    }
    GLOVE_RETURN_IF_ERROR(scan(PartChunks::Chunk{piece, 0, piece.rows}));
  }
  return {};
}

}  // namespace glove::cpu
