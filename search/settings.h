// The settings that glove_config reads and changes, with defaults from the environment.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/status.h"
#include "search/backends.h"

namespace glove {

// key           environment       values
// backend       GLOVE_BACKEND     auto (default), or a registered backend's name
// threads       GLOVE_THREADS     0 (default: the cores that this process may use) .. 1024
// gpu_memory    GLOVE_GPU_MEMORY  bytes, or with K, M, G; 0 (default) = all that the device has free
// devices       GLOVE_DEVICES     all (default), or the numbers of devices, such as 0,1
// index_memory  GLOVE_INDEX_MEMORY  bytes, or with K, M, G; 0 (default) = no limit
// audits        GLOVE_AUDITS      0 (none) .. 1000000; default 256: one approximate query in so many
// encode_limit  GLOVE_ENCODE_LIMIT  0 .. 1000000000; default 1000: texts that a neural model encodes unasked
// onnxruntime_provider  GLOVE_ONNXRUNTIME_PROVIDER  cpu (default) or cuda, for neural models loaded next
// onnxruntime   GLOVE_ONNXRUNTIME   the path of ONNX Runtime's library; empty by default
//
// A bad value in the environment is an error at every use until set() replaces it, and the error names the
// variable; a good value is read once. Thread-safe; reading a setting again takes no lock. settings.cpp has
// the table above; a new setting is a new row there.
class Settings {
 public:
  static constexpr std::string_view kOnnxRuntime = "onnxruntime";  // the only setting that is a text

  // The setting "backend" may name these backends. They must outlive this object.
  explicit Settings(const Backends& backends);

  // Values are text in the canonical spelling (gpu_memory: bytes; devices: rising numbers). The error for an
  // unknown key or value lists the valid ones.
  Result<std::string> get(std::string_view key);
  Status set(std::string_view key, std::string_view value);

  // nullptr: auto.
  Result<Backend*> backend();
  // 0: the cores that this process may use.
  Result<int> threads();
  // In bytes, on each device. 0: all that the device has free.
  Result<int64_t> gpu_memory() { return value(kGpuMemory); }
  // A set of bits: bit i is device i. 0: all. The devices need not exist.
  Result<uint64_t> devices();
  // In bytes, for the codes of live indexes. 0: no limit.
  Result<int64_t> index_memory() { return value(kIndexMemory); }
  // One approximate query in so many is answered exactly as well. 0: none.
  Result<int64_t> audits() { return value(kAudits); }
  // The most texts that CREATE and searches of an index have a neural model encode.
  Result<int64_t> encode_limit() { return value(kEncodeLimit); }
  // Of neural models that are loaded from now on. 0: the CPU; 1: CUDA.
  Result<int64_t> provider() { return value(kCuda); }
  // The path of ONNX Runtime's library; empty: none is given.
  std::string onnxruntime();

  // Increases with every set(): decisions based on older values are stale.
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

 private:
  enum Key { kBackend, kThreads, kGpuMemory, kDevices, kIndexMemory, kAudits, kEncodeLimit, kCuda, kKeys };
  struct Row;
  static const std::array<Row, kKeys> kRows;

  static Result<Key> find_key(std::string_view key);
  Result<int64_t> value(Key key);
  Result<int64_t> read_environment(Key key);

  const Backends& backends_;
  ForkSafeMutex mutex_;  // held while a value is replaced
  std::optional<std::string> onnxruntime_ GLOVE_GUARDED_BY(mutex_);
  std::array<std::atomic<int64_t>, kKeys> values_;
  std::atomic<uint64_t> generation_ = 1;
};

}  // namespace glove
