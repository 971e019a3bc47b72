#include "gpu/analysis/cuda_convolve.h"

#include <algorithm>
#include <utility>

#include "analysis/convolve.h"
#include "gpu/device/cuda_memory.h"
#include "gpu/kernels/convolve.h"

namespace glove::gpu {
namespace {

constexpr double kLaunchProducts = int64_t{1} << 32;  // a few ms at most

Status copy(void* to, const void* from, int64_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return cuda_status(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), kind, stream),
                     kind == cudaMemcpyHostToDevice ? "copying to the device" : "copying a convolution");
}

// Launches one convolution, in pieces of rows, and waits for it.
Status convolve_rows(ConvolveParams<double> params, cudaStream_t stream, const InterruptCheck& interrupted) {
  const double row_products = static_cast<double>(params.columns) * params.height * params.width;
  const auto step =
      static_cast<int64_t>(std::clamp(kLaunchProducts / row_products, 64.0, 1.0 * kMostConvolvedRows));
  for (int64_t row = 0; row < params.rows; row += step) {
    params.first_row = row;
    params.end_row = std::min(params.rows, row + step);
    GLOVE_RETURN_IF_ERROR(cuda_status(launch_convolve(params, stream), "launching a convolution"));
    GLOVE_RETURN_IF_ERROR(cuda_status(cudaStreamSynchronize(stream), "convolving"));
    GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
  }
  return {};
}

}  // namespace

Result<Grid> cuda_convolve(const Grid& grid, std::span<const Grid> kernels,
                           const InterruptCheck& interrupted) {
  const auto bytes = static_cast<int64_t>(grid.values.size() * sizeof(double));
  Stream stream;
  DeviceMemory from, to, weights;
  GLOVE_RETURN_IF_ERROR(stream.create());
  GLOVE_RETURN_IF_ERROR(from.reserve(bytes));
  GLOVE_RETURN_IF_ERROR(to.reserve(bytes));
  GLOVE_RETURN_IF_ERROR(copy(from.data(), grid.values.data(), bytes, cudaMemcpyHostToDevice, stream.get()));
  double* in = from.as<double>();
  double* out = to.as<double>();
  for (const Grid& kernel : kernels) {
    const Grid by = cropped_kernel(kernel, grid);
    const auto weight_bytes = static_cast<int64_t>(by.values.size() * sizeof(double));
    GLOVE_RETURN_IF_ERROR(weights.reserve(weight_bytes));
    GLOVE_RETURN_IF_ERROR(
        copy(weights.data(), by.values.data(), weight_bytes, cudaMemcpyHostToDevice, stream.get()));
    const ConvolveParams<double> params = {in,
                                           weights.as<double>(),
                                           grid.rows,
                                           static_cast<int32_t>(grid.columns),
                                           static_cast<int32_t>(by.rows),
                                           static_cast<int32_t>(by.columns),
                                           0,
                                           0,
                                           out};
    GLOVE_RETURN_IF_ERROR(convolve_rows(params, stream.get(), interrupted));
    std::swap(in, out);
  }
  Grid result(grid.rows, grid.columns);
  GLOVE_RETURN_IF_ERROR(copy(result.values.data(), in, bytes, cudaMemcpyDeviceToHost, stream.get()));
  GLOVE_RETURN_IF_ERROR(cuda_status(cudaStreamSynchronize(stream.get()), "copying a convolution"));
  return result;
}

}  // namespace glove::gpu
