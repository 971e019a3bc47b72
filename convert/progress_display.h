// Shows the progress of a long read to a person: a bar on a terminal, a few plain lines elsewhere.
#pragma once

#include <cstdint>
#include <string>

#include "base/timer.h"

namespace glove {

class ProgressDisplay {
 public:
  enum class Style { kNone, kBar, kLines };

  // Returns the style for standard error: a bar if it is a terminal, otherwise lines; nothing if `quiet`.
  static Style style_for_stderr(bool quiet);

  // `title` begins every line, for example "reading glove.txt".
  ProgressDisplay(Style style, std::string title);
  ~ProgressDisplay();
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;

  // Draws the bar at most ten times per second, or prints a line every five seconds.
  void update(int64_t bytes_done, int64_t bytes_total);

 private:
  void draw(double seconds, int64_t bytes_done, int64_t bytes_total);

  Style style_;
  std::string title_;
  Timer since_begin_;
  Timer since_draw_;
  bool drawn_ = false;
};

// Formats as printf() does, and cuts the result after 63 bytes.
[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);

// Formats with powers of ten: "12.3 MB".
std::string format_bytes(int64_t bytes);

}  // namespace glove
