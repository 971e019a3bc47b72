// What benchmarks on a GPU need besides bench/timing.h.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdlib>

#include "bench/timing.h"

namespace glove::bench {

inline void require(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

}  // namespace glove::bench
