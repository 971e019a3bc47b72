// Two formats with the norm of a vector before its components, which is omitted: the model computes its own.
//
// norm-text: one word per line, `word norm v1 ... vd`.
//
// norm-binary: a pair of files: keys, with one word per line, and values, with float32 numbers for each key:
// first the norm, then the components. The values are the input, and the keys are its word list. The values
// have no header: the number of components follows from the sizes of the two files.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "base/concat.h"
#include "loader/formats/formats.h"
#include "loader/formats/matrix.h"
#include "loader/formats/text.h"
#include "model/limits.h"

namespace glove {
namespace {

// Returns true if `number` is the square root of `sum`, to the precision that people print. False for NaN.
bool is_norm(float number, double sum) {
  const double norm = std::sqrt(sum);
  return std::fabs(static_cast<double>(number) - norm) <= 1e-3 * norm;
}

// Returns true if the first number is the Euclidean length of the others.
bool begins_with_norm(std::span<const float> values) {
  double sum = 0;
  for (const float value : values.subspan(1)) sum += static_cast<double>(value) * static_cast<double>(value);
  return is_norm(values[0], sum);
}

struct KeysAndValues {
  std::string keys_path;
  std::shared_ptr<const File> values;
  int64_t bytes = 0;
  MatrixLayout layout;
};

// `most_columns`: the width of the widest possible row.
Result<KeysAndValues> examine(const Input& input, const ReadOptions& options, int64_t most_columns) {
  constexpr auto kNumberBytes = static_cast<int64_t>(sizeof(float));
  KeysAndValues pair;
  GLOVE_ASSIGN_OR_RETURN(pair.keys_path, find_word_list(input.path(), options.words_path));
  GLOVE_ASSIGN_OR_RETURN(pair.layout.rows, count_words(pair.keys_path, input.interrupt_check()));
  GLOVE_ASSIGN_OR_RETURN(pair.values,
                         input.random_access(pair.layout.rows * most_columns * kNumberBytes,
                                             "rows for all words of '" + pair.keys_path + "' have"));
  GLOVE_ASSIGN_OR_RETURN(pair.bytes, pair.values->size());
  const int64_t numbers = pair.bytes / kNumberBytes;
  if (pair.layout.rows == 0 || pair.bytes % kNumberBytes != 0 || numbers % pair.layout.rows != 0)
    return corrupt_file(input.path(), "its ", pair.bytes, " bytes cannot be rows of float32 for the ",
                        pair.layout.rows, " words of '", pair.keys_path, "'");
  pair.layout.columns = numbers / pair.layout.rows;
  pair.layout.leading_columns = 1;
  GLOVE_RETURN_IF_ERROR(check_matrix(input.path(), pair.layout));
  return pair;
}

// Returns the most numbers that a row can have if the sample begins with a whole row; 0 if it does not, or if
// it contains only zeros. This avoids unpacking files whose beginning already rules out the format.
int64_t most_sampled_columns(std::span<const char> sample) {
  const auto value_at = [&](size_t index) {
    float value = 0;
    std::memcpy(&value, sample.data() + index * sizeof(float), sizeof(float));
    return value;
  };
  const size_t count = sample.size() / sizeof(float);
  int64_t most = 0;
  bool any = count > 0 && value_at(0) != 0.0f;
  double sum = 0;
  for (size_t i = 1; i < count; ++i) {
    const auto value = static_cast<double>(value_at(i));
    any = any || value != 0.0;
    sum += value * value;
    if (is_norm(value_at(0), sum)) most = static_cast<int64_t>(i) + 1;
  }
  return any ? most : 0;
}

}  // namespace

Result<bool> sniff_norm_binary(const Input& input, const ReadOptions& options) {
  constexpr auto kMostRowBytes = static_cast<size_t>(kMaxDims + 1) * sizeof(float);
  GLOVE_ASSIGN_OR_RETURN(const auto beginning,
                         input.longer_sample(std::max(kMostRowBytes, Input::kSampleBytes)));
  const std::span<const char> sample = beginning.bytes;
  const int64_t most_columns = most_sampled_columns(sample);
  if (most_columns == 0) return false;
  const auto pair = examine(input, options, most_columns);
  // Any other error means that the pair does not have this format; these errors do not tell.
  if (!pair.ok() && pair.error().code == ErrorCode::kInterrupted) return pair.error();
  if (!pair.ok() && pair.error().code == ErrorCode::kIo && !input.is_plain()) return pair.error();
  if (!pair.ok()) return false;
  const auto width = static_cast<size_t>(pair.value().layout.columns);
  std::vector<float> row(width);
  const size_t row_bytes = width * sizeof(float);
  bool any = false;
  for (size_t at = 0; at + row_bytes <= sample.size(); at += row_bytes) {
    std::memcpy(row.data(), sample.data() + at, row_bytes);
    if (!begins_with_norm(row)) return false;
    any = any || row[0] != 0.0f;
  }
  return any;
}

Result<std::unique_ptr<RowReader>> open_norm_binary(const Input& input, const ReadOptions& options) {
  GLOVE_ASSIGN_OR_RETURN(KeysAndValues pair, examine(input, options, kMaxDims + 1));
  GLOVE_ASSIGN_OR_RETURN(auto words, open_word_list(pair.keys_path, input.interrupt_check()));
  return read_matrix(input.path(), pair.layout, plain_stream(pair.values, 0, pair.bytes), std::move(words));
}

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

Result<std::unique_ptr<RowReader>> open_norm_text(const Input& input, const ReadOptions& options) {
  TextLayout layout;
  layout.skip_invalid = options.skip_invalid;
  GLOVE_ASSIGN_OR_RETURN(const auto lines, sample_lines(input));
  layout.numbers = usual_numbers(lines);
  layout.leading_numbers = 1;
  if (layout.numbers < 2)
    return corrupt_file(input.path(), "line 1: a word followed by a norm and components was expected");
  GLOVE_RETURN_IF_ERROR(check_dims(input.path(), layout.numbers - 1));
  return read_text(input, layout);
}

}  // namespace glove
