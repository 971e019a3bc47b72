#include "gpu/analysis/cuda_analysis.h"

#include <algorithm>
#include <vector>

namespace glove::gpu {
namespace {

constexpr int64_t kMostSumBytes = int64_t{256} << 20;  // of blocks whose sums are waiting to be added
constexpr int64_t kMostBlocks = 4096;                  // per launch: a few ms

}  // namespace

template <class T>
Status CudaMoments::upload(DeviceArray<T>& to, std::span<const T> from) {
  const auto count = static_cast<int64_t>(from.size());
  if (count == 0) return {};
  GLOVE_RETURN_IF_ERROR(to.reserve(count));
  return stream_.upload(to.data(), from.data(), count);
}

Status CudaMoments::sum_blocks(const DevicePart& part, std::span<const double> weights,
                               std::span<double> total, const InterruptCheck& interrupted,
                               const Launch& launch) {
  const auto size = static_cast<int64_t>(total.size());
  const int64_t blocks = (part.rows + kMomentBlock - 1) / kMomentBlock;
  const int64_t step = std::clamp<int64_t>(kMostSumBytes / (size * 8), 1, std::min(blocks, kMostBlocks));
  GLOVE_RETURN_IF_ERROR(sums_.reserve(step * size));
  GLOVE_RETURN_IF_ERROR(total_.reserve(size));
  GLOVE_RETURN_IF_ERROR(upload(weights_, weights));
  GLOVE_RETURN_IF_ERROR(stream_.fill(total_.data(), 0, size, "clearing sums"));
  MomentParams params = {part.vectors, part.rows, part.dims, weights.empty() ? nullptr : weights_.data(), 0,
                         sums_.data()};
  for (int64_t first = 0; first < blocks; first += step) {
    const auto count = static_cast<int32_t>(std::min(step, blocks - first));
    params.first_block = static_cast<int32_t>(first);
    GLOVE_RETURN_IF_ERROR(cuda_status(launch(params, count), "launching sums over rows"));
    GLOVE_RETURN_IF_ERROR(
        cuda_status(launch_add_blocks(sums_.data(), count, size, total_.data(), stream_.get()),
                    "launching sums over rows"));
    if (first + step >= blocks) break;
    GLOVE_RETURN_IF_ERROR(stream_.wait("summing over rows"));
    GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
  }
  GLOVE_RETURN_IF_ERROR(stream_.download(total.data(), total_.data(), size, "copying sums"));
  return stream_.wait("summing over rows");
}

Status CudaMoments::sum(const DevicePart& part, const ColumnSums& what, const InterruptCheck& interrupted) {
  const auto launch = [this](const MomentParams& params, int32_t blocks) {
    return launch_column_sums(params, blocks, stream_.get());
  };
  return sum_blocks(part, what.weights, what.sums, interrupted, launch);
}

Status CudaMoments::sum(const DevicePart& part, const GramProduct& what, const InterruptCheck& interrupted) {
  GLOVE_RETURN_IF_ERROR(upload(vector_, what.vector));
  return sum_blocks(part, {}, what.product, interrupted, [this](const MomentParams& params, int32_t blocks) {
    return launch_gram_product(params, vector_.data(), blocks, stream_.get());
  });
}

Status CudaMoments::check_products() {
  uint32_t differences = 0;
  GLOVE_RETURN_IF_ERROR(upload(differences_, std::span<const uint32_t>(&differences, 1)));
  GLOVE_RETURN_IF_ERROR(
      cuda_status(launch_check_products(differences_.data(), stream_.get()), "checking tensor cores"));
  GLOVE_RETURN_IF_ERROR(stream_.download(&differences, differences_.data(), 1, "checking tensor cores"));
  GLOVE_RETURN_IF_ERROR(stream_.wait("checking tensor cores"));
  tensor_cores_ = differences == 0;
  return {};
}

Status CudaMoments::sum(const DevicePart& part, const SecondMoment& what, const InterruptCheck& interrupted) {
  if (!tensor_cores_) GLOVE_RETURN_IF_ERROR(check_products());
  const GramPlan plan = plan_gram(part.dims);
  std::vector<float> center(static_cast<size_t>(part.dims));
  std::copy(what.rows.center.begin(), what.rows.center.end(), center.begin());
  GLOVE_RETURN_IF_ERROR(upload(vector_, std::span<const float>(center)));
  GLOVE_RETURN_IF_ERROR(upload(tiles_, std::span(plan.tiles)));
  GLOVE_RETURN_IF_ERROR(upload(groups_, std::span(plan.groups)));
  const GramShape shape = {static_cast<int32_t>(plan.groups.size()),
                           plan.warps,
                           plan.panel,
                           plan.width,
                           tiles_.data(),
                           groups_.data()};
  std::vector<double> sums(static_cast<size_t>(plan.size()));
  GLOVE_RETURN_IF_ERROR(
      sum_blocks(part, what.rows.weights, sums, interrupted, [&](const MomentParams& params, int32_t blocks) {
        return launch_second_moment(params, shape, vector_.data(), blocks, *tensor_cores_, stream_.get());
      }));
  unfold_gram(plan, sums, part.dims, what.moment);
  return {};
}

}  // namespace glove::gpu
