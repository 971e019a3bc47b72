// The ladder that led to the shipped scan, and the yardsticks: every row's product with one query, n x 300,
// by
//   row       one thread per row
//   shared8   eight threads per row, partial sums in shared memory
//   shuffle8  eight threads per row, partial sums by register shuffles
// (the three kernels of the course project that this extension grew from), each in float32, float16 and int8,
// then cuBLAS gemv, and CUB's radix sort of all scores. Each step is checked against double sums on the host
// before it is timed. One JSON object on stdout.
#include <cublas_v2.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cub/device/device_radix_sort.cuh>
#include <functional>
#include <string>
#include <vector>

namespace {

constexpr int kDims = 300;
constexpr int kGroups = kDims / 4;
constexpr int kThreads = 256;

void require(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

// Four components of a row.
struct Half4 {
  __half2 a, b;
};
template <class T>
struct Four;
template <>
struct Four<float> {
  using Type = float4;
};
template <>
struct Four<__half> {
  using Type = Half4;
};
template <>
struct Four<int8_t> {
  using Type = int;
};

__device__ float multiply(float sum, float4 x, float4 q) {
  return fmaf(x.x, q.x, fmaf(x.y, q.y, fmaf(x.z, q.z, fmaf(x.w, q.w, sum))));
}
__device__ float multiply(float sum, Half4 x, Half4 q) {
  const float2 xa = __half22float2(x.a), xb = __half22float2(x.b);
  const float2 qa = __half22float2(q.a), qb = __half22float2(q.b);
  return fmaf(xa.x, qa.x, fmaf(xa.y, qa.y, fmaf(xb.x, qb.x, fmaf(xb.y, qb.y, sum))));
}
__device__ float multiply(float sum, int x, int q) {
  return sum + static_cast<float>(__dp4a(x, q, 0));
}

template <class T>
__global__ void row_kernel(const T* rows, const T* query, int64_t n, float* scores) {
  using F = typename Four<T>::Type;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (row >= n) return;
  const auto* x = reinterpret_cast<const F*>(rows + row * kDims);
  const auto* q = reinterpret_cast<const F*>(query);
  float sum = 0;
#pragma unroll 5
  for (int g = 0; g < kGroups; ++g) sum = multiply(sum, x[g], q[g]);
  scores[row] = sum;
}

template <class T>
__device__ float lane_sum(const T* rows, const T* query, int64_t row, int lane) {
  using F = typename Four<T>::Type;
  const auto* x = reinterpret_cast<const F*>(rows + row * kDims);
  const auto* q = reinterpret_cast<const F*>(query);
  float sum = 0;
#pragma unroll 5
  for (int g = lane; g < kGroups; g += 8) sum = multiply(sum, x[g], q[g]);
  return sum;
}

template <class T>
__global__ void shared8_kernel(const T* rows, const T* query, int64_t n, float* scores) {
  __shared__ float partial[kThreads];
  const int64_t row = (static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x) / 8;
  const int lane = static_cast<int>(threadIdx.x) & 7;
  partial[threadIdx.x] = row < n ? lane_sum(rows, query, row, lane) : 0;
  for (int half = 4; half > 0; half /= 2) {
    __syncthreads();
    if (lane < half) partial[threadIdx.x] += partial[threadIdx.x + half];
  }
  if (lane == 0 && row < n) scores[row] = partial[threadIdx.x];
}

template <class T>
__global__ void shuffle8_kernel(const T* rows, const T* query, int64_t n, float* scores) {
  const int64_t row = (static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x) / 8;
  const int lane = static_cast<int>(threadIdx.x) & 7;
  float sum = row < n ? lane_sum(rows, query, row, lane) : 0;
  for (int offset = 4; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  if (lane == 0 && row < n) scores[row] = sum;
}

__device__ uint64_t mix(uint64_t z) {
  z += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// The components of rows of about unit length in all three types; int8 has one scale for all rows.
__global__ void fill_kernel(int64_t count, uint64_t seed, float* f, __half* h, int8_t* c) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride) {
    const uint64_t bits = mix(seed + static_cast<uint64_t>(i));
    const int sum =
        static_cast<int>((bits & 0xffff) + ((bits >> 16) & 0xffff) + ((bits >> 32) & 0xffff) + (bits >> 48));
    const float x = static_cast<float>(sum - 131070) * (0.0577f / 37837.0f);
    f[i] = x;
    h[i] = __float2half(x);
    c[i] = static_cast<int8_t>(max(-127, min(127, __float2int_rn(x * 500.0f))));
  }
}

__global__ void ids_kernel(int64_t n, int* ids) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) ids[i] = static_cast<int>(i);
}

// Median microseconds of `work` between two events, after warm-up.
double time_us(const std::function<void()>& work) {
  cudaEvent_t begin, end;
  require(cudaEventCreate(&begin), "event");
  require(cudaEventCreate(&end), "event");
  std::vector<double> times;
  for (int i = 0; i < 25; ++i) {
    require(cudaEventRecord(begin), "event");
    work();
    require(cudaEventRecord(end), "event");
    require(cudaEventSynchronize(end), "waiting");
    require(cudaGetLastError(), "launch");
    float ms = 0;
    require(cudaEventElapsedTime(&ms, begin, end), "event");
    if (i >= 5) times.push_back(ms * 1e3);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

struct Data {
  int64_t n;
  float* f;
  __half* h;
  int8_t* c;
  float* scores;
};

double as_double(float x) {
  return x;
}
double as_double(__half x) {
  return __half2float(x);
}
double as_double(int8_t x) {
  return x;
}

// Checks a few rows of `scores` against double sums on the host.
template <class T>
void check(const T* rows, const float* scores, int64_t n, const char* name) {
  std::vector<T> q(kDims), x(kDims);
  require(cudaMemcpy(q.data(), rows, kDims * sizeof(T), cudaMemcpyDeviceToHost), "copy");
  for (int64_t row = 0; row < n; row += n / 97) {
    float score = 0;
    require(cudaMemcpy(x.data(), rows + row * kDims, kDims * sizeof(T), cudaMemcpyDeviceToHost), "copy");
    require(cudaMemcpy(&score, scores + row, 4, cudaMemcpyDeviceToHost), "copy");
    double wanted = 0, size = 0;
    for (int j = 0; j < kDims; ++j) {
      wanted += as_double(x[static_cast<size_t>(j)]) * as_double(q[static_cast<size_t>(j)]);
      size += std::fabs(as_double(x[static_cast<size_t>(j)]) * as_double(q[static_cast<size_t>(j)]));
    }
    if (std::fabs(score - wanted) <= 1e-5 * size) continue;
    std::fprintf(stderr, "%s: row %ld is %g instead of %g\n", name, static_cast<long>(row), score, wanted);
    std::exit(1);
  }
}

template <class T>
void ladder(const char* type, const T* rows, const Data& data) {
  const auto by_row = static_cast<unsigned>((data.n + kThreads - 1) / kThreads);
  const auto by_eight = static_cast<unsigned>((data.n * 8 + kThreads - 1) / kThreads);
  struct Step {
    const char* name;
    std::function<void()> run;
  };
  const T* query = rows;  // the first row
  const Step steps[] = {
      {"row", [&] { row_kernel<<<by_row, kThreads>>>(rows, query, data.n, data.scores); }},
      {"shared8", [&] { shared8_kernel<<<by_eight, kThreads>>>(rows, query, data.n, data.scores); }},
      {"shuffle8", [&] { shuffle8_kernel<<<by_eight, kThreads>>>(rows, query, data.n, data.scores); }},
  };
  for (const Step& step : steps) {
    require(cudaMemset(data.scores, 0xff, static_cast<size_t>(data.n) * 4), "poison");
    step.run();
    require(cudaDeviceSynchronize(), step.name);
    check(rows, data.scores, data.n, step.name);
    const double us = time_us(step.run);
    const double bytes = static_cast<double>(data.n) * kDims * sizeof(T);
    std::printf("  \"%s_%s_us\": %.5g, \"%s_%s_tb_s\": %.4g,\n", step.name, type, us, step.name, type,
                bytes / us * 1e-6);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Data data = {};
  data.n = argc > 1 ? std::atoll(argv[1]) : 2196016;
  const int64_t count = data.n * kDims;
  require(cudaMalloc(&data.f, static_cast<size_t>(count) * 4), "memory");
  require(cudaMalloc(&data.h, static_cast<size_t>(count) * 2), "memory");
  require(cudaMalloc(&data.c, static_cast<size_t>(count)), "memory");
  require(cudaMalloc(&data.scores, static_cast<size_t>(data.n) * 4), "memory");
  fill_kernel<<<4096, 256>>>(count, 12345, data.f, data.h, data.c);
  require(cudaDeviceSynchronize(), "filling");

  std::printf("{\n  \"words\": %ld,\n", static_cast<long>(data.n));
  ladder("float32", data.f, data);
  ladder("float16", data.h, data);
  ladder("int8", data.c, data);

  cublasHandle_t handle;
  if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) return 1;
  const float one = 1, zero = 0;
  const auto gemv = [&] {
    cublasSgemv(handle, CUBLAS_OP_T, kDims, static_cast<int>(data.n), &one, data.f, kDims, data.f, 1, &zero,
                data.scores, 1);
  };
  gemv();
  require(cudaDeviceSynchronize(), "gemv");
  check(data.f, data.scores, data.n, "gemv");
  const double gemv_us = time_us(gemv);

  int *ids = nullptr, *sorted_ids = nullptr;
  float* sorted = nullptr;
  require(cudaMalloc(&ids, static_cast<size_t>(data.n) * 4), "memory");
  require(cudaMalloc(&sorted_ids, static_cast<size_t>(data.n) * 4), "memory");
  require(cudaMalloc(&sorted, static_cast<size_t>(data.n) * 4), "memory");
  ids_kernel<<<static_cast<unsigned>((data.n + 255) / 256), 256>>>(data.n, ids);
  size_t bytes = 0;
  void* scratch = nullptr;
  const auto sort = [&] {
    require(cub::DeviceRadixSort::SortPairsDescending(scratch, bytes, data.scores, sorted, ids, sorted_ids,
                                                      static_cast<int>(data.n)),
            "sort");
  };
  sort();
  require(cudaMalloc(&scratch, bytes), "memory");
  const double sort_us = time_us(sort);
  std::printf("  \"cublas_gemv_us\": %.5g, \"cub_sort_us\": %.5g, \"gemv_and_sort_us\": %.5g\n}\n", gemv_us,
              sort_us, time_us([&] { gemv(), sort(); }));
  return 0;
}
