// The relation by definition, for tests only: slow, and written from the document instead of the code.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "model/model.h"
#include "search/query.h"

namespace glove::testing {

inline double reference_dot(const float* a, const float* b, int64_t dims) {
  double p[8] = {};
  for (int64_t j = 0; j < dims; ++j) p[j % 8] = std::fma(double{a[j]}, double{b[j]}, p[j % 8]);
  return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
}

inline double reference_distance(const float* a, const float* b, int64_t dims) {
  volatile double square;  // never fused with the sum
  double p[8] = {};
  for (int64_t j = 0; j < dims; ++j) {
    const double difference = double{a[j]} - double{b[j]};
    square = difference * difference;
    p[j % 8] += square;
  }
  return std::sqrt(((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7])));
}

// Every row of the relation, best first.
inline std::vector<Neighbor> reference_relation(const Model& model, const Query& query) {
  std::vector<Neighbor> rows;
  const float* q = query.vector.data();
  const double q_norm_squared = reference_dot(q, q, model.dims());
  for (int64_t i = model.first_row(); i < model.first_row() + model.words(); ++i) {
    const float* x = model.vector(i);
    const double norm_squared = reference_dot(x, x, model.dims());
    if (norm_squared == 0 && model.metric() == RowMetric::kCosine) continue;
    if (std::count(query.excluded.begin(), query.excluded.end(), i)) continue;
    if (query.among != nullptr && !query.among->admits(i)) continue;
    double similarity = reference_dot(q, x, model.dims());
    if (model.metric() == RowMetric::kL2) similarity = -reference_distance(q, x, model.dims());
    if (model.metric() == RowMetric::kCosine)
      similarity = std::min(1.0, std::max(-1.0, similarity / std::sqrt(q_norm_squared * norm_squared)));
    rows.push_back({i, similarity});
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Neighbor& a, const Neighbor& b) { return a.similarity > b.similarity; });
  return rows;
}

// The first difference between two answers, or "".
inline std::string difference(std::span<const Neighbor> got, std::span<const Neighbor> wanted) {
  if (got.size() != wanted.size())
    return std::to_string(got.size()) + " rows instead of " + std::to_string(wanted.size());
  for (size_t i = 0; i < got.size(); ++i)
    if (got[i].id != wanted[i].id || got[i].similarity != wanted[i].similarity)
      return "rank " + std::to_string(i + 1) + ": id " + std::to_string(got[i].id) + ", " +
             std::to_string(got[i].similarity) + " instead of id " + std::to_string(wanted[i].id) + ", " +
             std::to_string(wanted[i].similarity);
  return "";
}

}  // namespace glove::testing
