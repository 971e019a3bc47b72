// How the warps of a device share the triangle of a second moment.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace glove::gpu {

// A warp computes the sums of y_i * y_j of a tile: kGramTile components i by as many components j. It reads
// them from a buffer that holds kGramRows rows at a time.
constexpr int kGramTile = 32;
constexpr int kGramRows = 8;
constexpr int kLaneProducts = kGramTile * kGramTile / 32;
constexpr int kMostGramWidth = 320;  // values per row of the buffer
constexpr int kMostGramWarps = 16;
// A thread brings this many values to the buffer, so a buffer of `width` values per row needs at least
// kGramRows * width / kMostGramLoads threads.
constexpr int kMostGramLoads = 6;

struct GramTile {
  int16_t left = -1;   // where its components i begin in a row of the buffer; -1: no tile
  int16_t right = -1;  // where its components j begin
};

// The tiles of one block of threads, which read the same panels of components. A row of the buffer holds the
// left panel and, if there is more than one panel, the right one behind it.
struct GramGroup {
  int32_t left;   // the first component of the left panel
  int32_t right;  // the same of the right panel
};

// Every pair of components is in some tile, once or twice.
struct GramPlan {
  int32_t warps = 0;  // per group
  int32_t panel = 0;  // components per panel, a multiple of kGramTile; those past `dims` do not count
  int32_t width = 0;  // values per row of the buffer
  std::vector<GramGroup> groups;
  std::vector<GramTile> tiles;  // [groups, warps]

  // Sums of all warps.
  int64_t size() const { return static_cast<int64_t>(tiles.size()) * kGramTile * kGramTile; }
};
GramPlan plan_gram(int64_t dims);

// Which pair of a tile's components a lane has as its sum number k: each is the number of a component in the
// tile.
struct GramPair {
  int32_t left;
  int32_t right;
};
constexpr GramPair gram_pair(int32_t k, int32_t lane) {
  return {k / 16 * 16 + k % 4 / 2 * 8 + lane / 4, k % 16 / 4 * 8 + lane % 4 * 2 + k % 2};
}

// Puts the sums into both triangles of the matrix.
//   sums    [groups, warps, kLaneProducts, 32 lanes]: of pairs as gram_pair() says
//   moment  [dims, dims]
void unfold_gram(const GramPlan& plan, std::span<const double> sums, int64_t dims, std::span<double> moment);

}  // namespace glove::gpu
