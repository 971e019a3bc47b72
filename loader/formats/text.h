// Shared by the text formats: lines with a word and its numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "loader/input.h"
#include "loader/row_reader.h"
#include "loader/word_list.h"

namespace glove {

// A line is WORD SEP NUMBER (SEP NUMBER)*, where SEP is a space or a tab. The last `numbers` fields are
// numbers, so a word may contain spaces. A line ends with \n, \r\n, \r or the end of the file; white space
// before the end is ignored, and so are blank lines. The first `leading_numbers` of the numbers are not
// components and are omitted.
struct TextLayout {
  int64_t numbers = 0;
  int64_t leading_numbers = 0;
  bool has_header = false;     // the first line is not a row
  int64_t expected_rows = -1;  // the number in the header, or -1
  bool skip_invalid = false;   // leaves out lines that are not rows, and words that end in numbers
};

// Returns a reader for the file's rows. If `words` is not null, it has their words, and the lines have only
// numbers.
std::unique_ptr<RowReader> read_text(const Input& input, const TextLayout& layout,
                                     std::unique_ptr<WordSource> words = nullptr);

// Returns the bytes with \n at the end of each line.
std::unique_ptr<ByteStream> text_stream(std::unique_ptr<ByteStream> stream);

// For sniffing. Returns the input's first complete lines (at most 64), without a byte-order mark: those in
// its sample and, if the lines are so long that the sample contains too few to decide, a few more. Lines
// after one that is too long are omitted, and if `trimmed` white space at their ends. Valid until the next
// call.
Result<std::vector<std::string_view>> sample_lines(const Input& input, bool trimmed = true);

// Returns how many of the line's last fields are numbers. The first field never counts.
int64_t trailing_numbers(std::string_view line);

// Returns the numbers in the line's last `count` fields; empty if it has no such fields.
std::vector<float> last_numbers(std::string_view line, int64_t count);

// Returns the number of numbers at the end of most lines; 0 if the lines are not rows of text.
int64_t usual_numbers(std::span<const std::string_view> lines);

// Returns an error with the number if a model cannot have this many dimensions.
Status check_dims(const std::string& source, int64_t dims);

// "N D": exactly two decimal integers. They may be negative; values beyond int64_t are clamped to its limits.
struct TextHeader {
  int64_t rows;
  int64_t dims;
  std::string rows_text;  // as written in the file
  std::string dims_text;
};
std::optional<TextHeader> parse_text_header(std::string_view line);

// The UTF-8 byte-order mark, which is ignored at the beginning of a text file.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace glove
