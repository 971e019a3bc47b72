// A bare read of the bytes that a scan reads.
#pragma once

#include <cstdint>
#include <vector>

#include "model/model.h"

namespace glove::bench {

// The codes, scales and residuals of a model, cut into the chunks of a scan. The model must outlive this
// object.
class ScannedBytes {
 public:
  explicit ScannedBytes(const Model& model);

  // Reads every byte once on `threads` threads of the CPU backend's pool.
  void read(int threads) const;

  int64_t total() const { return total_; }

 private:
  struct Chunk {
    const char* data;
    int64_t bytes;
  };
  std::vector<Chunk> chunks_;
  int64_t total_ = 0;
};

}  // namespace glove::bench
