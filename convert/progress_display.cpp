#include "convert/progress_display.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <span>
#include <string_view>
#include <utility>

#include "base/concat.h"
#include "base/system_calls.h"
#include "base/utf8.h"

namespace glove {
namespace {

std::string format_seconds(double seconds) {
  const int whole = static_cast<int>(std::min(seconds, 1e9) + 0.5);
  return whole >= 3600 ? format("%d:%02d:%02d", whole / 3600, whole / 60 % 60, whole % 60)
                       : format("%d:%02d", whole / 60, whole % 60);
}

// Returns a line of at most `columns` bytes with the title, a bar, and the first of the texts, longest first,
// that leaves room for the bar. A title that leaves none is cut.
std::string bar_line(std::string title, double share, std::span<const std::string> texts, int columns) {
  constexpr int kLeastBar = 10;
  constexpr int kAround = 6;  // "  [" and "]  ", and a column that stays free
  const std::string* text = &texts.front();
  const auto room = [&] { return columns - static_cast<int>(title.size() + text->size()) - kAround; };
  while (room() < kLeastBar && text != &texts.back()) ++text;
  if (room() < kLeastBar && title.size() > 3) {
    const auto kept = static_cast<int>(title.size()) - (kLeastBar - room());
    title = std::string(utf8_prefix(title, static_cast<size_t>(std::max(kept - 3, 0)))) + "...";
  }
  std::string line = title + "  ";
  if (room() >= kLeastBar) {
    const int filled = static_cast<int>(share * room());
    line += "[" + std::string(static_cast<size_t>(filled), '#') +
            std::string(static_cast<size_t>(room() - filled), ' ') + "]  ";
  }
  line += *text;
  line.resize(std::min(line.size(), static_cast<size_t>(std::max(columns, 0))));
  return line;
}

}  // namespace

std::string format(const char* pattern, ...) {
  char text[64];
  va_list values;
  va_start(values, pattern);
  std::vsnprintf(text, sizeof text, pattern, values);
  va_end(values);
  return text;
}

std::string format_bytes(int64_t bytes) {
  constexpr std::string_view kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < std::size(kUnits); ++unit) value /= 1000;
  return format("%.*f ", unit > 0 && value < 99.95 ? 1 : 0, value) + std::string(kUnits[unit]);
}

ProgressDisplay::Style ProgressDisplay::style_for_stderr(bool quiet) {
  if (quiet) return Style::kNone;
  return system_calls::terminal_columns() > 0 ? Style::kBar : Style::kLines;
}

ProgressDisplay::ProgressDisplay(Style style, std::string title) : style_(style), title_(std::move(title)) {}

ProgressDisplay::~ProgressDisplay() {
  if (drawn_ && style_ == Style::kBar) std::fputs("\r\x1b[K", stderr);
}

void ProgressDisplay::update(int64_t bytes_done, int64_t bytes_total) {
  if (style_ == Style::kNone) return;
  if (since_draw_.microseconds() < (style_ == Style::kBar ? 100e3 : 5e6)) return;
  since_draw_.lap();
  draw(since_begin_.microseconds() * 1e-6, bytes_done, bytes_total);
}

void ProgressDisplay::draw(double seconds, int64_t bytes_done, int64_t bytes_total) {
  const double share = bytes_total > 0
                           ? std::min(1.0, static_cast<double>(bytes_done) / static_cast<double>(bytes_total))
                           : 0.0;
  const double left = share > 0 ? seconds * (1 - share) / share : 0.0;
  const std::string percent = format("%3.0f %%", share * 100);
  const std::string time = format_seconds(left) + " left";
  const std::string bytes = format_bytes(bytes_done) + " of " + format_bytes(bytes_total);
  const std::string speed =
      format_bytes(static_cast<int64_t>(static_cast<double>(bytes_done) / seconds)) + "/s";
  const std::string texts[] = {percent + "  " + bytes + "  " + speed + "  " + time,
                               percent + "  " + bytes + "  " + time, percent + "  " + time};
  if (style_ == Style::kLines) {
    std::fputs(concat(title_, ": ", texts[0], "\n").c_str(), stderr);
    return;
  }
  const std::string line = bar_line(title_, share, texts, std::max(system_calls::terminal_columns(), 1) - 1);
  std::fputs(("\r\x1b[K" + line).c_str(), stderr);
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace glove
