#include "gpu/analysis/cuda_moments.h"

#include <algorithm>
#include <vector>

namespace glove::gpu {
namespace {

constexpr int64_t kMostSumBytes = int64_t{256} << 20;  // of blocks whose sums are waiting to be added
constexpr int64_t kMostBlocks = 4096;                  // per launch: a few ms

}  // namespace

Status CudaMoments::upload(DeviceMemory& to, const void* from, size_t bytes) {
  if (bytes == 0) return {};
  GLOVE_RETURN_IF_ERROR(to.reserve(static_cast<int64_t>(bytes)));
  return cuda_status(cudaMemcpyAsync(to.data(), from, bytes, cudaMemcpyHostToDevice, stream_.get()),
                     "copying to the device");
}

Status CudaMoments::sum_blocks(const DevicePart& part, std::span<const double> weights,
                               std::span<double> total, const InterruptCheck& interrupted,
                               const Launch& launch) {
  const auto size = static_cast<int64_t>(total.size());
  const int64_t blocks = (part.rows + kMomentBlock - 1) / kMomentBlock;
  const int64_t step = std::clamp<int64_t>(kMostSumBytes / (size * 8), 1, std::min(blocks, kMostBlocks));
  GLOVE_RETURN_IF_ERROR(sums_.reserve(step * size * 8));
  GLOVE_RETURN_IF_ERROR(total_.reserve(size * 8));
  GLOVE_RETURN_IF_ERROR(upload(weights_, weights.data(), weights.size_bytes()));
  GLOVE_RETURN_IF_ERROR(
      cuda_status(cudaMemsetAsync(total_.data(), 0, total.size_bytes(), stream_.get()), "clearing sums"));
  MomentParams params = {
      part.vectors,      part.rows, part.dims, weights.empty() ? nullptr : weights_.as<double>(), 0,
      sums_.as<double>()};
  for (int64_t first = 0; first < blocks; first += step) {
    const auto count = static_cast<int32_t>(std::min(step, blocks - first));
    params.first_block = static_cast<int32_t>(first);
    GLOVE_RETURN_IF_ERROR(cuda_status(launch(params, count), "launching sums over rows"));
    GLOVE_RETURN_IF_ERROR(
        cuda_status(launch_add_blocks(sums_.as<double>(), count, size, total_.as<double>(), stream_.get()),
                    "launching sums over rows"));
    if (first + step >= blocks) break;
    GLOVE_RETURN_IF_ERROR(cuda_status(cudaStreamSynchronize(stream_.get()), "summing over rows"));
    GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
  }
  GLOVE_RETURN_IF_ERROR(cuda_status(
      cudaMemcpyAsync(total.data(), total_.data(), total.size_bytes(), cudaMemcpyDeviceToHost, stream_.get()),
      "copying sums"));
  return cuda_status(cudaStreamSynchronize(stream_.get()), "summing over rows");
}

Status CudaMoments::column_sums(const DevicePart& part, std::span<const double> weights,
                                std::span<double> sums, const InterruptCheck& interrupted) {
  return sum_blocks(part, weights, sums, interrupted, [this](const MomentParams& params, int32_t blocks) {
    return launch_column_sums(params, blocks, stream_.get());
  });
}

Status CudaMoments::gram_product(const DevicePart& part, std::span<const float> vector,
                                 std::span<double> product, const InterruptCheck& interrupted) {
  GLOVE_RETURN_IF_ERROR(upload(vector_, vector.data(), vector.size_bytes()));
  return sum_blocks(part, {}, product, interrupted, [this](const MomentParams& params, int32_t blocks) {
    return launch_gram_product(params, vector_.as<float>(), blocks, stream_.get());
  });
}

Status CudaMoments::check_products() {
  uint32_t differences = 0;
  GLOVE_RETURN_IF_ERROR(upload(total_, &differences, sizeof(differences)));
  GLOVE_RETURN_IF_ERROR(
      cuda_status(launch_check_products(total_.as<uint32_t>(), stream_.get()), "checking tensor cores"));
  GLOVE_RETURN_IF_ERROR(cuda_status(cudaMemcpyAsync(&differences, total_.data(), sizeof(differences),
                                                    cudaMemcpyDeviceToHost, stream_.get()),
                                    "checking tensor cores"));
  GLOVE_RETURN_IF_ERROR(cuda_status(cudaStreamSynchronize(stream_.get()), "checking tensor cores"));
  tensor_cores_ = differences == 0;
  return {};
}

Status CudaMoments::second_moment(const DevicePart& part, const MomentRows& rows, std::span<double> moment,
                                  const InterruptCheck& interrupted) {
  if (!tensor_cores_) GLOVE_RETURN_IF_ERROR(check_products());
  const GramPlan plan = plan_gram(part.dims);
  std::vector<float> center(static_cast<size_t>(part.dims));
  std::copy(rows.center.begin(), rows.center.end(), center.begin());
  GLOVE_RETURN_IF_ERROR(upload(vector_, center.data(), center.size() * sizeof(float)));
  GLOVE_RETURN_IF_ERROR(upload(tiles_, plan.tiles.data(), plan.tiles.size() * sizeof(GramTile)));
  GLOVE_RETURN_IF_ERROR(upload(groups_, plan.groups.data(), plan.groups.size() * sizeof(GramGroup)));
  const GramShape shape = {static_cast<int32_t>(plan.groups.size()),
                           plan.warps,
                           plan.panel,
                           plan.width,
                           tiles_.as<GramTile>(),
                           groups_.as<GramGroup>()};
  std::vector<double> sums(static_cast<size_t>(plan.size()));
  GLOVE_RETURN_IF_ERROR(
      sum_blocks(part, rows.weights, sums, interrupted, [&](const MomentParams& params, int32_t blocks) {
        return launch_second_moment(params, shape, vector_.as<float>(), blocks, *tensor_cores_,
                                    stream_.get());
      }));
  unfold_gram(plan, sums, part.dims, moment);
  return {};
}

}  // namespace glove::gpu
