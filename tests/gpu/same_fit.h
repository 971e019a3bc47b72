// Compares two k-means fits bit for bit.
#pragma once

#include <bit>
#include <cstdint>
#include <string>

#include "analysis/kmeans.h"

namespace glove::testing {

// Returns where two fits differ, or an empty string if they are equal to the last bit.
inline std::string difference(const Clustering& a, const Clustering& b) {
  const auto bits = [](double value) { return std::bit_cast<uint64_t>(value); };
  if (a.iterations != b.iterations)
    return "iterations: " + std::to_string(a.iterations) + " and " + std::to_string(b.iterations);
  if (a.converged != b.converged) return "one has converged";
  if (a.clusters.size() != b.clusters.size())
    return "clusters: " + std::to_string(a.clusters.size()) + " and " + std::to_string(b.clusters.size());
  for (size_t i = 0; i < a.rows.size(); ++i)
    if (a.rows[i].first != b.rows[i].first || a.rows[i].second != b.rows[i].second ||
        bits(a.rows[i].first_score) != bits(b.rows[i].first_score) ||
        bits(a.rows[i].second_score) != bits(b.rows[i].second_score))
      return "row " + std::to_string(i) + ": clusters " + std::to_string(a.rows[i].first) + ", " +
             std::to_string(a.rows[i].second) + " and " + std::to_string(b.rows[i].first) + ", " +
             std::to_string(b.rows[i].second);
  for (size_t i = 0; i < a.centroids.vectors.size(); ++i)
    if (std::bit_cast<uint32_t>(a.centroids.vectors[i]) != std::bit_cast<uint32_t>(b.centroids.vectors[i]))
      return "component " + std::to_string(i) + " of the centroids";
  if (bits(a.inertia()) != bits(b.inertia())) return "inertia";
  return {};
}

}  // namespace glove::testing
