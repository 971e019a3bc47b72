#include "loader/formats/word2vec.h"

#include <algorithm>
#include <string_view>

#include "base/concat.h"
#include "model/limits.h"

namespace glove {
namespace {

std::string_view sample_text(const Input& input) {
  std::string_view text(input.sample().data(), input.sample().size());
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return text;
}

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != '\v' &&
         c != '\f';
}

}  // namespace

std::optional<TextHeader> word2vec_header(const Input& input) {
  constexpr size_t kMaxHeaderBytes = 64;
  const std::string_view line = sample_text(input).substr(0, kMaxHeaderBytes);
  const size_t newline = line.find('\n');
  if (newline == std::string_view::npos) return std::nullopt;
  return parse_text_header(line.substr(0, newline));
}

Result<TextHeader> checked_word2vec_header(const Input& input) {
  const auto header = word2vec_header(input);
  const auto corrupt = [&](const std::string& what) {
    return Error{ErrorCode::kCorrupt, input.path() + ": line 1: " + what};
  };
  if (!header) return corrupt("a header with the number of rows and of dimensions was expected");
  if (header->rows < 1 || header->rows > kMaxRows || header->dims < 1 || header->dims > kMaxDims)
    return corrupt(concat("the header says ", header->rows_text, " rows of ", header->dims_text,
                          " dimensions; a model has 1 to ", kMaxRows, " rows of 1 to ", kMaxDims));
  return *header;
}

bool word2vec_body_is_binary(const Input& input) {
  const int64_t dims = word2vec_header(input)->dims;
  const std::string_view text = sample_text(input);
  const std::string_view body = text.substr(text.find('\n') + 1);
  const size_t newline = body.find('\n');
  const bool line_is_whole = newline != std::string_view::npos || input.sample_is_whole();
  if (line_is_whole && trailing_numbers(body.substr(0, newline)) >= dims) return false;
  return std::any_of(body.begin(), body.end(), is_control);
}

}  // namespace glove
