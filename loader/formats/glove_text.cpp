// GloVe text: a line a word, `word v1 v2 ... vd`, no header. Words may hold spaces.
#include "loader/formats/formats.h"
#include "loader/formats/text.h"

namespace glove {

Result<bool> sniff_glove_text(const Input& input, const ReadOptions&) {
  return usual_numbers(sample_lines(input)) > 0;
}

Result<std::unique_ptr<RowReader>> open_glove_text(const Input& input, const ReadOptions&) {
  TextLayout layout;
  layout.numbers = usual_numbers(sample_lines(input));
  if (layout.numbers == 0)
    return Error{ErrorCode::kCorrupt, input.path() + ": line 1: a word followed by numbers was expected"};
  return read_text(input, layout);
}

}  // namespace glove
