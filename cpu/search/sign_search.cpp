#include "cpu/search/sign_search.h"

#include <algorithm>
#include <cmath>

#include "base/thread_pool.h"
#include "cpu/search/plane_parts.h"
#include "cpu/search/search_cost.h"
#include "lists/list_codes.h"
#include "lists/planes.h"
#include "lists/recall_table.h"
#include "lists/sign_plane.h"
#include "model/round_up.h"
#include "search/candidates.h"

namespace glove::cpu {
namespace {

// So many products of components take longer than another thread needs to wake up.
constexpr int64_t kRotatedPerPiece = 1 << 17;
// More than the roundings of factors and products.
constexpr double kProductSlack = 0x1p-20;

// Returns R v for the query's unit vector v; nothing if that is longer, or shorter although R is a whole
// rotation.
std::vector<float> rotate(const ScanContext& context, const Query& query, const double* wide,
                          std::span<const float> rotation) {
  const auto dims = static_cast<int64_t>(query.vector.size());
  const int64_t bits = std::ssize(rotation) / dims;
  std::vector<double> dots(static_cast<size_t>(bits));
  const auto multiply = [&](int, int64_t first, int64_t last) {
    std::vector<const float*> rows;
    for (int64_t i = first; i < last; ++i) rows.push_back(rotation.data() + i * dims);
    context.kernels.cached_dots(wide, rows.data(), last - first, dims, dots.data() + first);
  };
  // Without an InterruptCheck nothing stops this, which takes well under 10 ms.
  (void)ThreadPool::for_pieces(context.threads, bits, kRotatedPerPiece / dims, {}, multiply);
  double squares = 0;
  for (const double one : dots) squares += one * one;
  const double stretch = squares / query.norm_squared - 1;
  if (!(stretch <= kMostStretch) || (bits == dims && stretch < -kMostStretch)) return {};
  std::vector<float> rotated(dots.size());
  const double inverse = 1 / std::sqrt(query.norm_squared);
  std::ranges::transform(dots, rotated.begin(),
                         [inverse](double dot) { return static_cast<float>(dot * inverse); });
  return rotated;
}

}  // namespace

bool wants_signs(const ScanContext& context, const SearchRequest& request) {
  const Model& model = context.model;
  if (!(request.certainty < 1) || context.scan_bits == 8 || (has_vectors(model) && model.parts().size() != 1))
    return false;
  const PlaneLevel* const level = signed_planes(model);
  if (level == nullptr) return false;
  const int64_t saved =
      plane1_row_bytes(model.dims()) - sign_row_bytes(sign_bits_of(level->rotation, model.dims()));
  return context.scan_bits == 4 ||
         rows_in_lists(model) * saved >= static_cast<int64_t>(level->rotation.size_bytes());
}

const PlaneLevel* signed_planes(const Model& model) {
  const PlaneLevel* found = nullptr;
  for (const ModelPart& part : model.parts()) {
    if (part.planes == nullptr) continue;
    if (!part.planes->has_signs() ||
        (found != nullptr && found->rotation.data() != part.planes->rotation.data()))
      return nullptr;
    found = part.planes;
  }
  return found;
}

ListProducts coded_products(const ScanContext& context, const ListCodes& lists, const Query& query) {
  std::vector<int32_t> sums(static_cast<size_t>(lists.lists()));
  const std::vector<int16_t> codes = encode_query(lists, query.vector, query.norm_squared);
  context.kernels.list_products(codes.data(), lists.codes.data(), lists.lists(), lists.dims, sums.data());
  const double inverse = 1 / std::sqrt(query.norm_squared);
  // Codes of either vector are off by at most a half.
  double off = static_cast<double>(127 * lists.dims);
  for (size_t j = 0; j < query.vector.size(); ++j)
    off += std::abs(query.vector[j] * inverse) * lists.steps[j] * lists.scale;
  ListProducts result;
  double largest = 0;
  for (size_t i = 0; i < sums.size(); ++i) {
    const double factor = lists.factors[i];
    largest = std::max(largest, factor);
    result.products.push_back(static_cast<float>(sums[i] * factor));
  }
  result.off = round_up_to_float((off / 2 + lists.scale * kProductSlack) * largest);
  return result;
}

std::optional<SignSearch> SignSearch::create(const ScanContext& context, const SearchRequest& request,
                                             const double* wide) {
  const PlaneLevel& level = *signed_planes(context.model);
  const std::vector<float> rotated = rotate(context, *request.query, wide, level.rotation);
  if (rotated.empty()) return std::nullopt;
  SignSearch search;
  const SplitQuery split = split_query(rotated, 1);
  const auto bits = std::ssize(rotated);
  context.kernels.signs->pack(split, bits, search.codes_);
  search.line_ = upper_line(split.high.bound, split.high.scale, split.high.code_sum, 1, bits);
  const int64_t rows =
      std::clamp<int64_t>(answerable_rows(context.model, request.query->among.get()), 1, request.k);
  search.factor_ = certain_factor(context.model.dims(), request.certainty, rows);
  const RecallTable* const recall = level.recall;
  // What has no vectors reads planes of the rows that are left, for which products must be exact.
  if (recall != nullptr && !recall->is_damaged && has_vectors(context.model))
    search.products_ = coded_products(context, recall->lists, *request.query);
  return search;
}

}  // namespace glove::cpu
