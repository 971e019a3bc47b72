#include "base/log.h"

#include <atomic>

namespace glove {
namespace {
std::atomic<LogSink> log_sink = nullptr;
}  // namespace

void set_log_sink(LogSink sink) {
  log_sink.store(sink);
}

void log_message(const std::string& message) {
  if (const LogSink sink = log_sink.load()) sink(message);
}

}  // namespace glove
