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

// |b|^2 with these factors, rounded up.
double length_squared(const Products& row, double alpha, double s, int64_t bits) {
  return alpha * alpha * row.mm + 2 * alpha * s * row.mc +
         s * s * static_cast<double>(bits) * (1 + kRotationSlack);
}

// How far the row may be from what the products are of: the sine and the cosine of the angle.
struct Spread {
  double sine, cosine;
};

// The numbers with a `code` of this half, if they are possible.
PlaneBound bound_with(const Products& row, uint16_t code, int64_t bits, const Spread& spread) {
  const double s = half_value(code);
  const double sine_squared = row.mm - row.um * row.um;  // times |m|^2
  // The factor of the centroid for which b has no part along u's neighbour in the plane of u and m.
  const uint16_t centroid = nearest_half(s * (row.um * row.uc - row.mc) / sine_squared);
  const double alpha = half_value(centroid);
  const double along = alpha * row.um + s * row.uc;
  const double in_plane = (alpha * sine_squared + s * (row.mc - row.um * row.uc)) / std::sqrt(sine_squared);
  const auto codes_squared = static_cast<double>(bits);
  const double squared = length_squared(row, alpha, s, bits);
  const double off = std::sqrt(std::max(0.0, squared - along * along - in_plane * in_plane + kRoundings));
  // The rounded matrix turns the codes by at most kRotationSlack.
  const double turned = s * std::sqrt(codes_squared) * kRotationSlack;
  const double aside = std::abs(in_plane) + turned + along * spread.sine + kRoundings;
  const double distance = off + aside / kLeastSignFactor;
  if (!(along * spread.cosine - (off + std::abs(in_plane)) * spread.sine >= 1 + kRoundings) ||
      !(std::abs(alpha) * std::sqrt(row.mm) <= kMostPlaneTerm) ||
      !(s * std::sqrt(codes_squared) <= kMostPlaneTerm) || !(distance < kMostPlaneTerm))
    return kNoBound;
  return {centroid, code, half_away_from_zero(distance)};
}

// The numbers of a row that its centroid describes well enough.
PlaneBound bound_by_centroid(const Products& row, const Spread& spread) {
  const double beside = std::sqrt(std::max(0.0, row.mm - row.um * row.um));
  const double reach = std::abs(row.um) * spread.cosine - beside * spread.sine;
  if (!(reach > 0)) return kNoBound;
  const uint16_t centroid = half_away_from_zero((1 + kRoundings) / std::copysign(reach, row.um));
  const double alpha = half_value(centroid);
  const double off = std::abs(alpha) * beside;
  const double distance = (off + alpha * row.um * spread.sine + kRoundings) / kLeastSignFactor;
  if (!(std::abs(alpha) * reach >= 1) || !(std::abs(alpha) * std::sqrt(row.mm) <= kMostPlaneTerm) ||
      !(distance < kMostPlaneTerm))
    return kNoBound;
  return {centroid, 0, half_away_from_zero(distance)};
}

}  // namespace

PlaneBound encode_signs(const SignRow& row, int64_t dims, int64_t bits, bool* codes, double sine) {
  std::fill_n(codes, bits, false);
  if (!(row.norm_squared > 0)) return {};
  const double inverse_norm = 1 / std::sqrt(row.norm_squared);
  Products products = {exact_dot(row.x, row.centroid, dims) * inverse_norm, 0, 0, row.centroid_norm_squared};
  const double share = products.um / products.mm;
  for (int64_t j = 0; j < bits; ++j) {
    const double u = row.rotated[j];
    const double m = row.rotated_centroid[j];
    codes[j] = u - share * m >= 0;
    products.uc += codes[j] ? u : -u;
    products.mc += codes[j] ? m : -m;
  }
  const double rest = 1 - products.um * share;  // the squared length of u - share * m
  const Spread spread = {sine, std::sqrt(1 - sine * sine)};
  if (!(rest > kLeastRest)) return bound_by_centroid(products, spread);
  double scale = rest / (products.uc - share * products.mc);
  // Of the b that this makes, <u, b> is 1 and `off` the length of the rest.
  const double off = std::sqrt(std::max(
      0.0, length_squared(products, scale * (products.um * products.uc - products.mc) / (products.mm * rest),
                          scale, bits) -
               1));
  scale /= spread.cosine - off * spread.sine;
  if (!(scale > 0) || !(scale < kMostPlaneTerm)) return kNoBound;
  PlaneBound bound = kNoBound;
  // The rounding of the centroid's factor may make b too short; a longer one is as good.
  for (uint16_t code = half_away_from_zero(scale), end = code + 8; code < end; ++code) {
    bound = bound_with(products, code, bits, spread);
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
