#include "cpu/search/longest_rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "cpu/search/search_plan.h"
#include "search/copied_codes.h"

namespace glove::cpu {
namespace {

// Fewer rows are scanned in less time than it takes to look at their lengths.
constexpr int64_t kLeastRows = 16384;
// One row of so many is copied.
constexpr int64_t kRowsPerCopied = 4;
// Copying takes as long as so many queries.
constexpr int64_t kQueriesBeforeCopy = 16;
// The balance after which a copy is dropped, and the one above which savings do not count.
constexpr int64_t kWorstBalance = -32;
constexpr int64_t kBestBalance = 256;
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

Result<CopiedCodesPtr> LongestRows::codes(const Model& model, int64_t queries, int threads,
                                          const InterruptCheck& interrupted) {
  const int64_t copied = std::min(model.words() / kRowsPerCopied,
                                  kMostCopied / CopiedCodes::bytes(kTileRows, model.dims()) * kTileRows);
  if (model.metric() != RowMetric::kDot || model.words() < kLeastRows || copied == 0) return CopiedCodesPtr();
  {
    const Lock lock(mutex_);
    const int64_t before = queries_;
    queries_ += queries;
    if (was_made_ || before < kQueriesBeforeCopy) return codes_;
    was_made_ = true;
  }
  const std::vector<float> lengths = lengths_of(model);
  if (lengths.empty() || !are_spread(lengths)) return CopiedCodesPtr();
  std::vector<int32_t> rows(lengths.size());
  std::iota(rows.begin(), rows.end(), 0);
  const auto is_longer = [&](int32_t a, int32_t b) {
    return lengths[static_cast<size_t>(a)] > lengths[static_cast<size_t>(b)];
  };
  std::nth_element(rows.begin(), rows.begin() + copied, rows.end(), is_longer);
  const float next = lengths[static_cast<size_t>(rows[static_cast<size_t>(copied)])];
  rows.resize(static_cast<size_t>(copied));
  std::sort(rows.begin(), rows.end(), is_longer);
  Result<CopiedCodesPtr> made =
      CopiedCodes::copy(model, std::move(rows), threads, interrupted, static_cast<double>(next));
  const Lock lock(mutex_);
  if (made.ok()) codes_ = made.value();
  was_made_ = made.ok();
  return made;
}

void LongestRows::count(int64_t answered, int64_t unanswered) {
  const Lock lock(mutex_);
  balance_ = std::min(balance_ + (kRowsPerCopied - 1) * answered - unanswered, kBestBalance);
  if (balance_ < kWorstBalance) codes_.reset();
}

}  // namespace glove::cpu
