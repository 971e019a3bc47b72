// What a device sees of a model in lists.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "base/float_environment.h"
#include "lists/plane_arrays.h"
#include "model/model.h"

namespace glove::testing {

// Returns the model with its rows dealt out to `lists` lists, with planes that are said to pay for every k,
// and without 4-bit codes, in whose place a file with lists has the planes. REQUIRES: it has one part; its
// first rows are not zero.
inline ModelPtr as_in_lists(const ModelPtr& model, int64_t lists = 40) {
  const ScopedFloatEnvironment environment;
  const ModelPart& part = model->parts().front();
  std::vector<float> centroids;
  for (int64_t row = 0; row < lists; ++row)
    for (int64_t j = 0; j < part.dims; ++j)
      centroids.push_back(
          static_cast<float>(static_cast<double>(part.vector(row)[j]) / std::sqrt(part.norm_squared(row))));
  std::vector<int32_t> list_of(static_cast<size_t>(part.rows));
  for (size_t row = 0; row < list_of.size(); ++row)
    list_of[row] = static_cast<int32_t>(row % static_cast<size_t>(lists));
  PlaneArrays planes =
      make_planes(part.vectors, part.norms_squared, std::move(centroids), list_of, part.dims, 0).value();
  planes.most_k = std::numeric_limits<int64_t>::max();
  const ModelPtr in_lists = with_planes(model, std::move(planes));
  std::vector<ModelPart> parts(in_lists->parts().begin(), in_lists->parts().end());
  std::erase_if(parts.front().levels, [](const CodeLevel& level) { return level.bits == 4; });
  parts.front().derives_level4 = true;
  return std::make_shared<const Model>(std::move(parts), in_lists->vocabulary(), Model::Source(), in_lists);
}

}  // namespace glove::testing
