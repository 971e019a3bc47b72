// What the text formats share: lines of a word and its numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "loader/byte_stream.h"
#include "loader/input.h"
#include "loader/row_reader.h"

namespace glove {

// A line is WORD SEP NUMBER (SEP NUMBER)*, SEP a space or a tab. The last `numbers` fields are numbers, so
// that a word may hold spaces. Ends with \n, \r\n or the end of the file; white space before the end is
// ignored, and so are blank lines. Of the numbers the first `leading_numbers` are no components and are left
// out.
struct TextLayout {
  int64_t numbers = 0;
  int64_t leading_numbers = 0;
  bool has_header = false;     // the first line is not a row
  int64_t expected_rows = -1;  // what the header promises, or -1
};

// The file as a reader of rows.
std::unique_ptr<RowReader> read_text(const Input& input, const TextLayout& layout);

// For sniffing. The input's first complete lines (at most 64), without a byte-order mark: those in its
// sample, and where lines are so long that it holds too few to judge by, a few more. None after a line that
// is too long. Valid until the next call.
Result<std::vector<std::string_view>> sample_lines(const Input& input);

// How many of the line's last fields are numbers; its first field never counts.
int64_t trailing_numbers(std::string_view line);

// The numbers of the line's last `count` fields; empty if it has no such fields.
std::vector<float> last_numbers(std::string_view line, int64_t count);

// The number of fields that most lines end in; 0 if the lines are no rows of text.
int64_t usual_numbers(std::span<const std::string_view> lines);

// Whether a model can have so many dimensions, or the error that says how many.
Status check_dims(const std::string& source, int64_t dims);

// "N D": two decimal integers and nothing else. They may be negative; beyond int64_t they are its ends.
struct TextHeader {
  int64_t rows;
  int64_t dims;
  std::string rows_text;  // as they stand there
  std::string dims_text;
};
std::optional<TextHeader> parse_text_header(std::string_view line);

// The UTF-8 byte-order mark, which is ignored at the front of a text file.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace glove
