#include "tests/gpu/lost_device.h"

namespace glove::testing {
namespace {

__global__ void write_nowhere() {
  *reinterpret_cast<volatile int*>(16) = 1;
}

}  // namespace

void lose_the_device(int number) {
  static_cast<void>(cudaSetDevice(number));
  write_nowhere<<<1, 1>>>();
  static_cast<void>(cudaDeviceSynchronize());
  static_cast<void>(cudaSetDevice(0));
}

}  // namespace glove::testing
