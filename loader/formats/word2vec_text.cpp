// word2vec text, and fastText's .vec, which is the same: a header line "ROWS DIMS", then a line a
// word, `word v1 ... vd`, often with a space before its end.
#include <algorithm>

#include "loader/formats/formats.h"
#include "loader/formats/text.h"
#include "loader/formats/word2vec.h"
#include "model/limits.h"

namespace glove {
namespace {

// Whether a first line of two integers is a header, and not a word (a year, say) and its number; the lines
// after it tell. Where they have one number each it is a row as they are, unless it says one dimension and a
// possible count, or some of them are as long as it says. Elsewhere, and where there are none, it is a
// header; one that no file can have (no rows, no dimensions) is an error that names it.
bool is_header(const TextHeader& header, const Input& input) {
  const auto lines = sample_lines(input);
  const std::span<const std::string_view> rows = std::span(lines).subspan(lines.empty() ? 0 : 1);
  if (usual_numbers(rows) != 1) return true;
  if (header.dims == 1) return header.rows >= 1 && header.rows <= kMaxRows;
  return std::any_of(rows.begin(), rows.end(), [&](const std::string_view row) {
    return header.dims > 1 && trailing_numbers(row) >= header.dims;
  });
}

}  // namespace

Result<bool> sniff_word2vec_text(const Input& input, const ReadOptions&) {
  const auto header = word2vec_header(input);
  return header && !word2vec_body_is_binary(input) && is_header(*header, input);
}

Result<std::unique_ptr<RowReader>> open_word2vec_text(const Input& input, const ReadOptions&) {
  GLOVE_ASSIGN_OR_RETURN(const TextHeader header, checked_word2vec_header(input));
  TextLayout layout;
  layout.numbers = header.dims;
  layout.has_header = true;
  layout.expected_rows = header.rows;
  return read_text(input, layout);
}

}  // namespace glove
