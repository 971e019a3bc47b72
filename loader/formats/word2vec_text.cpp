// word2vec text, and fastText's identical .vec format: a header line "ROWS DIMS", then one word per line,
// `word v1 ... vd`, often with a space at the end.
#include <algorithm>

#include "base/concat.h"
#include "loader/formats/formats.h"
#include "loader/formats/text.h"
#include "loader/formats/word2vec.h"
#include "model/limits.h"

namespace glove {
namespace {

// Distinguishes a header from a row whose word is a number (such as a year). If the sampled rows do not
// usually have exactly one number, the line is a header. Otherwise it is one only if it declares one
// dimension and a valid row count, or if some row is at least as long as declared. A header that no file can
// have (no rows, no dimensions) is reported as an error.
bool is_header(const TextHeader& header, std::span<const std::string_view> rows) {
  if (usual_numbers(rows) != 1) return true;
  if (header.dims == 1) return header.rows >= 1 && header.rows <= kMaxRows;
  return std::any_of(rows.begin(), rows.end(), [&](const std::string_view row) {
    return header.dims > 1 && trailing_numbers(row) >= header.dims;
  });
}

// Returns the lines after the header.
std::span<const std::string_view> rows_of(std::span<const std::string_view> lines) {
  return lines.subspan(lines.empty() ? 0 : 1);
}

// Words may contain spaces and end in numbers, so rows that are longer than declared could be words that have
// absorbed numbers. If all rows are longer, the header is wrong.
Status check_row_length(const std::string& path, const TextHeader& header,
                        std::span<const std::string_view> rows) {
  const int64_t usual = usual_numbers(rows);
  const bool some_fit = std::any_of(rows.begin(), rows.end(), [&](const std::string_view row) {
    return trailing_numbers(row) == header.dims;
  });
  if (usual <= header.dims || some_fit) return {};
  return {ErrorCode::kCorrupt,
          concat(path, ": line 1: the header says ", header.dims_text,
                 " dimensions, but the lines after it have ", usual,
                 " numbers; if their words end in numbers, name the format word2vec-text "
                 "(--format of glove-convert, "
                 "\"format\" of glove_load)")};
}

}  // namespace

Result<bool> sniff_word2vec_text(const Input& input, const ReadOptions&) {
  const auto header = word2vec_header(input);
  if (!header || word2vec_body_is_binary(input)) return false;
  GLOVE_ASSIGN_OR_RETURN(const auto lines, sample_lines(input));
  return is_header(*header, rows_of(lines));
}

Result<std::unique_ptr<RowReader>> open_word2vec_text(const Input& input, const ReadOptions& options) {
  GLOVE_ASSIGN_OR_RETURN(const TextHeader header, checked_word2vec_header(input));
  if (options.format.empty()) {
    GLOVE_ASSIGN_OR_RETURN(const auto lines, sample_lines(input));
    GLOVE_RETURN_IF_ERROR(check_row_length(input.path(), header, rows_of(lines)));
  }
  TextLayout layout;
  layout.numbers = header.dims;
  layout.has_header = true;
  layout.expected_rows = header.rows;
  return read_text(input, layout);
}

}  // namespace glove
