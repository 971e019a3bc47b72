#include "convert/lists.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "analysis/kmeans.h"
#include "analysis/kmeans_pass.h"
#include "base/concat.h"
#include "lists/calibration.h"
#include "lists/plane_arrays.h"
#include "lists/planes.h"

namespace glove {
namespace {

constexpr int64_t kLeastAutoRows = 100'000;
// Rows per list that the centroids are trained on: more hardly change the number of rows that the planes
// leave. Half as many make an approximate search find fewer rows where they are dense.
constexpr int64_t kTrainingRows = 64;
// Without lists chosen by the caller, planes must pay for searches for this many rows.
constexpr int64_t kLeastK = 10;

// Returns the centroids of a spherical k-means of some rows, evenly spread.
Result<Centroids> train(Analysis& analysis, const ModelPtr& model, int64_t lists,
                        const InterruptCheck& interrupted) {
  std::vector<int32_t> ids;
  for (int64_t row = 0; row < model->words(); ++row)
    if (model->norm_squared(row) > 0) ids.push_back(static_cast<int32_t>(row));
  const auto count = static_cast<int64_t>(ids.size());
  const int64_t trained = std::min(count, kTrainingRows * lists);
  for (int64_t i = 0; i < trained; ++i)
    ids[static_cast<size_t>(i)] = ids[static_cast<size_t>(i * count / trained)];
  ids.resize(static_cast<size_t>(trained));
  GLOVE_ASSIGN_OR_RETURN(const PointSet points, PointSet::chosen_rows(model, std::move(ids), interrupted));
  return list_centroids(analysis, points.points(), lists, interrupted);
}

}  // namespace

Result<ModelPtr> with_lists(Analysis& analysis, const ModelPtr& model, int64_t lists, int threads,
                            const InterruptCheck& interrupted) {
  const ModelPart& part = model->parts().front();
  const bool is_auto = lists == kAutoLists;
  if (is_auto) {
    if (part.rows < kLeastAutoRows || part.dims > kMaxPlaneDims) return model;
    lists = std::min(kMaxLists, 4 * static_cast<int64_t>(std::sqrt(static_cast<double>(part.rows))));
  }
  if (part.dims > kMaxPlaneDims)
    return invalid_argument(model->path(), ": vectors of ", part.dims,
                            " dimensions cannot be in lists, only of ", kMaxPlaneDims,
                            " or fewer; omit --lists");
  // Rows without a direction belong to no list.
  if (std::ranges::count(part.norms_squared, 0.0) == part.rows) return model;
  GLOVE_ASSIGN_OR_RETURN(Centroids centroids, train(analysis, model, lists, interrupted));
  const PointSet rows = PointSet::first_rows(model, model->words());
  GLOVE_ASSIGN_OR_RETURN(const std::vector<int32_t> list_of,
                         nearest_lists(analysis, rows.points(), centroids, interrupted));
  GLOVE_ASSIGN_OR_RETURN(PlaneArrays planes,
                         make_planes(part.vectors, part.norms_squared, std::move(centroids.vectors), list_of,
                                     part.dims, threads, interrupted));
  const PlaneLevel level = planes.level();
  ModelPart listed = part;
  listed.planes = &level;
  GLOVE_ASSIGN_OR_RETURN(const PlanesPay pay, planes_pay(listed, threads, interrupted));
  if (is_auto && pay.beside_4_bits < kLeastK) return model;
  planes.most_k = pay.beside_8_bits;
  return with_planes(model, std::move(planes));
}

}  // namespace glove
