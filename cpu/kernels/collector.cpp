#include "cpu/kernels/collector.h"

#include <functional>

#include "lists/code_estimate.h"

namespace glove::cpu {

float kth_largest(std::vector<float>& values, int64_t k) {
  if (values.size() < static_cast<size_t>(k)) return -std::numeric_limits<float>::infinity();
  const auto kth = values.begin() + (k - 1);
  std::nth_element(values.begin(), kth, values.end(), std::greater<>());
  return *kth;
}

void SharedBounds::offer(std::span<const float> lower_bounds) {
  const float threshold = threshold_.value();
  const auto raises = [threshold](float lower) { return lower > threshold; };
  if (std::none_of(lower_bounds.begin(), lower_bounds.end(), raises)) return;
  const Lock lock(mutex_);
  for (const float lower : lower_bounds) {
    if (!raises(lower)) continue;  // NaN, from a damaged file: the row is a candidate but raises no threshold
    if (lower_bounds_.size() == k_) {
      if (!(lower > lower_bounds_.front())) continue;
      std::pop_heap(lower_bounds_.begin(), lower_bounds_.end(), std::greater<>());
      lower_bounds_.back() = lower;
    } else {
      lower_bounds_.push_back(lower);
    }
    std::push_heap(lower_bounds_.begin(), lower_bounds_.end(), std::greater<>());
  }
  if (lower_bounds_.size() == k_) threshold_.raise(lower_bounds_.front());
}

void FineQuery::bound(int32_t id, float& estimate, float& error) const {
  const ModelPart& part = model.part_of(id);
  const CodeLevel& level = part.level(8);
  if (!level.codes.empty()) estimate_score(level, id - part.first_row, part.dims, codes, estimate, error);
}

void Collector::offer(int32_t row, float estimate, float error) {
  if (std::isinf(error)) return;  // also the padding of a tile, which has no id
  const int32_t id = ids_.empty() ? row : ids_[static_cast<size_t>(row)];
  if (among_ != nullptr && !among_->admits(id)) return;
  if (std::binary_search(excluded_.begin(), excluded_.end(), id)) return;
  if (fine_ != nullptr) {
    fine_->bound(id, estimate, error);
    if (estimate + error < threshold_) return;
  }
  const float lower = estimate - error;
  // NaN is of a damaged file, or a row that is too long for its codes.
  const float upper =
      std::isnan(estimate + error) ? std::numeric_limits<float>::infinity() : estimate + error;
  if (candidates_.size() >= drop_at_) drop_ruled_out_candidates();
  candidates_.push_back({id, upper});
  unshared_.push_back(lower);
  if (unshared_.size() < shared_at_once_) return;
  shared_->offer(unshared_);
  unshared_.clear();
  refresh();
}

void Collector::drop_ruled_out_candidates() {
  std::erase_if(candidates_, [this](const Candidate& candidate) { return candidate.upper < threshold_; });
  drop_at_ = std::max(drop_at_, candidates_.size() * 2);
}

std::vector<Neighbor> rows_left(const SharedBounds& shared, std::span<const Collector* const> collectors,
                                std::vector<float> lower_bounds) {
  lower_bounds.insert(lower_bounds.end(), shared.lower_bounds().begin(), shared.lower_bounds().end());
  for (const Collector* collector : collectors)
    lower_bounds.insert(lower_bounds.end(), collector->unshared().begin(), collector->unshared().end());
  std::erase_if(lower_bounds, [](float bound) { return std::isnan(bound); });
  const float threshold = std::max(shared.threshold().value(), kth_largest(lower_bounds, shared.k()));
  std::vector<Neighbor> rows;
  for (const Collector* collector : collectors)
    for (const Collector::Candidate& candidate : collector->candidates())
      if (!(candidate.upper < threshold)) rows.push_back({candidate.id, candidate.upper});
  return rows;
}

}  // namespace glove::cpu
