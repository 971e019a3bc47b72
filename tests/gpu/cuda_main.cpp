#include <gtest/gtest.h>

#include "cpu/cpu_backend.h"
#include "gpu/cuda_backend.h"

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  glove::register_backend(glove::make_cuda_backend());
  glove::register_backend(glove::make_cpu_backend());
  return RUN_ALL_TESTS();
}
