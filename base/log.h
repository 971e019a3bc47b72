// Where the library reports events that are not part of any answer, such as a backend that failed while
// another one answered. The library itself never prints.
#pragma once

#include <atomic>
#include <set>
#include <string>

#include "base/mutex.h"

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

}  // namespace glove
