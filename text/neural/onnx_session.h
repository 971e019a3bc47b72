// A neural network that ONNX Runtime computes. The library is opened at run time, and its C API is called by
// the places of its functions, which never change, so that the extension builds and loads without it.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/io_thread.h"
#include "base/status.h"

namespace glove::neural {

// Files of older versions of the library can make it read files outside the model's folder.
constexpr std::array<int, 3> kLeastVersion = {1, 24, 2};
// Older ones lack functions.
constexpr std::array<int, 3> kOldestVersion = {1, 22, 0};

// The library that computes.
struct OnnxLibrary {
  std::string path;
  bool may_be_old = false;  // kOldestVersion suffices
  bool on_gpu = false;      // by its CUDA provider, without TF32
};

// What a run returns: the values of a tensor of float32, row-major.
struct OnnxTensor {
  std::vector<int64_t> shape;
  std::vector<float> values;
};

// Runs work() on a thread of its own, while this one asks `interrupted` and calls stop() once it says so.
// Returns whether it did. Throws what work() throws.
template <class Work, class Stop>
bool run_watched(const InterruptCheck& interrupted, const Work& work, const Stop& stop) {
  constexpr std::chrono::milliseconds kBetweenQuestions(5);
  std::packaged_task<void()> task(work);
  std::future<void> result = task.get_future();
  IoThread thread;
  bool stopped = false;
  if (!interrupted || !thread.start("glove-encode", [&task] { task(); })) return work(), false;
  while (result.wait_for(kBetweenQuestions) != std::future_status::ready)
    if (!stopped && interrupted()) {
      stopped = true;
      stop();
    }
  thread.join();
  result.get();
  return stopped;
}

struct OnnxApi;
// An object of the library with the function that frees it.
using OnnxObject = std::shared_ptr<void>;

// An open model of one process. Thread-safe. A run computes on the calling thread or on the GPU, so that no
// thread of the library outlives a fork.
class OnnxSession {
 public:
  // Opens the library and the model; an interrupt ends that unless the library cannot stop. Errors: the
  // library is missing, older or another one; the model is invalid or has an input other than input_ids,
  // attention_mask and token_type_ids.
  static Result<std::shared_ptr<const OnnxSession>> open(const OnnxLibrary& library, const std::string& file,
                                                         const InterruptCheck& interrupted);

  // Runs can be ended from any thread: those that got what make_stop() returned, by stop().
  Result<OnnxObject> make_stop() const;
  void stop(const OnnxObject& runs) const;
  // Computes the vectors of the texts (the output "sentence_embedding") or else the first output from the ids
  // of texts that have as many `tokens` each. Errors: those of the library, and an output that is no float32.
  Result<OnnxTensor> run(std::span<const int64_t> ids, size_t tokens, const OnnxObject& stop) const;

 private:
  explicit OnnxSession(const OnnxApi& api) : api_(api) {}
  Status open(const std::string& file, bool on_gpu, const InterruptCheck& interrupted);
  Result<std::vector<std::string>> names(size_t count, size_t name) const;
  Status read_names();
  Result<OnnxTensor> values_of(void* value) const;

  const OnnxApi& api_;
  OnnxObject memory_, session_;
  std::vector<size_t> inputs_;  // which of those above the model has, in its order
  std::string output_;
};

}  // namespace glove::neural
