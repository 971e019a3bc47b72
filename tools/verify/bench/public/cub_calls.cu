// Calls an algorithm of CUB, which -DCUB_CALL=NUMBER chooses, so that its launches can be recorded.
#include <cub/cub.cuh>

#include <cstdio>
#include <cstdlib>

template <class Call>
void run(Call call) {
  void* scratch = nullptr;
  size_t bytes = 0;
  call(scratch, bytes);
  cudaMalloc(&scratch, bytes);
  call(scratch, bytes);
  const cudaError_t error = cudaDeviceSynchronize();
  std::printf("%s\n", cudaGetErrorString(error));
}

template <class T>
T* array(int count) {
  T* device;
  cudaMalloc(&device, count * sizeof(T));
  T* host = new T[count];
  for (int i = 0; i < count; ++i) host[i] = static_cast<T>(std::rand() % 100);
  cudaMemcpy(device, host, count * sizeof(T), cudaMemcpyHostToDevice);
  delete[] host;
  return device;
}

int main() {
  const int n = 10000, segments = 5, ends[segments + 1] = {0, 10, 2000, 2000, 7000, n};
  int *in = array<int>(n), *out = array<int>(n), *more = array<int>(n), *rest = array<int>(n), *count = array<int>(8);
  float *values = array<float>(n), *moved = array<float>(n);
  unsigned char* flags = array<unsigned char>(n);
  int* offsets = array<int>(segments + 1);
  cudaMemcpy(offsets, ends, sizeof ends, cudaMemcpyHostToDevice);
  const auto less = [] __device__(int a, int b) { return a < b; };
  const auto small = [] __device__(int a) { return a < 50; };
  run([&](void* s, size_t& b) {
#if CUB_CALL == 0
    cub::DeviceReduce::Sum(s, b, in, out, n);
#elif CUB_CALL == 1
    cub::DeviceReduce::ArgMin(s, b, values, moved, count, n);
#elif CUB_CALL == 2
    cub::DeviceScan::ExclusiveSum(s, b, in, out, n);
#elif CUB_CALL == 3
    cub::DeviceScan::InclusiveSumByKey(s, b, in, values, moved, n);
#elif CUB_CALL == 4
    cub::DeviceReduce::ReduceByKey(s, b, in, out, values, moved, count, cuda::std::plus<>(), n);
#elif CUB_CALL == 5
    cub::DeviceRunLengthEncode::Encode(s, b, in, out, more, count, n);
#elif CUB_CALL == 6
    cub::DeviceSelect::If(s, b, in, out, count, n, small);
#elif CUB_CALL == 7
    cub::DeviceSelect::Flagged(s, b, in, flags, out, count, n);
#elif CUB_CALL == 8
    cub::DeviceSelect::Unique(s, b, in, out, count, n);
#elif CUB_CALL == 9
    cub::DevicePartition::If(s, b, in, out, count, n, small);
#elif CUB_CALL == 10
    cub::DeviceRadixSort::SortKeys(s, b, in, out, 2000);
#elif CUB_CALL == 11
    cub::DeviceRadixSort::SortPairs(s, b, in, out, values, moved, n);
#elif CUB_CALL == 12
    cub::DeviceMergeSort::SortKeys(s, b, in, n, less);
#elif CUB_CALL == 13
    cub::DeviceHistogram::HistogramEven(s, b, in, out, 65, 0, 100, n);
#elif CUB_CALL == 14
    cub::DeviceSegmentedReduce::Sum(s, b, in, out, segments, offsets, offsets + 1);
#elif CUB_CALL == 15
    cub::DeviceSegmentedRadixSort::SortKeys(s, b, in, out, n, segments, offsets, offsets + 1);
#elif CUB_CALL == 16
    cub::DeviceSegmentedSort::SortKeys(s, b, in, out, n, segments, offsets, offsets + 1);
#elif CUB_CALL == 17
    cub::DeviceAdjacentDifference::SubtractLeftCopy(s, b, in, out, n);
#elif CUB_CALL == 18
    cub::DeviceMerge::MergeKeys(s, b, in, n / 2, more, n / 2, out);
#elif CUB_CALL == 19
    cub::DeviceTransform::Transform(in, out, n, [] __device__(int a) { return 2 * a; }), b = 1;
#elif CUB_CALL == 20
    cub::DeviceRunLengthEncode::NonTrivialRuns(s, b, in, out, more, count, n);
#elif CUB_CALL == 21
    cub::DeviceFor::ForEachN(in, n, [] __device__(int& a) { a += 1; }), b = 1;
#elif CUB_CALL == 22
    cub::DeviceSelect::UniqueByKey(s, b, in, values, out, moved, count, n);
#elif CUB_CALL == 23
    cub::DeviceReduce::Max(s, b, values, moved, 3000);
#endif
  });
}
