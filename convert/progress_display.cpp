#include "convert/progress_display.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>

#include "base/system_calls.h"

namespace glove {
namespace {

std::string format_seconds(double seconds) {
  const auto whole = static_cast<int64_t>(std::min(seconds, 1e9) + 0.5);
  return whole >= 3600 ? fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60)
                       : fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace

std::string format_bytes(int64_t bytes) {
  constexpr std::string_view kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < std::size(kUnits); ++unit) value /= 1000;
  return unit == 0 ? fmt::format("{} B", bytes)
                   : fmt::format("{:.{}f} {}", value, value < 99.95 ? 1 : 0, kUnits[unit]);
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
  const std::string text = fmt::format(
      "{:3.0f} %  {} of {}  {}/s  {} left", share * 100, format_bytes(bytes_done), format_bytes(bytes_total),
      format_bytes(static_cast<int64_t>(static_cast<double>(bytes_done) / seconds)), format_seconds(left));
  if (style_ == Style::kLines) {
    std::fputs(fmt::format("{}: {}\n", title_, text).c_str(), stderr);
    return;
  }
  const int columns = std::max(system_calls::terminal_columns(), 1);
  const int room = columns - static_cast<int>(title_.size() + text.size()) - 7;
  std::string line = title_ + "  ";
  if (room >= 10) {
    const int filled = static_cast<int>(share * room);
    line += "[" + std::string(static_cast<size_t>(filled), '#') +
            std::string(static_cast<size_t>(room - filled), ' ') + "]  ";
  }
  line += text;
  line.resize(std::min(line.size(), static_cast<size_t>(columns - 1)));
  std::fputs(("\r\x1b[K" + line).c_str(), stderr);
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace glove
