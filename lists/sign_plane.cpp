#include "lists/sign_plane.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "lists/half.h"
#include "model/exact_dot.h"

namespace glove {
namespace {

constexpr PlaneBound kNoBound = {0, 0, kHalfInfinity};
// Rows whose angle to the centroid has a smaller squared sine are described by the centroid alone.
constexpr double kLeastRest = 1e-4;
// More than the roundings of what is computed from rotated vectors in float.
constexpr double kRoundings = 0x1p-18;

uint16_t nearest_half(double value) {
  const uint16_t above = half_away_from_zero(value);
  if ((above & 0x7FFF) == 0) return above;
  const auto below = static_cast<uint16_t>(above - 1);
  const double middle = (static_cast<double>(half_value(above)) + static_cast<double>(half_value(below))) / 2;
  return std::abs(value) < std::abs(middle) ? below : above;
}

// The products of a row's unit vector u, its centroid m and its codes R^T c.
struct Products {
  double um, uc, mc, mm;
};

// The numbers with a `code` of this half, if they are possible.
PlaneBound bound_with(const Products& row, uint16_t code, int64_t dims) {
  const double s = half_value(code);
  const double sine_squared = row.mm - row.um * row.um;  // times |m|^2
  // The factor of the centroid for which b has no part along u's neighbour in the plane of u and m.
  const uint16_t centroid = nearest_half(s * (row.um * row.uc - row.mc) / sine_squared);
  const double alpha = half_value(centroid);
  const double along = alpha * row.um + s * row.uc;
  if (!(along >= 1 + kRoundings)) return kNoBound;
  const double in_plane = (alpha * sine_squared + s * (row.mc - row.um * row.uc)) / std::sqrt(sine_squared);
  const auto codes_squared = static_cast<double>(dims);
  const double squared =
      alpha * alpha * row.mm + 2 * alpha * s * row.mc + s * s * codes_squared * (1 + kRotationSlack);
  const double off = std::sqrt(std::max(0.0, squared - along * along - in_plane * in_plane + kRoundings));
  // The rounded matrix turns the codes by at most kRotationSlack.
  const double turned = s * std::sqrt(codes_squared) * kRotationSlack;
  const double distance = off + (std::abs(in_plane) + turned + kRoundings) / kLeastSignFactor;
  if (!(std::abs(alpha) * std::sqrt(row.mm) <= kMostPlaneTerm) ||
      !(s * std::sqrt(codes_squared) <= kMostPlaneTerm) || !(distance < kMostPlaneTerm))
    return kNoBound;
  return {centroid, code, half_away_from_zero(distance)};
}

// The numbers of a row that its centroid describes well enough.
PlaneBound bound_by_centroid(const Products& row) {
  const uint16_t centroid = half_away_from_zero((1 + kRoundings) / row.um);
  const double alpha = half_value(centroid);
  const double off = std::abs(alpha) * std::sqrt(std::max(0.0, row.mm - row.um * row.um));
  const double distance = (off + kRoundings) / kLeastSignFactor;
  if (!(std::abs(alpha) * std::sqrt(row.mm) <= kMostPlaneTerm) || !(distance < kMostPlaneTerm))
    return kNoBound;
  return {centroid, 0, half_away_from_zero(distance)};
}

}  // namespace

PlaneBound encode_signs(const SignRow& row, int64_t dims, bool* codes) {
  std::fill_n(codes, dims, false);
  if (!(row.norm_squared > 0)) return {};
  const double inverse_norm = 1 / std::sqrt(row.norm_squared);
  Products products = {exact_dot(row.x, row.centroid, dims) * inverse_norm, 0, 0, row.centroid_norm_squared};
  const double share = products.um / products.mm;
  for (int64_t j = 0; j < dims; ++j) {
    const double u = row.rotated[j];
    const double m = row.rotated_centroid[j];
    codes[j] = u - share * m >= 0;
    products.uc += codes[j] ? u : -u;
    products.mc += codes[j] ? m : -m;
  }
  const double rest = 1 - products.um * share;  // the squared length of u - share * m
  if (!(rest > kLeastRest)) return bound_by_centroid(products);
  const double scale = rest / (products.uc - share * products.mc);
  if (!(scale > 0) || !(scale < kMostPlaneTerm)) return kNoBound;
  PlaneBound bound = kNoBound;
  // The rounding of the centroid's factor may make b too short; a longer one is as good.
  for (uint16_t code = half_away_from_zero(scale), end = code + 8; code < end; ++code) {
    bound = bound_with(products, code, dims);
    if (bound.distance != kHalfInfinity) break;
  }
  return bound;
}

namespace {

// Whether the numbers are within their limits.
bool is_possible(const PlaneBound& bound, double centroid_squared, size_t dims) {
  const double factor = half_value(bound.centroid);
  const double scale = half_value(bound.code);
  return std::abs(factor) * std::sqrt(centroid_squared) <= kMostPlaneTerm && scale >= 0 &&
         scale * std::sqrt(static_cast<double>(dims)) <= kMostPlaneTerm && half_value(bound.distance) > 0;
}

}  // namespace

bool describes(const SignRow& row, std::span<const float> rotation, const bool* codes,
               const PlaneBound& bound) {
  const double factor = half_value(bound.centroid);
  const double scale = half_value(bound.code);
  const double distance = half_value(bound.distance);
  if (row.norm_squared == 0) return factor == 0 && scale == 0 && distance == 0;
  const auto dims = static_cast<size_t>(std::sqrt(static_cast<double>(rotation.size())) + 0.5);
  std::vector<double> b(dims);
  std::vector<double> u(dims);
  for (size_t o = 0; o < dims; ++o)
    for (size_t j = 0; j < dims; ++j) b[j] += (codes[o] ? scale : -scale) * rotation[o * dims + j];
  const double inverse_norm = 1 / std::sqrt(row.norm_squared);
  double along = 0, centroid_along = 0, centroid_squared = 0;
  for (size_t j = 0; j < dims; ++j) {
    u[j] = row.x[j] * inverse_norm;
    b[j] += factor * row.centroid[j];
    along += b[j] * u[j];
    centroid_along += row.centroid[j] * u[j];
    centroid_squared += double{row.centroid[j]} * row.centroid[j];
  }
  double in_plane = 0, off_squared = 0, neighbor_squared = 0;
  for (size_t j = 0; j < dims; ++j) {
    const double off = b[j] - along * u[j];
    const double neighbor = row.centroid[j] - centroid_along * u[j];
    off_squared += off * off;
    in_plane += off * neighbor;
    neighbor_squared += neighbor * neighbor;
  }
  const double f = neighbor_squared > 0 ? std::abs(in_plane) / std::sqrt(neighbor_squared) : 0;
  const double g = std::sqrt(std::max(0.0, off_squared - f * f));
  return is_possible(bound, centroid_squared, dims) &&
         (std::isinf(distance) ||
          (along >= 1 && distance <= kMostPlaneTerm && g + f / kLeastSignFactor <= distance));
}

}  // namespace glove
