#include "cpu/search/scan.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "model/exact_dot.h"

namespace glove::cpu {
namespace {

constexpr size_t kRowsPerCall = 4;
constexpr int64_t kFloatsPerLine = 16;
// The beginning of a row that is fetched ahead. The processor fetches the rest of a longer row by itself.
constexpr int64_t kFetchedFloats = 512;
// About as many floats are on their way at any time: a core waits for no more cache lines than those at once.
constexpr int64_t kFloatsAhead = 2048;

}  // namespace

void fetch_row(const Model& model, int64_t id) {
  const ModelPart& part = model.part_of(id);
  const int64_t row = id - part.first_row;
  const float* const x = part.vector(row);
  const int64_t floats = std::min(part.dims, kFetchedFloats);
  for (int64_t j = 0; j < floats; j += kFloatsPerLine) __builtin_prefetch(x + j);
  __builtin_prefetch(x + floats - 1);
  __builtin_prefetch(&part.norms_squared[static_cast<size_t>(row)]);
}

void score_rows(const ScanContext& context, const Query& query, const double* wide,
                std::span<Neighbor> rows) {
  const Model& model = context.model;
  const int64_t dims = model.dims();
  const auto ahead = static_cast<size_t>(std::clamp<int64_t>(kFloatsAhead / dims, kRowsPerCall, 64));
  for (size_t i = 0; i < std::min(ahead, rows.size()); ++i) fetch_row(model, rows[i].id);
  for (size_t first = 0; first < rows.size(); first += kRowsPerCall) {
    const size_t count = std::min(kRowsPerCall, rows.size() - first);
    const float* vectors[kRowsPerCall] = {};
    double dots[kRowsPerCall];
    for (size_t i = first; i < first + count; ++i) {
      if (i + ahead < rows.size()) fetch_row(model, rows[i + ahead].id);
      vectors[i - first] = model.vector(rows[i].id);
    }
    context.kernels.cached_dots(wide, vectors, static_cast<int64_t>(count), dims, dots);
    for (size_t i = 0; i < count; ++i) {
      Neighbor& row = rows[first + i];
      const double norm_squared = model.norm_squared(row.id);
      row.similarity =
          norm_squared > 0 ? cosine_from_dots(dots[i], query.norm_squared, norm_squared) : kNoSimilarity;
    }
  }
}

}  // namespace glove::cpu
