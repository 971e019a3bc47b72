// The least time that a scan can take: reads the bytes that a scan reads, once, on as many threads, and does
// nothing else.
//
//   bare_read MODEL.safetensors THREADS
//
// For each line on standard input it reads the bytes once and prints the microseconds it took.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "bench/read_bytes.h"
#include "loader/open.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: bare_read MODEL.safetensors THREADS\n");
    return 1;
  }
  const auto model = glove::open_model(argv[1]);
  if (!model.ok()) {
    std::fprintf(stderr, "%s\n", model.error().message.c_str());
    return 1;
  }
  const glove::bench::ScannedBytes bytes(*model.value());
  const int threads = std::atoi(argv[2]);
  for (std::string line; std::getline(std::cin, line);) {
    const auto start = std::chrono::steady_clock::now();
    bytes.read(threads);
    const std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - start;
    std::printf("%.1f\n", elapsed.count());
    std::fflush(stdout);
  }
  return 0;
}
