#include "lists/plane_arrays.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/cores.h"
#include "base/float_environment.h"
#include "base/require.h"
#include "base/thread_pool.h"
#include "lists/planes.h"
#include "model/exact_dot.h"

namespace glove {
namespace {

// Tiles that a thread encodes at once.
constexpr int64_t kTilesPerPiece = 64;

// Sorts the rows by their lists.
void order_rows(std::span<const int32_t> lists, PlaneArrays& planes) {
  for (const int32_t list : lists) ++planes.offsets[static_cast<size_t>(list) + 1];
  for (size_t i = 1; i < planes.offsets.size(); ++i) planes.offsets[i] += planes.offsets[i - 1];
  std::vector<int64_t> next(planes.offsets.begin(), planes.offsets.end() - 1);
  planes.rows.resize(lists.size());
  for (size_t row = 0; row < lists.size(); ++row)
    planes.rows[static_cast<size_t>(next[static_cast<size_t>(lists[row])]++)] = static_cast<int32_t>(row);
}

// A model's vectors, and the arrays that are filled.
struct Encoding {
  std::span<const float> vectors;
  std::span<const double> norms_squared;
  int64_t dims;
  std::span<const double> centroid_norms;
  PlaneArrays& planes;

  void encode(int64_t position, int64_t list, uint8_t* plane1) const {
    const auto row = static_cast<size_t>(planes.rows[static_cast<size_t>(position)]);
    const PlaneBound bound =
        encode_planes(vectors.data() + static_cast<int64_t>(row) * dims, norms_squared[row],
                      planes.centroids.data() + list * dims, centroid_norms[static_cast<size_t>(list)], dims,
                      plane1, planes.plane2.data() + position * plane2_row_bytes(dims));
    for (int64_t byte = 0; byte < plane_row_bytes(dims); ++byte)
      planes.plane1[static_cast<size_t>(plane1_index(position, byte, dims))] = plane1[byte];
    store_bound(bound, position, planes.bounds1.data());
  }

  void encode_tiles(int64_t first, int64_t last) const {
    std::vector<uint8_t> plane1(static_cast<size_t>(plane_row_bytes(dims)));
    const auto& offsets = planes.offsets;
    const int64_t end = std::min(last * kTileRows, static_cast<int64_t>(planes.rows.size()));
    for (int64_t position = first * kTileRows; position < end; ++position) {
      const auto list = std::upper_bound(offsets.begin(), offsets.end(), position) - offsets.begin() - 1;
      encode(position, list, plane1.data());
    }
  }
};

}  // namespace

Result<PlaneArrays> make_planes(std::span<const float> vectors, std::span<const double> norms_squared,
                                std::vector<float> centroids, std::span<const int32_t> lists, int64_t dims,
                                int threads, const InterruptCheck& interrupted) {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set());
  GLOVE_REQUIRE(dims <= kMaxPlaneDims && lists.size() == norms_squared.size());
  GLOVE_REQUIRE(vectors.size() == lists.size() * static_cast<size_t>(dims));
  PlaneArrays planes;
  planes.centroids = std::move(centroids);
  const auto count = static_cast<int64_t>(planes.centroids.size()) / dims;
  const auto rows = static_cast<int64_t>(lists.size());
  planes.offsets.assign(static_cast<size_t>(count) + 1, 0);
  order_rows(lists, planes);
  const int64_t tiles = tile_count(rows);
  planes.plane1.resize(static_cast<size_t>(plane1_bytes(rows, dims)));
  planes.bounds1.resize(static_cast<size_t>(tiles * kPlaneBounds * kTileRows));
  planes.plane2.resize(static_cast<size_t>(rows * plane2_row_bytes(dims)));
  std::vector<double> norms;
  for (int64_t i = 0; i < count; ++i) {
    const float* const centroid = planes.centroids.data() + i * dims;
    norms.push_back(exact_dot(centroid, centroid, dims));
  }
  const Encoding encoding = {vectors, norms_squared, dims, norms, planes};
  const auto work = [&](int, int64_t first, int64_t last) { encoding.encode_tiles(first, last); };
  GLOVE_RETURN_IF_ERROR(
      ThreadPool::for_pieces(thread_count(threads), tiles, kTilesPerPiece, interrupted, work));
  return planes;
}

ModelPtr with_planes(const ModelPtr& model, PlaneArrays planes) {
  GLOVE_REQUIRE(model->parts().size() == 1 && std::ssize(planes.rows) == model->parts().front().rows);
  struct Owner {
    ModelPtr model;
    PlaneArrays arrays;
    PlaneLevel level;
  };
  const auto owner = std::make_shared<Owner>(Owner{model, std::move(planes), {}});
  owner->level = owner->arrays.level();
  ModelPart part = model->parts().front();
  part.planes = &owner->level;
  return std::make_shared<const Model>(std::vector{part}, model->vocabulary(), model->source(), owner);
}

}  // namespace glove
