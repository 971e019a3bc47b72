// Where the library reports events that are not part of any answer, such as a backend that failed while
// another one answered, and the progress of long work. The library itself never prints.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "base/timer.h"

namespace glove {

// May be called from any thread, and must not call back into the library.
using LogSink = void (*)(const std::string& message);

// Passes messages on to a sink. Thread-safe.
class Log {
 public:
  // Replaces the sink; nullptr (the default) drops messages.
  void set_sink(LogSink sink) { sink_.store(sink); }

  void write(const std::string& message) {
    if (const LogSink sink = sink_.load()) sink(message);
  }

  // Writes the message unless one on the same topic was written before.
  void write_once(const std::string& topic, const std::string& message) {
    {
      const Lock lock(mutex_);
      if (!topics_.insert(topic).second) return;
    }
    write(message);
  }

 private:
  std::atomic<LogSink> sink_ = nullptr;
  ForkSafeMutex mutex_;  // not held while the sink runs
  std::set<std::string> topics_ GLOVE_GUARDED_BY(mutex_);
};

// Receives progress: `done` of `total` units of the stage that `stage` names (a string of static storage).
// Called on the thread that called the computation. May be empty.
using ProgressReport = std::function<void(const char* stage, int64_t done, int64_t total)>;

// Writes nothing unless the work lasts longer than the interval. One thread at a time may use it.
class ProgressLog {
 public:
  static constexpr double kSecondsBetweenMessages = 5;

  // `work` begins each message, such as "glove_map: 5000 words of the model 'glove'". The log must outlive
  // this object.
  ProgressLog(Log& log, std::string work, double seconds_between = kSecondsBetweenMessages)
      : log_(log), work_(std::move(work)), seconds_between_(seconds_between) {}

  // Takes the arguments of a ProgressReport for the next message. `total` may be 0: unknown.
  void set(const char* stage, int64_t done, int64_t total) {
    if (stage != stage_) since_stage_.lap();
    stage_ = stage;
    done_ = done;
    total_ = total;
  }

  // Writes a message if one is due. Call this often: it costs about 25 ns otherwise.
  void tick() {
    if (since_message_.microseconds() < 1e6 * seconds_between_) return;
    since_message_.lap();
    const auto seconds = static_cast<int64_t>(since_start_.microseconds() / 1e6);
    std::string message = work_ + ": still running after " + std::to_string(seconds) + " s";
    if (stage_ != nullptr)
      message += std::string(", ") + stage_ + " " + std::to_string(done_) +
                 (total_ > 0 ? " of " + std::to_string(total_) + time_left() : "");
    log_.write(message);
  }

 private:
  // As if the rest of the stage were as fast as what is done.
  std::string time_left() {
    if (done_ <= 0 || done_ > total_) return {};
    const double seconds =
        since_stage_.microseconds() / 1e6 * static_cast<double>(total_ - done_) / static_cast<double>(done_);
    return ", about " + std::to_string(static_cast<int64_t>(seconds + 0.5)) + " s left";
  }

  Log& log_;
  const std::string work_;
  const double seconds_between_;
  const Timer since_start_;
  Timer since_message_;
  Timer since_stage_;
  const char* stage_ = nullptr;
  int64_t done_ = 0;
  int64_t total_ = 0;
};

}  // namespace glove
