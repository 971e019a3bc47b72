// word2vec text, and fastText's .vec, which is the same: a header line "ROWS DIMS", then a line a
// word, `word v1 ... vd`, often with a space before its end.
#include "loader/formats/formats.h"
#include "loader/formats/text.h"
#include "loader/formats/word2vec.h"
#include "loader/limits.h"

namespace glove {

bool sniff_word2vec_text(const Input& input, const ReadOptions&) {
  return word2vec_header(input).has_value() && !word2vec_body_is_binary(input);
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
