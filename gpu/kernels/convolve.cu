#include "gpu/kernels/convolve.cuh"

namespace glove::gpu {

cudaError_t launch_convolve(const ConvolveParams<double>& params, cudaStream_t stream) {
  return launch_convolve_rows(params, stream);
}

}  // namespace glove::gpu
