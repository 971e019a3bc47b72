#include "analysis/derive.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "analysis/moments.h"
#include "base/concat.h"
#include "base/float_environment.h"
#include "model/model_builder.h"

namespace glove {
namespace {

// A component with less than this share of the first one's variance is noise of the arithmetic: whitening
// makes it zero instead of dividing by it.
constexpr double kLeastVariance = 1e-12;
constexpr int64_t kMappedAtOnce = int64_t{1} << 21;  // components; few, so that they stay in the cache

Status check(const PrincipalComponents& components, const DeriveOptions& options) {
  if (options.remove < 0) return invalid_argument("remove must not be negative, but is ", options.remove);
  if (options.dims < 0) return invalid_argument("dims must not be negative, but is ", options.dims);
  const int64_t kept = std::max<int64_t>(1, options.dims);
  if (options.remove > components.dims - kept)
    return invalid_argument("remove ", options.remove, " and dims ", options.dims, " need more than the ",
                            components.dims, " dimensions that the model has");
  return {};
}

// Rows of the matrix that project on the components from options.remove on.
std::vector<float> projection(const PrincipalComponents& components, const DeriveOptions& options,
                              int64_t count) {
  std::vector<float> matrix;
  matrix.reserve(static_cast<size_t>(count * components.dims));
  for (int64_t c = options.remove; c < options.remove + count; ++c) {
    const double variance = components.variances[static_cast<size_t>(c)];
    double factor = 1;
    if (options.whiten)
      factor = variance > kLeastVariance * components.variances[0] ? 1 / std::sqrt(variance) : 0;
    for (int64_t j = 0; j < components.dims; ++j)
      matrix.push_back(static_cast<float>(components.vector(c)[j] * factor));
  }
  return matrix;
}

// The identity without the first components.
std::vector<float> removal(const PrincipalComponents& components, int64_t remove) {
  const int64_t dims = components.dims;
  std::vector<double> matrix(static_cast<size_t>(dims * dims));
  for (int64_t i = 0; i < dims; ++i) matrix[static_cast<size_t>(i * dims + i)] = 1;
  for (int64_t c = 0; c < remove; ++c)
    for (int64_t i = 0; i < dims; ++i)
      for (int64_t j = 0; j < dims; ++j)
        matrix[static_cast<size_t>(i * dims + j)] -= components.vector(c)[i] * components.vector(c)[j];
  return {matrix.begin(), matrix.end()};
}

// Keeps the type of the keys.
Result<bool> add_row(ModelBuilder& builder, const Vocabulary& words, int64_t row,
                     std::span<const float> vector) {
  const std::string_view word = words.word(row);
  if (word.empty()) return false;  // a token, which cannot be a word
  if (words.key_type() == KeyType::kInteger)
    if (const std::optional<int64_t> key = integer_key(word)) return builder.add(*key, vector);
  return builder.add(word, vector);
}

// Adds the mapped rows from `first` on to the builder, as many as fit `mapped`.
Status add_rows(Analysis& analysis, const PointSet& set, const RowMap& map, int64_t first,
                std::span<float> mapped, ModelBuilder& builder, const InterruptCheck& interrupted) {
  const Points& all = set.points();
  const auto width = static_cast<size_t>(map.dims_out);
  Points rows;
  rows.rows = std::min(all.rows - first, static_cast<int64_t>(mapped.size() / width));
  rows.dims = all.dims;
  rows.vectors = all.vector(first);
  GLOVE_RETURN_IF_ERROR(analysis.map_rows(rows, map, mapped, interrupted));
  for (int64_t row = 0; row < rows.rows; ++row) {
    if (row % kMomentBlock == 0) GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
    GLOVE_RETURN_IF_ERROR(add_row(builder, set.model()->vocabulary(), set.row_id(first + row),
                                  mapped.subspan(static_cast<size_t>(row) * width, width)));
  }
  return {};
}

// The frequencies of the chosen words, or nullptr if the model has none or they have none.
std::shared_ptr<const std::vector<double>> counts_of(const PointSet& set) {
  const std::vector<double>* const all = set.model()->source().counts.get();
  if (all == nullptr) return nullptr;
  auto counts = std::make_shared<std::vector<double>>();
  double total = 0;
  for (int64_t row = 0; row < set.rows(); ++row) {
    counts->push_back((*all)[static_cast<size_t>(set.row_id(row))]);
    total += counts->back();
  }
  return total > 0 ? counts : nullptr;
}

}  // namespace

Result<RowMap> make_row_map(const PrincipalComponents& components, const DeriveOptions& options) {
  const ScopedFloatEnvironment environment;
  GLOVE_RETURN_IF_ERROR(check(components, options));
  RowMap map;
  map.dims_in = map.dims_out = components.dims;
  map.normalize = options.normalize;
  if (options.center || options.remove > 0 || options.whiten) map.mean = components.mean;
  if (options.dims > 0 || options.whiten) {
    map.dims_out = options.dims > 0 ? options.dims : components.dims - options.remove;
    map.matrix = projection(components, options, map.dims_out);
  } else if (options.remove > 0) {
    map.matrix = removal(components, options.remove);
  }
  return map;
}

Result<ModelPtr> derive_model(Analysis& analysis, const PointSet& set, RowMap map, const std::string& source,
                              const InterruptCheck& interrupted) {
  const ScopedFloatEnvironment environment;
  const int64_t step = std::min(set.rows(), std::max<int64_t>(1, kMappedAtOnce / map.dims_out));
  std::vector<float> mapped(static_cast<size_t>(step * map.dims_out));
  ModelBuilder builder(source);
  builder.set_metric(set.model()->metric());
  for (int64_t first = 0; first < set.rows(); first += step)
    GLOVE_RETURN_IF_ERROR(add_rows(analysis, set, map, first, mapped, builder, interrupted));
  Model::Source origin;
  origin.path = source;
  origin.derivation = std::make_shared<const RowMap>(std::move(map));
  origin.counts = counts_of(set);
  return builder.finish(std::move(origin), /*threads=*/0, interrupted);
}

}  // namespace glove
