// Lists what an upload copies of a model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "gpu/residency/upload.h"
#include "model/model.h"

namespace glove::gpu {

// The tasks of one Upload. Arrays are read from their file if they have one, because reading them through the
// map costs a page fault per page. The model must outlive the upload.
class CopyTasks {
 public:
  explicit CopyTasks(const Model& model) : model_(model) {}

  // Adds an array of the model, which is copied to `to` within the upload's block of device memory.
  template <class T>
  void add(std::span<const T> array, int64_t to) {
    add_bytes(std::as_bytes(array), to);
  }

  // The same for the scales or the residuals of a part, followed by those of the zero rows that complete the
  // last tile.
  void add_scales(std::span<const float> scales, int64_t to);
  void add_residuals(std::span<const float> residuals, int64_t to);

  // Returns the tasks so far, and forgets them.
  std::vector<CopyTask> take() { return std::exchange(tasks_, {}); }

 private:
  void add_bytes(std::span<const std::byte> bytes, int64_t to);
  void add_padding(std::span<const float> padding, int64_t rows, int64_t to);

  const Model& model_;
  std::vector<CopyTask> tasks_;
};

}  // namespace glove::gpu
