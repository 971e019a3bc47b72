#include "bench/read_bytes.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>

#include "base/thread_pool.h"

namespace glove::bench {
namespace {

constexpr int64_t kChunkBytes = 192 << 10;

// Uses 32-byte loads if there are any, which was the fastest way on the machines tried.
#if defined(__x86_64__)
__attribute__((target_clones("avx2", "default")))
#endif
uint64_t
sum_words(const char* data, int64_t bytes) {
  uint64_t sums[16] = {};
  for (int64_t i = 0; i + 128 <= bytes; i += 128)
    for (int64_t j = 0; j < 16; ++j) {
      uint64_t word;
      std::memcpy(&word, data + i + 8 * j, 8);
      sums[j] += word;
    }
  return std::accumulate(sums, sums + 16, uint64_t{0});
}

std::atomic<uint64_t> g_sink;  // so that the compiler removes no read

}  // namespace

ScannedBytes::ScannedBytes(const Model& model) {
  const auto add = [&](const void* data, size_t size) {
    const auto bytes = static_cast<int64_t>(size);
    for (int64_t at = 0; at < bytes; at += kChunkBytes)
      chunks_.push_back({static_cast<const char*>(data) + at, std::min(kChunkBytes, bytes - at)});
    total_ += bytes;
  };
  for (const ModelPart& part : model.parts()) {
    const CodeLevel& level = part.level(8);
    add(level.codes.data(), level.codes.size_bytes());
    add(level.scales.data(), level.scales.size_bytes());
    add(level.residuals.data(), level.residuals.size_bytes());
  }
}

void ScannedBytes::read(int threads) const {
  ThreadPool::instance().run(threads, static_cast<int64_t>(chunks_.size()),
                             [this](int, int64_t i) {
                               const Chunk& chunk = chunks_[static_cast<size_t>(i)];
                               g_sink += sum_words(chunk.data, chunk.bytes);
                             },
                             {});
}

}  // namespace glove::bench
