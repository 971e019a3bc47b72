// cos_sim of two vectors, computed as the product computes it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/float_environment.h"
#include "model/exact_dot.h"

namespace glove::testing {

// Returns the bits of Neighbor::similarity for two vectors of the same length; nullopt if either is zero.
inline std::optional<double> cosine_similarity(std::span<const float> a, std::span<const float> b) {
  ScopedFloatEnvironment float_environment;
  const auto dims = static_cast<int64_t>(a.size());
  const double norm_squared_a = exact_dot(a.data(), a.data(), dims);
  const double norm_squared_b = exact_dot(b.data(), b.data(), dims);
  if (!(norm_squared_a > 0) || !(norm_squared_b > 0)) return std::nullopt;
  return cosine_from_dots(exact_dot(a.data(), b.data(), dims), norm_squared_a, norm_squared_b);
}

}  // namespace glove::testing
