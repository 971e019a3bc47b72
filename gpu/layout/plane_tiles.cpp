#include "gpu/layout/plane_tiles.h"

#include <array>
#include <cstring>

#include "model/quantize.h"

namespace glove::gpu {
namespace {

constexpr auto kBoundBytes = kPlaneBounds * static_cast<int64_t>(sizeof(uint16_t));

// Puts the bound of the row at a position in the six bytes before `end`.
void put_bound(std::span<const uint16_t> bounds, int64_t position, uint8_t* end) {
  std::array<uint16_t, kPlaneBounds> bound;
  for (int64_t i = 0; i < kPlaneBounds; ++i)
    bound[static_cast<size_t>(i)] = bounds[static_cast<size_t>(
        (position / kTileRows * kPlaneBounds + i) * kTileRows + position % kTileRows)];
  std::memcpy(end - kBoundBytes, bound.data(), kBoundBytes);
}

}  // namespace

RowsInLists rows_in_lists(const PlaneLevel& planes, int64_t first, int64_t count) {
  RowsInLists own;
  own.positions.reserve(static_cast<size_t>(count));
  own.rows.reserve(static_cast<size_t>(count));
  own.offsets.reserve(planes.offsets.size());
  int64_t position = 0;
  for (const int64_t offset : planes.offsets) {
    for (; position < offset; ++position) {
      const int64_t row = planes.rows[static_cast<size_t>(position)] - first;
      if (row < 0 || row >= count) continue;
      own.positions.push_back(static_cast<int32_t>(position));
      own.rows.push_back(static_cast<int32_t>(row));
    }
    own.offsets.push_back(std::ssize(own.rows));
  }
  return own;
}

std::vector<uint32_t> plane_tiles(const PlaneLevel& planes, std::span<const int32_t> positions,
                                  int64_t dims) {
  const int64_t words = plane_row_words(dims);
  const int64_t bytes = plane_row_bytes(dims);
  std::vector<uint32_t> tiles(
      static_cast<size_t>(tile_count(std::ssize(positions)) * plane_tile_words(dims)));
  std::vector<uint8_t> row(static_cast<size_t>(words * 4));
  int64_t place = 0;
  for (const int64_t position : positions) {
    const int64_t from = position % kTileRows;
    const uint8_t* const codes = planes.plane1.data() + position / kTileRows * kTileRows * bytes;
    int64_t byte = 0;
    for (; byte + kPlaneWordBytes <= bytes; byte += kPlaneWordBytes)
      std::memcpy(row.data() + byte, codes + byte * kTileRows + from * kPlaneWordBytes, kPlaneWordBytes);
    for (; byte < bytes; ++byte) row[static_cast<size_t>(byte)] = codes[byte * kTileRows + from];
    put_bound(planes.bounds1, position, row.data() + words * 4);
    uint32_t* const to = tiles.data() + place / kTileRows * plane_tile_words(dims);
    for (int64_t word = 0; word < words; ++word)
      std::memcpy(to + plane_word_index(place % kTileRows, word, dims), row.data() + word * 4, 4);
    ++place;
  }
  return tiles;
}

std::vector<uint32_t> sign_tiles(const PlaneLevel& planes, std::span<const int32_t> positions, int64_t dims) {
  const int64_t bits = sign_bits_of(planes.rotation, dims);
  std::vector<uint32_t> tiles(static_cast<size_t>(tile_count(std::ssize(positions)) * sign_tile_words(bits)));
  int64_t place = 0;
  for (const int64_t position : positions) {
    const int64_t in_tile = place % kTileRows;
    uint32_t* const to = tiles.data() + place / kTileRows * sign_tile_words(bits);
    ++place;
    for (int64_t word = 0; word < sign_words(bits); ++word)
      std::memcpy(to + sign_word_index(in_tile, word, bits),
                  planes.signs.data() + sign_place(position, word * kSignGroup, bits).byte, kSignWordBytes);
    put_bound(planes.sign_bounds, position,
              reinterpret_cast<uint8_t*>(to + sign_bound_index(in_tile, bits) + 2));
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
