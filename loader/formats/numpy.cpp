// NumPy .npy: a matrix [words, dims] of float16, float32, float64 or int8, in C or Fortran order, with a
// separate word list.
#include <charconv>
#include <optional>
#include <string_view>

#include "base/concat.h"
#include "loader/formats/formats.h"
#include "loader/formats/matrix.h"

namespace glove {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct NumpyHeader {
  MatrixLayout layout;
  int64_t data_offset = 0;
};

// Returns the text after `'key':` in the header's Python dictionary, without leading spaces; empty if the key
// is not present.
std::string_view value_of(std::string_view dictionary, std::string_view key) {
  const size_t place = dictionary.find("'" + std::string(key) + "'");
  if (place == std::string_view::npos) return {};
  std::string_view rest = dictionary.substr(place + key.size() + 2);
  rest.remove_prefix(std::min(rest.find_first_not_of(" :"), rest.size()));
  return rest;
}

std::optional<ElementType> descr_type(std::string_view descr) {
  if (descr.starts_with("'<f2'")) return ElementType::kFloat16;
  if (descr.starts_with("'<f4'")) return ElementType::kFloat32;
  if (descr.starts_with("'<f8'")) return ElementType::kFloat64;
  if (descr.starts_with("'|i1'")) return ElementType::kInt8;
  return std::nullopt;
}

// Parses "(rows, columns)".
bool read_shape(std::string_view text, MatrixLayout& layout) {
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto read_number = [&](char before, int64_t& value) {
    while (at < end && *at == ' ') ++at;
    if (at == end || *at != before) return false;
    ++at;
    while (at < end && *at == ' ') ++at;
    const auto [rest, error] = std::from_chars(at, end, value);
    at = rest;
    return error == std::errc();
  };
  if (!read_number('(', layout.rows) || !read_number(',', layout.columns)) return false;
  while (at < end && (*at == ' ' || *at == ',')) ++at;
  return at < end && *at == ')';
}

Result<NumpyHeader> read_header(const Input& input) {
  const auto corrupt = [&](const std::string& what) {
    return corrupt_file(input.path(), "offset 0: the .npy header ", what);
  };
  const std::string_view bytes = input.sample();
  if (!bytes.starts_with(kMagic) || bytes.size() < 12) return corrupt("is missing or cut off");
  const uint64_t major = little_endian(bytes, 6, 1);
  if (major < 1 || major > 3) return corrupt(concat("has version ", major, "; 1 to 3 are known"));
  const size_t prefix = major == 1 ? 10 : 12;
  const size_t length = little_endian(bytes, 8, prefix - 8);
  if (length > bytes.size() - prefix) return corrupt("is cut off");
  const std::string_view dictionary = bytes.substr(prefix, length);
  NumpyHeader header;
  header.data_offset = static_cast<int64_t>(prefix + length);
  const std::string_view descr = value_of(dictionary, "descr");
  const auto type = descr_type(descr);
  if (!type)
    return corrupt("says the elements are " +
                   escaped(descr.substr(0, descr.starts_with('[') ? descr.find(']') + 1 : descr.find(','))) +
                   "; '<f2', '<f4', '<f8' and '|i1' can be read (float16, float32 and float64 in "
                   "little-endian, int8)");
  header.layout.type = *type;
  const std::string_view order = value_of(dictionary, "fortran_order");
  if (!order.starts_with("True") && !order.starts_with("False")) return corrupt("lacks fortran_order");
  header.layout.by_columns = order.starts_with("True");
  const std::string_view shape = value_of(dictionary, "shape");
  if (!read_shape(shape, header.layout))
    return corrupt("says the shape is " +
                   escaped(shape.substr(0, std::min(shape.find(')'), shape.size()) + 1)) +
                   "; a matrix (words, dimensions) was expected");
  GLOVE_RETURN_IF_ERROR(check_matrix(input.path(), header.layout));
  return header;
}

}  // namespace

Result<bool> sniff_numpy(const Input& input, const ReadOptions&) {
  return input.sample().starts_with(kMagic);
}

Result<std::unique_ptr<RowReader>> open_numpy(const Input& input, const ReadOptions& options) {
  GLOVE_ASSIGN_OR_RETURN(const NumpyHeader header, read_header(input));
  GLOVE_ASSIGN_OR_RETURN(const std::string list, find_word_list(input.path(), options.words_path));
  GLOVE_ASSIGN_OR_RETURN(auto words, open_word_list(list, input.interrupt_check(), ListContent::kWords,
                                                    [&] { return header.layout.rows; }));
  if (header.layout.by_columns) {
    const MatrixLayout& layout = header.layout;
    const int64_t expected = header.data_offset + layout.rows * layout.columns * element_bytes(layout.type);
    GLOVE_ASSIGN_OR_RETURN(auto file, input.random_access(expected, "its header describes"));
    GLOVE_ASSIGN_OR_RETURN(const int64_t bytes, file->size());
    if (bytes != expected)
      return corrupt_file(input.path(), "offset ", std::min(bytes, expected), ": the header describes ",
                          expected, " bytes, but there are ", bytes);
    return read_matrix(input.path(), layout, column_stream(layout, std::move(file), header.data_offset),
                       std::move(words));
  }
  auto stream = input.stream();
  GLOVE_RETURN_IF_ERROR(skip_bytes(*stream, header.data_offset));
  return read_matrix(input.path(), header.layout, std::move(stream), std::move(words));
}

}  // namespace glove
