#include "gpu/analysis/cuda_analysis.h"

#include <algorithm>
#include <utility>

#include "analysis/convolve.h"
#include "gpu/device/cuda_memory.h"
#include "gpu/kernels/convolve.h"

namespace glove::gpu {
namespace {

constexpr double kLaunchProducts = int64_t{1} << 32;  // a few ms at most

// Launches one convolution, in pieces of rows, and waits for it.
Status convolve_rows(ConvolveParams<double> params, const Stream& stream, const InterruptCheck& interrupted) {
  const double row_products = static_cast<double>(params.columns) * params.height * params.width;
  const auto step =
      static_cast<int64_t>(std::clamp(kLaunchProducts / row_products, 64.0, 1.0 * kMostConvolvedRows));
  for (int64_t row = 0; row < params.rows; row += step) {
    params.first_row = row;
    params.end_row = std::min(params.rows, row + step);
    GLOVE_RETURN_IF_ERROR(cuda_status(launch_convolve(params, stream.get()), "launching a convolution"));
    GLOVE_RETURN_IF_ERROR(stream.wait("convolving"));
    GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
  }
  return {};
}

}  // namespace

Result<Grid> cuda_convolve(const Grid& grid, std::span<const Grid> kernels,
                           const InterruptCheck& interrupted) {
  const auto values = static_cast<int64_t>(grid.values.size());
  Stream stream;
  DeviceArray<double> from, to, weights;
  GLOVE_RETURN_IF_ERROR(stream.create());
  GLOVE_RETURN_IF_ERROR(from.reserve(values));
  GLOVE_RETURN_IF_ERROR(to.reserve(values));
  GLOVE_RETURN_IF_ERROR(stream.upload(from.data(), grid.values.data(), values));
  double* in = from.data();
  double* out = to.data();
  for (const Grid& kernel : kernels) {
    const Grid by = cropped_kernel(kernel, grid);
    const auto count = static_cast<int64_t>(by.values.size());
    GLOVE_RETURN_IF_ERROR(weights.reserve(count));
    GLOVE_RETURN_IF_ERROR(stream.upload(weights.data(), by.values.data(), count));
    const ConvolveParams<double> params = {in,
                                           weights.data(),
                                           grid.rows,
                                           static_cast<int32_t>(grid.columns),
                                           static_cast<int32_t>(by.rows),
                                           static_cast<int32_t>(by.columns),
                                           0,
                                           0,
                                           out};
    GLOVE_RETURN_IF_ERROR(convolve_rows(params, stream, interrupted));
    std::swap(in, out);
  }
  Grid result(grid.rows, grid.columns);
  GLOVE_RETURN_IF_ERROR(stream.download(result.values.data(), in, values, "copying a convolution"));
  GLOVE_RETURN_IF_ERROR(stream.wait("copying a convolution"));
  return result;
}

}  // namespace glove::gpu
