// Text with the vector's length before its components: `word norm v1 ... vd`. The norm is omitted, because
// the model computes its own.

#include "loader/formats/formats.h"
#include "loader/formats/norm.h"
#include "loader/formats/text.h"

namespace glove {

Result<bool> sniff_norm_text(const Input& input, const ReadOptions&) {
  GLOVE_ASSIGN_OR_RETURN(const auto lines, sample_lines(input));
  const int64_t numbers = usual_numbers(lines);
  if (numbers < 3) return false;  // with one component any pair of equal numbers would match
  bool any = false;
  for (const std::string_view line : lines) {
    const std::vector<float> values = last_numbers(line, numbers);
    if (values.empty()) continue;
    if (!begins_with_norm(values)) return false;
    any = any || values[0] != 0.0f;
  }
  return any;
}

Result<std::unique_ptr<RowReader>> open_norm_text(const Input& input, const ReadOptions&) {
  TextLayout layout;
  GLOVE_ASSIGN_OR_RETURN(const auto lines, sample_lines(input));
  layout.numbers = usual_numbers(lines);
  layout.leading_numbers = 1;
  if (layout.numbers < 2)
    return Error{ErrorCode::kCorrupt,
                 input.path() + ": line 1: a word followed by a norm and components was expected"};
  GLOVE_RETURN_IF_ERROR(check_dims(input.path(), layout.numbers - 1));
  return read_text(input, layout);
}

}  // namespace glove
