// Where the engine reports what no caller asked about, such as a backend that failed while another
// one answered. The library itself never prints.
#pragma once

#include <string>

namespace glove {

using LogSink = void (*)(const std::string& message);

// Replaces the sink of the process; nullptr (the default) drops messages. The sink may be called
// from any thread and must not call back into search/. Thread-safe.
void set_log_sink(LogSink sink);

void log_message(const std::string& message);

}  // namespace glove
