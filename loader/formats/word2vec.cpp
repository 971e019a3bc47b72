// Two formats that begin with a header line "ROWS DIMS".
//
// word2vec-text, and fastText's identical .vec format: after the header one word per line,
// `word v1 ... vd`, often with a space at the end.
//
// word2vec-binary: after the header, for each row the word, a space, and DIMS
// little-endian float32; newlines before a word are ignored.
#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "base/concat.h"
#include "loader/formats/formats.h"
#include "loader/formats/text.h"
#include "loader/input.h"
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

// Returns the first line as "ROWS DIMS", if it has this form.
std::optional<TextHeader> word2vec_header(const Input& input) {
  constexpr size_t kMaxHeaderBytes = 64;
  const std::string_view line = sample_text(input).substr(0, kMaxHeaderBytes);
  const size_t newline = line.find('\n');
  if (newline == std::string_view::npos) return std::nullopt;
  return parse_text_header(line.substr(0, newline));
}

// Returns the same if it is within the limits of a model, and otherwise the reason.
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

// Returns true if the content after the header is binary: the first row is not text with numbers, and there
// are control characters. REQUIRES: there is a header.
bool word2vec_body_is_binary(const Input& input) {
  const int64_t dims = word2vec_header(input)->dims;
  const std::string_view text = sample_text(input);
  const std::string_view body = text.substr(text.find('\n') + 1);
  const size_t newline = body.find('\n');
  const bool line_is_whole = newline != std::string_view::npos || input.sample_is_whole();
  if (line_is_whole && trailing_numbers(body.substr(0, newline)) >= dims) return false;
  return std::any_of(body.begin(), body.end(), is_control);
}

// Distinguishes a header from a row whose word is a number (such as a year). If the sampled rows do not
// usually have exactly one number, the line is a header. Otherwise it is one only if it declares one
// dimension and a valid row count, or if some row is at least as long as declared. A header that no file can
// have (no rows, no dimensions) is reported as an error.
bool is_header(const TextHeader& header, std::span<const std::string_view> rows) {
  if (usual_numbers(rows) != 1) return true;
  if (header.dims == 1) return header.rows >= 1 && header.rows <= kMaxRows;
  return std::any_of(rows.begin(), rows.end(), [&](const std::string_view row) {
    return header.dims > 1 && trailing_numbers(row) >= header.dims;
  });
}

// Returns the lines after the header.
std::span<const std::string_view> rows_of(std::span<const std::string_view> lines) {
  return lines.subspan(lines.empty() ? 0 : 1);
}

// Words may contain spaces and end in numbers, so rows that are longer than declared could be words that have
// absorbed numbers. If all rows are longer, the header is wrong.
Status check_row_length(const std::string& path, const TextHeader& header,
                        std::span<const std::string_view> rows) {
  const int64_t usual = usual_numbers(rows);
  const bool some_fit = std::any_of(rows.begin(), rows.end(), [&](const std::string_view row) {
    return trailing_numbers(row) == header.dims;
  });
  if (usual <= header.dims || some_fit) return {};
  return {ErrorCode::kCorrupt,
          concat(path, ": line 1: the header says ", header.dims_text,
                 " dimensions, but the lines after it have ", usual,
                 " numbers; if their words end in numbers, name the format word2vec-text "
                 "(--format of glove-convert, "
                 "\"format\" of glove_load)")};
}

class Word2vecBinaryReader final : public RowReader {
 public:
  Word2vecBinaryReader(const Input& input, const TextHeader& header)
      : path_(input.path()), header_(header), stream_(input.stream()) {
    vector_bytes_ = static_cast<size_t>(header.dims) * sizeof(float);
    block_bytes_ = input.sample_is_whole() ? input.sample().size() + 1 : kBlockBytes;
  }

  int64_t dims() const override { return header_.dims; }
  int64_t promised_rows() const override { return header_.rows; }
  int64_t least_row_bytes() const override { return 2 + static_cast<int64_t>(vector_bytes_); }
  int64_t file_position() const override { return stream_->file_position(); }

  Result<bool> fetch(RawBlock& raw) override {
    raw.bytes.resize(std::max(block_bytes_, carry_.size() + block_bytes_ / 2));
    std::copy(carry_.begin(), carry_.end(), raw.bytes.begin());
    size_t filled = carry_.size();
    raw.first_row = rows_done_ + 1;
    raw.rows = 0;
    size_t whole = 0;  // bytes in complete rows
    while (raw.rows == 0 && rows_done_ < header_.rows) {
      if (filled == raw.bytes.size()) raw.bytes.resize(filled * 2);
      const std::span<char> space(raw.bytes.data() + filled, raw.bytes.size() - filled);
      GLOVE_ASSIGN_OR_RETURN(const size_t got, stream_->read(space));
      const bool at_end = got < space.size();
      filled += got;
      GLOVE_RETURN_IF_ERROR(find_rows(raw, filled, whole));
      if (at_end && raw.rows == 0 && rows_done_ < header_.rows) return ends_early(whole);
    }
    carry_.assign(raw.bytes.begin() + static_cast<std::ptrdiff_t>(whole),
                  raw.bytes.begin() + static_cast<std::ptrdiff_t>(filled));
    offset_ += static_cast<int64_t>(whole);
    raw.bytes.resize(whole);
    if (raw.rows == 0) return check_end();
    return true;
  }

  Status decode(const RawBlock& raw, RowBlock& rows) const override {
    rows.place = "row";
    rows.first_row = raw.first_row;
    rows.vectors.resize(static_cast<size_t>(raw.rows) * static_cast<size_t>(header_.dims));
    auto* to = reinterpret_cast<char*>(rows.vectors.data());
    const char* at = raw.bytes.data();
    const char* const end = at + raw.bytes.size();
    if (raw.first_row == 1) at += header_bytes(raw);
    for (int64_t row = 0; row < raw.rows; ++row, to += vector_bytes_) {
      while (*at == '\n') ++at;
      const auto* const space = static_cast<const char*>(std::memchr(at, ' ', static_cast<size_t>(end - at)));
      rows.words.emplace_back(at, static_cast<size_t>(space - at));
      std::memcpy(to, space + 1, vector_bytes_);
      at = space + 1 + vector_bytes_;
    }
    return {};
  }

 private:
  static constexpr size_t kBlockBytes = size_t{1} << 18;

  static size_t header_bytes(const RawBlock& raw) {
    return static_cast<size_t>(std::find(raw.bytes.begin(), raw.bytes.end(), '\n') - raw.bytes.begin()) + 1;
  }

  // Counts the complete rows after the first `whole` bytes, and moves `whole` past them.
  Status find_rows(RawBlock& raw, size_t filled, size_t& whole) {
    const char* const begin = raw.bytes.data();
    size_t at = whole;
    if (offset_ == 0 && at == 0) at = header_bytes(raw);
    while (rows_done_ < header_.rows) {
      while (at < filled && begin[at] == '\n') ++at;
      const auto* const space = static_cast<const char*>(std::memchr(begin + at, ' ', filled - at));
      const size_t word_bytes = (space != nullptr ? static_cast<size_t>(space - begin) : filled) - at;
      if (word_bytes > static_cast<size_t>(kMaxWordBytes))
        return corrupt(concat(
            "row ", rows_done_ + 1, ": offset ", offset_ + static_cast<int64_t>(at),
            ": the word is longer than ", kMaxWordBytes,
            " bytes; the rows before have another length than the header says, or the file is damaged"));
      if (space == nullptr || filled - at - word_bytes - 1 < vector_bytes_) return {};
      at += word_bytes + 1 + vector_bytes_;
      whole = at;
      ++raw.rows;
      ++rows_done_;
    }
    return {};
  }

  Error ends_early(size_t whole) const {
    return corrupt(concat("row ", rows_done_ + 1, ": offset ", offset_ + static_cast<int64_t>(whole),
                          ": the file ends early; its header promises ", counted(header_.rows, "rows")));
  }

  // Only newlines may follow the last row.
  Result<bool> check_end() {
    Buffer<char> rest = std::move(carry_);
    while (true) {
      const bool blank = std::all_of(rest.begin(), rest.end(), [](char c) { return c == '\n'; });
      if (!blank)
        return corrupt(concat("offset ", offset_, ": there are bytes after the ",
                              counted(header_.rows, "rows"), " that the header promises"));
      rest.resize(4096);
      GLOVE_ASSIGN_OR_RETURN(const size_t got, stream_->read(rest));
      if (got == 0) return false;
      rest.resize(got);
    }
  }

  Error corrupt(const std::string& what) const { return {ErrorCode::kCorrupt, path_ + ": " + what}; }

  std::string path_;
  TextHeader header_;
  std::unique_ptr<ByteStream> stream_;
  size_t vector_bytes_;
  size_t block_bytes_;
  Buffer<char> carry_;  // the beginning of a row whose end has not been read yet
  int64_t offset_ = 0;  // of the next block, in the uncompressed content
  int64_t rows_done_ = 0;
};

}  // namespace

Result<bool> sniff_word2vec_text(const Input& input, const ReadOptions&) {
  const auto header = word2vec_header(input);
  if (!header || word2vec_body_is_binary(input)) return false;
  GLOVE_ASSIGN_OR_RETURN(const auto lines, sample_lines(input));
  return is_header(*header, rows_of(lines));
}

Result<std::unique_ptr<RowReader>> open_word2vec_text(const Input& input, const ReadOptions& options) {
  GLOVE_ASSIGN_OR_RETURN(const TextHeader header, checked_word2vec_header(input));
  if (options.format.empty()) {
    GLOVE_ASSIGN_OR_RETURN(const auto lines, sample_lines(input));
    GLOVE_RETURN_IF_ERROR(check_row_length(input.path(), header, rows_of(lines)));
  }
  TextLayout layout;
  layout.numbers = header.dims;
  layout.has_header = true;
  layout.expected_rows = header.rows;
  return read_text(input, layout);
}

Result<bool> sniff_word2vec_binary(const Input& input, const ReadOptions&) {
  return word2vec_header(input).has_value() && word2vec_body_is_binary(input);
}

Result<std::unique_ptr<RowReader>> open_word2vec_binary(const Input& input, const ReadOptions&) {
  GLOVE_ASSIGN_OR_RETURN(const TextHeader header, checked_word2vec_header(input));
  return std::unique_ptr<RowReader>(std::make_unique<Word2vecBinaryReader>(input, header));
}

}  // namespace glove
