#include "gpu/layout/plane_tiles.h"

#include <array>
#include <cstring>

#include "model/quantize.h"

namespace glove::gpu {

std::vector<uint32_t> plane_tiles(const PlaneLevel& planes, int64_t rows, int64_t dims) {
  constexpr auto kBoundBytes = kPlaneBounds * static_cast<int64_t>(sizeof(uint16_t));
  const int64_t words = plane_row_words(dims);
  const int64_t bytes = plane_row_bytes(dims);
  std::vector<uint32_t> tiles(static_cast<size_t>(plane_words(rows, dims)));
  std::vector<uint8_t> row(static_cast<size_t>(words * 4));
  for (int64_t position = 0; position < tile_count(rows) * kTileRows; ++position) {
    const int64_t in_tile = position % kTileRows;
    const int64_t tile = position / kTileRows;
    const uint8_t* const codes = planes.plane1.data() + tile * kTileRows * bytes;
    int64_t byte = 0;
    for (; byte + kPlaneWordBytes <= bytes; byte += kPlaneWordBytes)
      std::memcpy(row.data() + byte, codes + byte * kTileRows + in_tile * kPlaneWordBytes, kPlaneWordBytes);
    for (; byte < bytes; ++byte) row[static_cast<size_t>(byte)] = codes[byte * kTileRows + in_tile];
    std::array<uint16_t, kPlaneBounds> bound;
    for (int64_t i = 0; i < kPlaneBounds; ++i)
      bound[static_cast<size_t>(i)] =
          planes.bounds1[static_cast<size_t>((tile * kPlaneBounds + i) * kTileRows + in_tile)];
    std::memcpy(row.data() + words * 4 - kBoundBytes, bound.data(), kBoundBytes);
    uint32_t* const to = tiles.data() + tile * kTileRows * words;
    for (int64_t word = 0; word < words; ++word)
      std::memcpy(to + plane_word_index(in_tile, word, dims), row.data() + word * 4, 4);
  }
  return tiles;
}

ListedTiles tiles_of_lists(std::span<const int64_t> offsets) {
  ListedTiles listed;
  listed.tiles.resize(static_cast<size_t>(tile_count(offsets.back())));
  int64_t numbered = 0;  // tiles whose first position has its list
  for (size_t list = 0; list + 1 < offsets.size(); ++list) {
    const int64_t first = offsets[list];
    if (first == offsets[list + 1]) continue;
    const auto number = static_cast<int32_t>(listed.lists.size());
    listed.lists.push_back(static_cast<int64_t>(list));
    if (first % kTileRows != 0)
      listed.tiles[static_cast<size_t>(first / kTileRows)].starts |= 1u << (first % kTileRows);
    for (; numbered * kTileRows < offsets[list + 1]; ++numbered)
      listed.tiles[static_cast<size_t>(numbered)].first = number;
  }
  return listed;
}

}  // namespace glove::gpu
