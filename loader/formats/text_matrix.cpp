// text-matrix: one row of numbers per line, and a separate word list; as numpy.savetxt and the projector of
// TensorFlow (vectors.tsv and metadata.tsv) write it.
#include <algorithm>
#include <string_view>
#include <utility>

#include "base/concat.h"
#include "base/number.h"
#include "loader/formats/formats.h"
#include "loader/formats/text.h"
#include "loader/word_list.h"

namespace glove {
namespace {

// Returns the input's first lines that are not blank, without indents.
Result<std::vector<std::string_view>> rows_of(const Input& input) {
  GLOVE_ASSIGN_OR_RETURN(std::vector<std::string_view> lines, sample_lines(input));
  std::erase(lines, std::string_view());
  for (std::string_view& line : lines) line.remove_prefix(line.find_first_not_of(" \t"));
  return lines;
}

// Returns a line's first field if it is a number, and otherwise nothing.
std::string_view first_number(std::string_view line) {
  const std::string_view field = line.substr(0, line.find_first_of(" \t"));
  float value = 0;
  const char* const end = field.data() + field.size();
  return !field.empty() && parse_float(field.data(), end, value) == end ? field : std::string_view();
}

}  // namespace

// Words may be numbers, such as ids. If no list is named, a file is a matrix only if no first field is an
// integer.
Result<bool> sniff_text_matrix(const Input& input, const ReadOptions& options) {
  GLOVE_ASSIGN_OR_RETURN(const auto rows, rows_of(input));
  const bool one_column = usual_numbers(rows) == 0;
  return !rows.empty() && std::all_of(rows.begin(), rows.end(), [&](std::string_view row) {
    const std::string_view first = first_number(row);
    return !first.empty() && (!one_column || first.size() == row.size()) &&
           (!options.words_path.empty() || first.find_first_not_of("+-0123456789") != std::string_view::npos);
  });
}

Result<std::unique_ptr<RowReader>> open_text_matrix(const Input& input, const ReadOptions& options) {
  GLOVE_ASSIGN_OR_RETURN(const auto rows, rows_of(input));
  TextLayout layout;
  layout.numbers = usual_numbers(rows) + 1;  // without the first one
  GLOVE_RETURN_IF_ERROR(check_dims(input.path(), layout.numbers));
  GLOVE_ASSIGN_OR_RETURN(const std::string list, find_word_list(input.path(), options.words_path));
  const auto lines = [&input] { return count_words(input.path(), input.interrupt_check()); };
  GLOVE_ASSIGN_OR_RETURN(auto words,
                         open_word_list(list, input.interrupt_check(), ListContent::kWords, lines));
  layout.skip_invalid = options.skip_invalid;
  return read_text(input, layout, std::move(words));
}

}  // namespace glove
