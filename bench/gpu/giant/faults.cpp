#include "bench/gpu/giant/faults.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "bench/gpu/giant/session.h"
#include "bench/gpu/timing.h"
#include "gpu/layout/plan.h"

namespace glove::bench {
namespace {

constexpr int64_t kRows = 10;

// Memory of a device that somebody else has taken.
class TakenMemory {
 public:
  TakenMemory(int device, int64_t bytes) : device_(device) {
    require(cudaSetDevice(device_), "choosing a device");
    require(cudaMalloc(&data_, static_cast<size_t>(bytes)), "taking memory");
  }
  ~TakenMemory() {
    static_cast<void>(cudaSetDevice(device_));
    static_cast<void>(cudaFree(data_));
    static_cast<void>(cudaSetDevice(0));
  }
  TakenMemory(const TakenMemory&) = delete;
  TakenMemory& operator=(const TakenMemory&) = delete;

 private:
  const int device_;
  void* data_ = nullptr;
};

class Faults {
 public:
  Faults(const ModelPtr& model, std::span<const Query> queries, const Truth& truth)
      : model_(model), queries_(queries), truth_(truth) {}

  int64_t wrong() const { return wrong_; }

  // A query that is interrupted while the model is being copied.
  void interrupt_upload() {
    const Session session(model_);
    const auto free_before = free_bytes();
    const auto start = Clock::now();
    // Half of the time that copying the codes takes at 50 GB/s and device.
    const gpu::MemoryPlan plan = gpu::plan_memory(model_->words(), model_->dims());
    const double trip_us =
        static_cast<double>(plan.scan_bytes) / static_cast<double>(free_before.size()) / 50e3 / 2;
    double tripped_us = 0;
    const InterruptCheck interrupted = [&] {
      if (us_since(start) < trip_us) return false;
      if (tripped_us == 0) tripped_us = us_since(start);
      return true;
    };
    const auto answers = session.ask(queries_.first(1), kRows, "cuda", nullptr, interrupted);
    const double returned_us = us_since(start);
    const bool right = !answers.ok() && answers.error().code == ErrorCode::kInterrupted && tripped_us > 0;
    wrong_ += right ? 0 : 1;
    const auto free_after = free_bytes();
    int64_t kept = 0;
    for (size_t i = 0; i < free_after.size(); ++i) kept = std::max(kept, free_before[i] - free_after[i]);
    Line line("fault: interrupted upload");
    line.add("error", answers.ok() ? std::string() : answers.error().message);
    line.add("ms_after_interrupt", (returned_us - tripped_us) * 1e-3).add("device_bytes_kept", kept);
    check(session, line);
  }

  // The limit leaves room for codes on every device, and not for vectors.
  void limit_to_codes() {
    const int64_t devices = static_cast<int64_t>(free_bytes().size());
    const gpu::MemoryPlan plan = gpu::plan_memory(model_->words(), model_->dims());
    set("gpu_memory", std::to_string(plan.scan_bytes / devices * 5 / 4));
    const Session session(model_);
    Line line("fault: gpu_memory holds the codes alone");
    check(session, line);
    set("gpu_memory", "0");
  }

  void limit_to_nothing() {
    const gpu::MemoryPlan plan = gpu::plan_memory(model_->words(), model_->dims());
    set("gpu_memory", std::to_string(plan.scan_bytes / 20));
    const Session session(model_);
    const auto answers = session.ask(queries_.first(1), kRows);
    wrong_ += answers.ok() || answers.error().code != ErrorCode::kOutOfMemory ? 1 : 0;
    Line line("fault: gpu_memory holds nothing");
    line.add("error", answers.ok() ? std::string() : answers.error().message);
    check(session, line, "auto");
    set("gpu_memory", "0");
  }

  // One device has a fifth of the memory that the others have.
  void take_memory() {
    const auto free = free_bytes();
    if (free.size() < 2) return;
    const TakenMemory taken(1, free[1] / 5 * 4);
    const Session session(model_);
    Line line("fault: another program has four fifths of the memory of device 1");
    check(session, line);
  }

  // The setting names one device while the model is on all of them, and then the model is opened again.
  void take_device() {
    if (free_bytes().size() < 2) return;
    {
      const Session session(model_);
      session.settle(queries_.front());
      set("devices", "0");
      Line line("fault: a device is taken away from a model in use");
      check(session, line);
    }
    const Session session(model_);
    Line line("fault: opened again without the device");
    check(session, line);
    set("devices", "62");
    const Session elsewhere(model_);
    const auto answers = elsewhere.ask(queries_.first(1), kRows);
    wrong_ += answers.ok() ? 1 : 0;
    Line("fault: a device that does not exist")
        .add("error", answers.ok() ? std::string() : answers.error().message);
    set("devices", "all");
  }

 private:
  void check(const Session& session, Line& line, const std::string& backend = "cuda") {
    const auto opening = Clock::now();
    session.ask_or_exit(queries_.first(1), kRows, backend);
    line.add("first_answer_ms", us_since(opening) * 1e-3);
    if (backend == "cuda") session.settle(queries_.front());
    const auto start = Clock::now();
    const int64_t different = session.different(queries_, truth_, kRows, false, backend);
    line.add("query_us", us_since(start) / static_cast<double>(queries_.size()));
    wrong_ += different;
    line.add("different", different).add("queries", queries_.size());
    const SearcherInfo info = session.info();
    line.add("device", info.device).add("state", info.state).add("device_bytes", info.device_bytes);
  }

  const ModelPtr model_;
  const std::span<const Query> queries_;
  const Truth& truth_;
  int64_t wrong_ = 0;
};

}  // namespace

int64_t try_faults(const ModelPtr& model, std::span<const Query> queries, const Truth& truth) {
  Faults faults(model, queries, truth);
  faults.interrupt_upload();
  faults.limit_to_codes();
  faults.limit_to_nothing();
  faults.take_memory();
  faults.take_device();
  return faults.wrong();
}

}  // namespace glove::bench
