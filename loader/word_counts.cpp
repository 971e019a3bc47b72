#include "loader/word_counts.h"

#include <cmath>
#include <memory>
#include <string_view>
#include <system_error>

#include "base/concat.h"
#include "base/float_from_chars.h"
#include "base/utf8.h"
#include "loader/word_list.h"
#include "model/row_block.h"

namespace glove {
namespace {

constexpr int64_t kLinesAtOnce = 4096;

// Stores the count of a line's word, unless an earlier line has done so. False: the line is malformed.
bool add_line(std::string_view line, const Vocabulary& vocabulary, std::vector<double>& counts,
              std::vector<bool>& counted) {
  while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
  if (line.empty()) return true;
  const size_t separator = line.find_last_of(" \t");
  if (separator == std::string_view::npos || separator == 0) return false;
  const std::string_view number = line.substr(separator + 1);
  double count = 0;
  const auto [end, error] = from_chars(number.data(), number.data() + number.size(), count);
  if (error != std::errc() || end != number.data() + number.size() || !std::isfinite(count) || count < 0)
    return false;
  const auto id = vocabulary.find_exact(line.substr(0, separator));
  if (!id || counted[static_cast<size_t>(*id)]) return true;
  counts[static_cast<size_t>(*id)] = count;
  counted[static_cast<size_t>(*id)] = true;
  return true;
}

}  // namespace

Result<std::vector<double>> read_word_counts(const std::string& path, const Vocabulary& vocabulary,
                                             const InterruptCheck& interrupted) {
  GLOVE_ASSIGN_OR_RETURN(const std::unique_ptr<WordSource> lines, open_word_list(path, interrupted));
  std::vector<double> counts(static_cast<size_t>(vocabulary.size()));
  std::vector<bool> counted(counts.size());
  int64_t line = 0;
  for (WordBlock block;; block.clear()) {
    GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
    GLOVE_ASSIGN_OR_RETURN(const int64_t got, lines->next(kLinesAtOnce, block));
    if (got == 0) break;
    for (size_t i = 0; i < block.ends.size(); ++i, ++line)
      if (!add_line(block.word(i), vocabulary, counts, counted))
        return Error{ErrorCode::kCorrupt, concat(path, ": line ", line + 1, ": '", escaped(block.word(i)),
                                                 "' must be a word, a space and a number of at least 0")};
  }
  double total = 0;
  for (const double count : counts) total += count;
  if (!(total > 0) || !std::isfinite(total))
    return Error{ErrorCode::kCorrupt,
                 concat(path,
                        ": the counts of the model's words must have a finite sum above 0, "
                        "but it is ",
                        total)};
  return counts;
}

}  // namespace glove
