#include "lists/planes.h"

#include <span>
#include <vector>

#include "base/float_environment.h"
#include "base/require.h"
#include "lists/half.h"
#include "model/exact_dot.h"

namespace glove {
namespace {

// The step between codes of 4 bits, as a factor of the root mean square of what is coded: by measurement on
// word vectors, near the best for 2 bits, and good for 4.
constexpr double kStep = 0.26;

// Sums over the components of a row u, its centroid m, and one plane's codes c.
struct CodeSums {
  void add(double u, float m, int code) {
    const double c = code;
    uc += u * c;
    mc += m * c;
    cc += c * c;
    largest = std::max(largest, std::abs(code));
  }

  double uc = 0, mc = 0, cc = 0;
  int largest = 0;
};

// The numbers of a row for one plane's codes, fitted to u by least squares and scaled to <u', b> >= 1 for
// every unit vector u' whose angle to u has at most this sine.
PlaneBound fit(std::span<const double> u, const float* m, std::span<const int> codes, const CodeSums& sums,
               double um, double m_squared, double sine) {
  const auto [uc, mc, cc, largest] = sums;
  const PlaneBound none = {0, 0, kHalfInfinity};
  const double determinant = m_squared * cc - mc * mc;
  if (!(determinant > 1e-9 * m_squared * cc)) return none;
  const double a = (um * cc - uc * mc) / determinant;
  const double s = (uc * m_squared - um * mc) / determinant;
  const double squared = a * um + s * uc;  // |b|^2 of the best b, and <u, b>
  const double cosine = std::sqrt(std::max(0.0, 1 - sine * sine));
  const double least = squared * cosine - std::sqrt(std::max(0.0, squared * (1 - squared))) * sine;
  if (!(least > 1.0 / 16)) return none;
  const uint16_t centroid = half_away_from_zero(a / least);
  const uint16_t code = half_away_from_zero(std::max(s / least, 0.0));  // roundings may make it negative
  const double centroid_value = half_value(centroid);
  const double code_value = half_value(code);
  const double along = centroid_value * um + code_value * uc;
  double off = 0;
  for (size_t j = 0; j < u.size(); ++j) {
    const double rest = centroid_value * m[j] + code_value * codes[j] - along * u[j];
    off += rest * rest;
  }
  const double off_u = std::sqrt(off);
  const double least_along = along * cosine - off_u * sine;
  const double distance = (off_u + along * sine) * (1 + 0x1p-30) + 0x1p-30;
  const double code_term = std::abs(code_value) * 15 * std::sqrt(static_cast<double>(u.size()));
  if (!(least_along >= 1 + 0x1p-30) || !(std::abs(centroid_value) * std::sqrt(m_squared) <= kMostPlaneTerm) ||
      !(code_term <= kMostPlaneTerm * 15 / largest) || !(distance <= kMostPlaneTerm))
    return none;
  return {centroid, code, half_away_from_zero(distance)};
}

// std::floor() of a small number, which needs no call where the processor may lack the instruction.
int floor_of(double value) {
  const auto truncated = static_cast<int>(value);
  return truncated - (value < truncated);
}

// The four bits whose code this is.
int code_of(int code4) {
  return (code4 + 15) / 2;
}

// Puts the bits of all codes at their plane_place(). REQUIRES: zeroes there.
void pack_codes(std::span<const int> codes4, int64_t dims, uint8_t* plane1, uint8_t* plane2) {
  for (int64_t j = 0; j < dims;) {
    const PlanePlace first = plane_place(j, dims);
    const int64_t last = std::min(dims, j + kPlaneGroup);
    const int64_t width = std::min(kPlaneWordBytes, plane_row_bytes(dims) - first.byte);
    for (int shift = 0; j < last; shift += 2)
      for (int64_t byte = first.byte; byte < first.byte + width && j < last; ++byte, ++j) {
        const int v = code_of(codes4[static_cast<size_t>(j)]);
        plane1[byte] = static_cast<uint8_t>(plane1[byte] | (v >> 2) << shift);
        plane2[byte] = static_cast<uint8_t>(plane2[byte] | (v & 3) << shift);
      }
  }
}

}  // namespace

PlaneLine upper_line(const QueryBound& bound, double scale, int64_t code_sum, double most, int64_t dims) {
  const double length = most * std::sqrt(static_cast<double>(dims));  // of the longest codes
  const double start = -most * static_cast<double>(code_sum) / scale;
  return {static_cast<float>(2 / scale),
          static_cast<float>(start + length * (static_cast<double>(bound.error_offset) + 0x1p-20))};
}

PlaneBound encode_planes(const float* x, double norm_squared, const float* centroid,
                         double centroid_norm_squared, int64_t dims, uint8_t* plane1, uint8_t* plane2,
                         double sine) {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set());
  GLOVE_REQUIRE(dims <= kMaxPlaneDims && sine >= 0 && sine < 1);
  std::fill_n(plane1, plane_row_bytes(dims), uint8_t{0});
  std::fill_n(plane2, plane2_row_bytes(dims), uint8_t{0});
  if (!(norm_squared > 0)) return {};
  const double inverse_norm = 1 / std::sqrt(norm_squared);
  const double share = exact_dot(x, centroid, dims) * inverse_norm / centroid_norm_squared;
  const auto size = static_cast<size_t>(dims);
  std::vector<double> u(size);
  std::vector<double> rest(size);
  std::vector<int> codes2(size);
  std::vector<int> codes4(size);
  double squares = 0;
  for (size_t j = 0; j < size; ++j) {
    u[j] = x[j] * inverse_norm;
    rest[j] = u[j] - share * centroid[j];
    squares += rest[j] * rest[j];
  }
  const double step = std::max(kStep * std::sqrt(squares / static_cast<double>(dims)), 1e-12);
  for (size_t j = 0; j < size; ++j)
    codes4[j] = 2 * (floor_of(std::clamp(rest[j] / step, -8.0, 7.0)) + 8) - 15;
  pack_codes(codes4, dims, plane1, plane2);
  double um = 0;
  CodeSums sums4, sums2;  // together, because each addition waits for the last one of its sum
  for (size_t j = 0; j < size; ++j) {
    codes2[j] = 2 * (code_of(codes4[j]) >> 2) - 3;
    um += u[j] * centroid[j];
    sums4.add(u[j], centroid[j], codes4[j]);
    sums2.add(u[j], centroid[j], codes2[j]);
  }
  const PlaneBound both = fit(u, centroid, codes4, sums4, um, centroid_norm_squared, sine);
  std::memcpy(plane2 + plane2_bound_offset(dims), &both, sizeof(both));
  return fit(u, centroid, codes2, sums2, um, centroid_norm_squared, sine);
}

}  // namespace glove
