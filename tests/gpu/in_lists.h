// Models in lists, with planes.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "base/cores.h"
#include "base/float_environment.h"
#include "base/thread_pool.h"
#include "lists/plane_arrays.h"
#include "lists/rotation.h"
#include "lists/sign_arrays.h"
#include "model/exact_dot.h"
#include "model/row_map.h"

namespace glove::testing {

// Adds signs by a random rotation.
inline void add_signs_to(PlaneArrays& planes, const ModelPart& part, uint64_t seed) {
  RowMap map;
  map.dims_in = map.dims_out = part.dims;
  map.matrix = random_rotation(part.dims, part.dims, seed, 0).value();
  const auto rotate = [&](std::span<const float> rows, int64_t count, std::span<float> rotated) -> Status {
    return ThreadPool::for_pieces(usable_cores(), count, 256, {}, [&](int, int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i)
        map.apply(rows.data() + i * part.dims, rotated.data() + i * part.dims);
    });
  };
  const Status added = add_signs(part.vectors, part.norms_squared, part.dims, planes, map.matrix, rotate, 0);
  ASSERT_TRUE(added.ok()) << added.error().message;
}

// Returns the same rows in lists around some of them. Each row is in the best of a few lists, so some lists
// may have no rows.
inline ModelPtr in_lists(const ModelPtr& model, int64_t lists, std::mt19937_64& random, int64_t most_k,
                         bool signed_too = false) {
  const ModelPart& part = model->parts().front();
  std::vector<float> centroids;
  for (int64_t tries = 0; tries < 4 * lists; ++tries) {
    const auto row = static_cast<int64_t>(random() % static_cast<uint64_t>(part.rows));
    const double norm = std::sqrt(part.norm_squared(row));
    if (!(norm > 0) || std::ssize(centroids) == lists * part.dims) continue;
    for (int64_t j = 0; j < part.dims; ++j)
      centroids.push_back(static_cast<float>(static_cast<double>(part.vector(row)[j]) / norm));
  }
  const auto count = static_cast<uint64_t>(std::ssize(centroids) / part.dims);
  std::vector<int32_t> list_of(static_cast<size_t>(part.rows));
  for (int64_t row = 0; row < part.rows; ++row) {
    double best = -INFINITY;
    for (int tries = 0; tries < 4; ++tries) {
      const auto list = static_cast<int64_t>(random() % count);
      const double dot = exact_dot(part.vector(row), centroids.data() + list * part.dims, part.dims);
      if (!(dot > best)) continue;
      best = dot;
      list_of[static_cast<size_t>(row)] = static_cast<int32_t>(list);
    }
  }
  const ScopedFloatEnvironment environment;
  PlaneArrays planes =
      make_planes(part.vectors, part.norms_squared, std::move(centroids), list_of, part.dims, 0).value();
  planes.most_k = most_k;
  if (signed_too) add_signs_to(planes, part, random());
  return with_planes(model, std::move(planes));
}

}  // namespace glove::testing
