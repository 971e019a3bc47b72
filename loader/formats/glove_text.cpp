// GloVe text: one word per line, `word v1 v2 ... vd`, without a header. Words may contain spaces.
#include "loader/formats/formats.h"
#include "loader/formats/text.h"

namespace glove {

Result<bool> sniff_glove_text(const Input& input, const ReadOptions&) {
  GLOVE_ASSIGN_OR_RETURN(const auto lines, sample_lines(input));
  return usual_numbers(lines) > 0;
}

Result<std::unique_ptr<RowReader>> open_glove_text(const Input& input, const ReadOptions&) {
  TextLayout layout;
  GLOVE_ASSIGN_OR_RETURN(const auto lines, sample_lines(input));
  layout.numbers = usual_numbers(lines);
  if (layout.numbers == 0)
    return Error{ErrorCode::kCorrupt, input.path() + ": line 1: a word followed by numbers was expected"};
  GLOVE_RETURN_IF_ERROR(check_dims(input.path(), layout.numbers));
  return read_text(input, layout);
}

}  // namespace glove
