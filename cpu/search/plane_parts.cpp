#include "cpu/search/plane_parts.h"

#include <algorithm>
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
    if (part.planes == nullptr) continue;
    const float* const centroids = part.planes->centroids.data();
    std::vector<float>& products = products_[centroids];
    if (!products.empty()) continue;
    products.resize(static_cast<size_t>(part.planes->lists()));
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
  return plane_query(split_, codes_, products_of(part), parts_[part].dims);
}

std::vector<Neighbor> PlaneParts::promising(const Kernels& kernels, int64_t rows, int64_t count,
                                            const RowMask* among) const {
  struct List {
    float product;
    size_t part;
    size_t number;
    bool operator<(const List& other) const { return product < other.product; }
  };
  struct Row {
    float estimate;
    int64_t id;
  };
  std::vector<List> lists;
  for (size_t part = 0; part < parts_.size(); ++part) {
    if (parts_[part].planes == nullptr) continue;
    const std::span<const float> products = products_of(part);
    for (size_t i = 0; i < products.size(); ++i)
      // A file that is overwritten while it is loaded may have centroids that are NaN, which have no order.
      if (!std::isnan(products[i])) lists.push_back({products[i], part, i});
  }
  std::make_heap(lists.begin(), lists.end());
  std::vector<Row> found;
  PlaneEstimates kept;
  for (int64_t read = 0; read < rows && !lists.empty(); lists.pop_back()) {
    std::pop_heap(lists.begin(), lists.end());
    const auto [product, number, list] = lists.back();
    const ModelPart& part = parts_[number];
    const int64_t begin = part.planes->offsets[list], end = part.planes->offsets[list + 1];
    read += end - begin;
    kept.count = 0;
    if (begin < end)
      kernels.planes->estimate(part, {begin / kTileRows, tile_count(end), static_cast<int64_t>(list)},
                               query(number), 0, -std::numeric_limits<float>::infinity(), kept);
    for (size_t i = 0; i < kept.count; ++i) {
      if (kept.positions[i] < begin || kept.positions[i] >= end) continue;  // of another list
      const int32_t row = part.planes->rows[static_cast<size_t>(kept.positions[i])];
      if (row >= 0 && row < part.rows && kept.estimates[i] < kMostPlaneTerm &&
          (among == nullptr || among->admits(part.first_row + row)))
        found.push_back({kept.estimates[i], part.first_row + row});
    }
  }
  const auto end = found.begin() + std::min<int64_t>(count, std::ssize(found));
  std::nth_element(found.begin(), end, found.end(),
                   [](const Row& a, const Row& b) { return a.estimate > b.estimate; });
  std::vector<Neighbor> best;
  for (auto row = found.begin(); row != end; ++row) best.push_back({row->id, kNoScore});
  return best;
}

}  // namespace glove::cpu
