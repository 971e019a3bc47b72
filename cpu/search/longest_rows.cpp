#include "cpu/search/longest_rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "cpu/search/search_plan.h"
#include "search/admissible_codes.h"

namespace glove::cpu {
namespace {

// Fewer rows are scanned in less time than it takes to look at their lengths.
constexpr int64_t kLeastRows = 16384;
// One row of so many is copied. A search of factors with log-normal lengths reads one of 20 to 100 for k
// = 10.
constexpr int64_t kRowsPerCopied = 4;
// It pays if the 99th percentile of the lengths is at least so many times their median.
constexpr float kLeastSpread = 2;

// Returns the length of each row; none if a row has no bound.
std::vector<float> lengths_of(const Model& model) {
  std::vector<float> lengths;
  for (const ModelPart& part : model.parts()) {
    const CodeLevel& level = part.level(8);
    if (std::ranges::any_of(level.residuals, [](float one) { return std::isnan(one); })) return {};
    lengths.insert(lengths.end(), level.lengths.begin(), level.lengths.end());
  }
  return lengths;
}

bool are_spread(std::vector<float> lengths) {
  const auto middle = lengths.begin() + std::ssize(lengths) / 2;
  const auto high = lengths.begin() + std::ssize(lengths) * 99 / 100;
  std::nth_element(lengths.begin(), high, lengths.end());
  std::nth_element(lengths.begin(), middle, high);
  return *high >= kLeastSpread * *middle;
}

}  // namespace

Result<AdmissibleCodesPtr> LongestRows::codes(const Model& model, int threads,
                                              const InterruptCheck& interrupted) {
  const int64_t copied = std::min(model.words() / kRowsPerCopied,
                                  kMostCopied / AdmissibleCodes::bytes(kTileRows, model.dims()) * kTileRows);
  if (model.metric() != RowMetric::kDot || model.words() < kLeastRows || copied == 0)
    return AdmissibleCodesPtr();
  {
    const Lock lock(mutex_);
    if (++searches_ != 2) return codes_;
  }
  const std::vector<float> lengths = lengths_of(model);
  if (lengths.empty() || !are_spread(lengths)) return AdmissibleCodesPtr();
  std::vector<int32_t> rows(lengths.size());
  std::iota(rows.begin(), rows.end(), 0);
  const auto is_longer = [&](int32_t a, int32_t b) {
    return lengths[static_cast<size_t>(a)] > lengths[static_cast<size_t>(b)];
  };
  std::ranges::nth_element(rows, rows.begin() + copied, is_longer);
  const float others = lengths[static_cast<size_t>(rows[static_cast<size_t>(copied)])];
  rows.resize(static_cast<size_t>(copied));
  std::ranges::sort(rows, is_longer);
  Result<AdmissibleCodesPtr> made =
      AdmissibleCodes::copy(model, std::move(rows), threads, interrupted, static_cast<double>(others));
  const Lock lock(mutex_);
  if (made.ok())
    codes_ = made.value();
  else
    searches_ = 0;
  return made;
}

}  // namespace glove::cpu
