// What the GPU ladders of the course labs share.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace glove::labs {

inline void require(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

template <class T>
class Array {
 public:
  explicit Array(int64_t size) : size_(size) {
    require(cudaMalloc(&data_, static_cast<size_t>(size) * sizeof(T)), "cudaMalloc");
  }
  ~Array() { cudaFree(data_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  T* data() const { return data_; }
  int64_t size() const { return size_; }
  void poison() const { require(cudaMemset(data_, 0xff, static_cast<size_t>(size_) * sizeof(T)), "poison"); }
  std::vector<T> host() const {
    std::vector<T> values(static_cast<size_t>(size_));
    require(cudaMemcpy(values.data(), data_, values.size() * sizeof(T), cudaMemcpyDeviceToHost), "copy");
    return values;
  }

 private:
  T* data_ = nullptr;
  int64_t size_;
};

__host__ __device__ inline double random_value(uint64_t i) {
  uint64_t z = (i + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return static_cast<double>(static_cast<int64_t>((z ^ (z >> 31)) >> 11)) * 0x1p-53 - 0.5;
}

template <class T>
static __global__ void fill_kernel(T* data, int64_t size, uint64_t seed) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < size; i += step)
    data[i] = static_cast<T>(random_value(seed + static_cast<uint64_t>(i)));
}

template <class T>
void fill(const Array<T>& array, uint64_t seed) {
  fill_kernel<<<2048, 256>>>(array.data(), array.size(), seed);
  require(cudaGetLastError(), "fill");
}

// The median time of the work, which is enqueued `batch` times between two events: launches of short work
// then overlap, as they do in a program.
inline double median_us(const std::function<void()>& work, int repeats, int batch = 1) {
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  std::vector<float> times;
  for (int i = 0; i < repeats + 2; ++i) {
    cudaEventRecord(begin);
    for (int j = 0; j < batch; ++j) work();
    cudaEventRecord(end);
    require(cudaEventSynchronize(end), "timing");
    float ms = 0;
    cudaEventElapsedTime(&ms, begin, end);
    if (i >= 2) times.push_back(ms / static_cast<float>(batch));
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  std::sort(times.begin(), times.end());
  return times[times.size() / 2] * 1e3;
}

inline void report(const char* work, const std::string& size, const char* step, double us, double bytes,
                   double error) {
  std::printf(
      "{\"work\": \"%s\", \"size\": \"%s\", \"step\": \"%s\", \"us\": %.2f, \"tb_s\": %.3f, \"error\": "
      "%.3g}\n",
      work, size.c_str(), step, us, bytes / us * 1e-6, error);
  std::fflush(stdout);
}

// The largest difference relative to the largest value; infinite if a value is not finite.
template <class T>
double difference(const std::vector<T>& got, const std::vector<T>& wanted) {
  double largest = 0, error = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    if (!std::isfinite(static_cast<double>(got[i]))) return INFINITY;
    largest = std::max(largest, std::fabs(static_cast<double>(wanted[i])));
    error = std::max(error, std::fabs(static_cast<double>(got[i]) - static_cast<double>(wanted[i])));
  }
  return error / largest;
}

// The ladders. Each step is checked against plain kernels, on poisoned outputs, before it is timed.
void time_gram_product(int64_t rows, int64_t columns);
void time_convolution(int64_t rows, int64_t columns);

}  // namespace glove::labs
