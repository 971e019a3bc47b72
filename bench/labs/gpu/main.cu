// The ladders of the course labs on a GPU: y = A^T (A x) of a double matrix, and 3 x 3 convolution of a
// float32 matrix. bench/labs/gpu_labs.py has the yardsticks. One JSON object per line, with medians in
// microseconds.
//
//   gpu_labs_bench [convolution|atax|small]     small: sizes for a check
#include "bench/labs/gpu/ladder.cuh"

int main(int argc, char** argv) {
  using namespace glove::labs;
  const std::string only = argc > 1 ? argv[1] : "";
  const auto wanted = [&](const char* work) { return only.empty() || only == work; };
  if (only == "small") {
    time_gram_product(301, 700);
    time_gram_product(77, 9002);
    time_convolution(33, 132);
    time_convolution(7, 5);
  }
  if (wanted("convolution")) {
    time_convolution(4096, 4096);
    time_convolution(6000, 8000);
    time_convolution(8192, 8192);
  }
  if (wanted("atax")) {
    time_gram_product(2000, 3000);
    time_gram_product(4096, 4096);
    time_gram_product(16000, 16000);
    time_gram_product(65536, 25600);
  }
  return 0;
}
