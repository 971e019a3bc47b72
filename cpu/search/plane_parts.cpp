#include "cpu/search/plane_parts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/thread_pool.h"
#include "cpu/kernels/wide_query.h"
#include "lists/planes.h"

namespace glove::cpu {
namespace {

// So many products of components take longer than another thread needs to wake up.
constexpr int64_t kProductsPerPiece = 1 << 17;

}  // namespace

PlaneQuery plane_query(const SplitQuery& query, const PlaneCodes& codes, std::span<const float> products,
                       int64_t dims) {
  const QuantizedQuery& high = query.high;
  return {codes, products, upper_line(high.bound, high.scale, high.code_sum, 3, dims),
          upper_line(high.bound, high.scale, high.code_sum, 15, dims),
          upper_line(query.whole, high.scale * 256, 256 * int64_t{high.code_sum} + query.low_sum, 15, dims)};
}

PlaneParts::PlaneParts(const ScanContext& context, const Query& query, const SplitQuery& split)
    : parts_(context.model.parts()), split_(split) {
  context.kernels.planes->pack(split, context.model.dims(), codes_);
  const std::vector<double> wide = widen(query.vector);
  const double inverse = 1 / std::sqrt(query.norm_squared);
  for (const ModelPart& part : parts_) {
    if (part.planes == nullptr) {
      products_.emplace_back();
      continue;
    }
    const auto has_same = [&part](const ModelPart& other) {
      return other.planes != nullptr && other.planes->centroids.data() == part.planes->centroids.data();
    };
    const auto same = std::ranges::find_if(parts_.first(products_.size()), has_same) - parts_.begin();
    if (same < std::ssize(products_)) {
      products_.push_back(products_[static_cast<size_t>(same)]);
      continue;
    }
    const float* const centroids = part.planes->centroids.data();
    std::vector<float>& products = products_.emplace_back(static_cast<size_t>(part.planes->lists()));
    const auto multiply = [&](int, int64_t first, int64_t last) {
      std::vector<const float*> rows;
      for (int64_t i = first; i < last; ++i) rows.push_back(centroids + i * part.dims);
      std::vector<double> dots(rows.size());
      context.kernels.cached_dots(wide.data(), rows.data(), last - first, part.dims, dots.data());
      std::ranges::transform(dots, products.begin() + first,
                             [&](double dot) { return static_cast<float>(dot * inverse); });
    };
    // Without an InterruptCheck nothing stops this, which takes well under 10 ms.
    (void)ThreadPool::for_pieces(context.threads, part.planes->lists(),
                                 std::max<int64_t>(1, kProductsPerPiece / part.dims), {}, multiply);
  }
}

PlaneQuery PlaneParts::query(size_t part) const {
  return plane_query(split_, codes_, products_[part], parts_[part].dims);
}

std::vector<TileRange> PlaneParts::nearest(int64_t rows) const {
  // A file that is overwritten while it is loaded may have centroids that are NaN, which are in no bucket.
  float least = std::numeric_limits<float>::infinity(), most = -least;
  for (const std::vector<float>& products : products_)
    for (const float product : products) {
      least = std::min(least, product);
      most = std::max(most, product);
    }
  constexpr size_t kBuckets = 512;
  const float scale = most > least ? static_cast<float>(kBuckets - 1) / (most - least) : 0;
  const auto bucket_of = [&](float product) {
    return static_cast<size_t>(std::clamp((most - product) * scale, 0.0f, float{kBuckets - 1}));
  };
  std::array<int64_t, kBuckets> rows_of{};
  for (size_t part = 0; part < parts_.size(); ++part)
    for (size_t i = 0; i < products_[part].size(); ++i) {
      const auto offsets = parts_[part].planes->offsets;
      if (!std::isnan(products_[part][i]))
        rows_of[bucket_of(products_[part][i])] += offsets[i + 1] - offsets[i];
    }
  size_t last = 0;
  for (int64_t read = rows_of[0]; read < rows && last + 1 < kBuckets;) read += rows_of[++last];
  std::vector<TileRange> tiles;
  for (size_t part = 0; part < parts_.size(); ++part)
    for (size_t i = 0; i < products_[part].size(); ++i) {
      if (std::isnan(products_[part][i]) || bucket_of(products_[part][i]) > last) continue;
      const auto offsets = parts_[part].planes->offsets;
      if (offsets[i] < offsets[i + 1])
        tiles.push_back({part, offsets[i] / kTileRows, tile_count(offsets[i + 1])});
    }
  std::vector<TileRange> merged;
  for (const TileRange& range : tiles) {
    if (!merged.empty() && merged.back().part == range.part && range.first <= merged.back().last)
      merged.back().last = std::max(merged.back().last, range.last);
    else
      merged.push_back(range);
  }
  return merged;
}

std::vector<Neighbor> PlaneParts::promising(const Kernels& kernels, int64_t rows, int64_t count,
                                            const RowMask* among) const {
  struct Row {
    float estimate;
    int64_t id;
  };
  std::vector<Row> found;
  PlaneEstimates kept;
  for (const TileRange& tiles : nearest(rows)) {
    const ModelPart& part = parts_[tiles.part];
    kept.count = 0;
    kernels.planes->estimate(part, {tiles.first, tiles.last}, query(tiles.part), 0,
                             -std::numeric_limits<float>::infinity(), kept);
    for (size_t i = 0; i < kept.count; ++i) {
      const auto position = static_cast<size_t>(kept.positions[i]);
      const int32_t row = kept.positions[i] < part.rows ? part.planes->rows[position] : -1;
      if (row >= 0 && row < part.rows && kept.estimates[i] < kMostPlaneTerm &&
          (among == nullptr || among->admits(part.first_row + row)))
        found.push_back({kept.estimates[i], part.first_row + row});
    }
  }
  const auto end = found.begin() + std::min<int64_t>(count, std::ssize(found));
  std::nth_element(found.begin(), end, found.end(),
                   [](const Row& a, const Row& b) { return a.estimate > b.estimate; });
  std::vector<Neighbor> best;
  for (auto row = found.begin(); row != end; ++row) best.push_back({row->id, kNoSimilarity});
  return best;
}

std::vector<TileRange> without(const TileRange& tiles, std::span<const TileRange> others) {
  std::vector<TileRange> left;
  int64_t first = tiles.first;
  for (const TileRange& other : others) {
    if (other.part != tiles.part || other.last <= first) continue;
    if (other.first >= tiles.last) break;
    if (other.first > first) left.push_back({tiles.part, first, other.first});
    first = std::max(first, other.last);
  }
  if (first < tiles.last) left.push_back({tiles.part, first, tiles.last});
  return left;
}

}  // namespace glove::cpu
