// How the threads of a device share the triangle of a second moment.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace glove::gpu {

// A thread computes the sums of y_i * y_j of a tile: kGramTile components i by as many components j. It reads
// them from a buffer that holds kGramRows rows at a time.
constexpr int kGramTile = 8;
constexpr int kGramRows = 8;
constexpr int kTileProducts = kGramTile * kGramTile;
constexpr int kMostGramWidth = 320;  // values per row of the buffer
constexpr int kMostGramThreads = 256;
// A thread brings this many values to the buffer, so a buffer of `width` values per row needs at least
// kGramRows * width / kMostGramLoads threads.
constexpr int kMostGramLoads = kGramRows * kMostGramWidth / kMostGramThreads;

// A tile: pairs of components, so that a thread reads two together, and threads that are neighbours read
// neighbours.
struct GramTile {
  int16_t left = -1;   // where its components i begin in a row of the buffer; -1: no tile
  int16_t right = -1;  // where its components j begin
};

// How far component k of a tile lies behind the tile's beginning. step: GramPlan::step().
constexpr int32_t gram_offset(int32_t k, int32_t step) {
  return k / 2 * 2 * step + k % 2;
}

// The tiles of one block of threads, which read the same panels of components. A row of the buffer holds the
// left panel and, if there is more than one panel, the right one behind it.
struct GramGroup {
  int32_t left;   // the first component of the left panel
  int32_t right;  // the same of the right panel
};

// Every pair of components is in some tile, once or twice.
struct GramPlan {
  int32_t threads = 0;  // per group
  int32_t panel = 0;    // components per panel, a multiple of kGramTile; those past `dims` count as 0
  int32_t width = 0;    // values per row of the buffer
  std::vector<GramGroup> groups;
  std::vector<GramTile> tiles;  // [groups, threads]

  int32_t step() const { return panel / kGramTile; }
  // Sums of all threads.
  int64_t size() const { return static_cast<int64_t>(tiles.size()) * kTileProducts; }
};
GramPlan plan_gram(int64_t dims);

// Puts the sums into both triangles of the matrix.
//   sums    [groups, kTileProducts, threads]: product k of a tile is of its components k / 8 and k % 8
//   moment  [dims, dims]
void unfold_gram(const GramPlan& plan, std::span<const double> sums, int64_t dims, std::span<double> moment);

}  // namespace glove::gpu
