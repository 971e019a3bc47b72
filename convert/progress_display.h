// How far a long read has come, for a person: a bar on a terminal, a few plain lines elsewhere.
#pragma once

#include <cstdint>
#include <string>

#include "base/timer.h"

namespace glove {

class ProgressDisplay {
 public:
  enum class Style { kNone, kBar, kLines };

  // The style that suits standard error: a bar on a terminal, else lines; none if `quiet`.
  static Style style_for_stderr(bool quiet);

  // `title` begins every line: "reading glove.txt".
  ProgressDisplay(Style style, std::string title);
  ~ProgressDisplay();
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;

  // Draws at most ten bars a second, or a line every five seconds.
  void update(int64_t bytes_done, int64_t bytes_total);

 private:
  void draw(double seconds, int64_t bytes_done, int64_t bytes_total);

  Style style_;
  std::string title_;
  Timer since_begin_;
  Timer since_draw_;
  bool drawn_ = false;
};

// "12.3 MB", powers of ten.
std::string format_bytes(int64_t bytes);

}  // namespace glove
