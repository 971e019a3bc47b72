// A pair of files: keys, a word a line, and values, for each key float32 numbers: the norm, then the
// components. The values are the input, the keys its word list. The values have no header: the number of
// components follows from the two files' sizes.
#include <cstring>
#include <vector>

#include "loader/formats/formats.h"
#include "loader/formats/matrix.h"
#include "loader/formats/norm.h"

namespace glove {
namespace {

struct KeysAndValues {
  std::string keys_path;
  std::shared_ptr<const File> values;
  int64_t bytes = 0;
  MatrixLayout layout;
};

Result<KeysAndValues> examine(const Input& input, const ReadOptions& options) {
  KeysAndValues pair;
  GLOVE_ASSIGN_OR_RETURN(pair.keys_path, find_word_list(input.path(), options.words_path));
  GLOVE_ASSIGN_OR_RETURN(pair.layout.rows, count_words(pair.keys_path));
  GLOVE_ASSIGN_OR_RETURN(pair.values, input.random_access());
  GLOVE_ASSIGN_OR_RETURN(pair.bytes, pair.values->size());
  const int64_t numbers = pair.bytes / static_cast<int64_t>(sizeof(float));
  if (pair.layout.rows == 0 || pair.bytes % static_cast<int64_t>(sizeof(float)) != 0 ||
      numbers % pair.layout.rows != 0)
    return Error{ErrorCode::kCorrupt, input.path() + ": its " + std::to_string(pair.bytes) +
                                          " bytes cannot be rows of float32 for the " +
                                          std::to_string(pair.layout.rows) + " words of '" + pair.keys_path +
                                          "'"};
  pair.layout.columns = numbers / pair.layout.rows;
  pair.layout.leading_columns = 1;
  GLOVE_RETURN_IF_ERROR(check_matrix(input.path(), pair.layout));
  return pair;
}

}  // namespace

bool sniff_norm_binary(const Input& input, const ReadOptions& options) {
  const auto pair = examine(input, options);
  if (!pair.ok()) return false;
  const auto width = static_cast<size_t>(pair.value().layout.columns);
  std::vector<float> row(width);
  const size_t row_bytes = width * sizeof(float);
  const std::span<const char> sample = input.sample();
  bool any = false;
  for (size_t at = 0; at + row_bytes <= sample.size(); at += row_bytes) {
    std::memcpy(row.data(), sample.data() + at, row_bytes);
    if (!begins_with_norm(row)) return false;
    any = any || row[0] != 0.0f;
  }
  return any;
}

Result<std::unique_ptr<RowReader>> open_norm_binary(const Input& input, const ReadOptions& options) {
  GLOVE_ASSIGN_OR_RETURN(KeysAndValues pair, examine(input, options));
  GLOVE_ASSIGN_OR_RETURN(auto words, open_word_list(pair.keys_path));
  return read_row_major(input.path(), pair.layout, plain_stream(pair.values, 0, pair.bytes),
                        std::move(words));
}

}  // namespace glove
