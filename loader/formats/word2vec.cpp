// Two formats that begin with a header line "ROWS DIMS".
//
// word2vec-text, and fastText's identical .vec format: after the header one word per line,
// `word v1 ... vd`, often with a space at the end.
//
// word2vec-binary: after the header, for each row the word, a space, and DIMS
// little-endian float32; newlines before a word are ignored. A word may contain spaces: it ends at the first
// one that is followed by what can be a vector and the next row.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "base/concat.h"
#include "loader/formats/formats.h"
#include "loader/formats/text.h"
#include "loader/input.h"
#include "loader/row_transform.h"
#include "model/limits.h"

namespace glove {
namespace {

std::string_view sample_text(const Input& input) {
  std::string_view text = input.sample();
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
  const size_t newline = line.find_first_of("\r\n");
  if (newline == std::string_view::npos) return std::nullopt;
  return parse_text_header(line.substr(0, newline));
}

// Returns the same if it is within the limits of a model, and otherwise the reason.
Result<TextHeader> checked_word2vec_header(const Input& input) {
  const auto header = word2vec_header(input);
  const auto corrupt = [&](const std::string& what) { return corrupt_file(input.path(), "line 1: ", what); };
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
  std::string_view body = text.substr(text.find_first_of("\r\n"));
  body.remove_prefix(body.starts_with("\r\n") ? 2 : 1);
  const size_t newline = body.find_first_of("\r\n");
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
  return corrupt_file(path, "line 1: the header says ", header.dims_text,
                      " dimensions, but the lines after it have ", usual,
                      " numbers; if their words end in numbers, name the format word2vec-text "
                      "(--format of glove-convert, "
                      "\"format\" of glove_load)");
}

constexpr float kMostPlausible = 1e20f;  // letters as float32 are larger
constexpr float kLeastPlausible = 1e-30f;

// Whether the first components can be those of a vector. Not if they begin within a word or a component.
bool is_plausible(const char* vector, int64_t dims) {
  std::array<float, 8> values;
  const auto count = static_cast<size_t>(std::min<int64_t>(dims, values.size()));
  std::memcpy(values.data(), vector, count * sizeof(float));
  return std::none_of(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count), [](float value) {
    const float size = std::fabs(value);
    return size > kMostPlausible || (size > 0 && size < kLeastPlausible);
  });
}

class Word2vecBinaryReader final : public RowReader {
 public:
  Word2vecBinaryReader(const Input& input, const TextHeader& header, bool skip_invalid)
      : path_(input.path()), header_(header), skip_invalid_(skip_invalid), stream_(input.stream()) {
    vector_bytes_ = static_cast<size_t>(header.dims) * sizeof(float);
    block_bytes_ = input.sample_is_whole() ? input.sample().size() + 1 : kBlockBytes;
  }

  int64_t dims() const override { return header_.dims; }
  int64_t promised_rows() const override { return header_.rows; }
  int64_t least_row_bytes() const override { return 2 + static_cast<int64_t>(vector_bytes_); }
  int64_t file_position() const override { return stream_->file_position(); }
  std::string warning() const override { return warning_; }

  Result<bool> fetch(RawBlock& raw) override {
    raw.bytes.resize(std::max(block_bytes_, carry_.size() + block_bytes_ / 2));
    std::copy(carry_.begin(), carry_.end(), raw.bytes.begin());
    size_t filled = carry_.size();
    raw.first_row = rows_done_ + 1;
    raw.rows = 0;
    raw.words.clear();
    size_t whole = 0;  // bytes in complete rows
    while (raw.rows == 0 && rows_done_ < header_.rows) {
      if (filled == raw.bytes.size()) raw.bytes.resize(filled * 2);
      const std::span<char> space(raw.bytes.data() + filled, raw.bytes.size() - filled);
      GLOVE_ASSIGN_OR_RETURN(const size_t got, stream_->read(space));
      const bool at_end = got < space.size();
      filled += got;
      GLOVE_RETURN_IF_ERROR(find_rows(raw, filled, at_end, whole));
      if (at_end && raw.rows == 0 && rows_done_ < header_.rows)
        return end_early(whole, std::string_view(raw.bytes.data(), filled).substr(whole));
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
    if (raw.first_row == 1) at += header_bytes(raw);
    for (int64_t row = raw.first_row; const size_t split : raw.words.ends) {
      while (*at == '\n') ++at;
      const std::string_view word(at, static_cast<size_t>(raw.bytes.data() + split - at));
      std::memcpy(to, raw.bytes.data() + split + 1, vector_bytes_);
      at = raw.bytes.data() + split + 1 + vector_bytes_;
      const std::string fault = fault_of(word, reinterpret_cast<const float*>(to));
      if (fault.empty()) {
        rows.words.push_back(word);
        rows.row_numbers.push_back(row);
        to += vector_bytes_;
      } else if (skip_invalid_) {
        rows.left_out.add("cannot be words and their vectors", row);
      } else {
        return corrupt(concat("row ", row, ": ", fault,
                              "; the word may have had a space, or the header says another number of "
                              "dimensions than the rows have",
                              kSkipHint));
      }
      ++row;
    }
    rows.vectors.resize(rows.words.size() * static_cast<size_t>(header_.dims));
    return {};
  }

 private:
  static constexpr size_t kBlockBytes = size_t{1} << 18;

  static size_t header_bytes(const RawBlock& raw) {
    const std::string_view text(raw.bytes.data(), raw.bytes.size());
    const size_t end = text.find_first_of("\r\n");  // as word2vec_header() has found it
    return end + (text.substr(end).starts_with("\r\n") ? 2 : 1);
  }

  // What shows that a row was misread, or nothing.
  std::string fault_of(std::string_view word, const float* vector) const {
    if (std::any_of(word.begin(), word.end(), [](char c) { return is_control(c) || c == '\n'; }))
      return concat("the word '", escaped(word), "' has control bytes");
    float most = 0;  // of what is not NaN, which is another error
    for (int64_t i = 0; i < header_.dims; ++i) most = std::max(most, std::fabs(vector[i]));
    for (int64_t i = 0; i < header_.dims && most > kMostPlausible; ++i)
      if (std::isfinite(vector[i]) && std::fabs(vector[i]) > kMostPlausible)
        return concat("component ", i + 1, " of '", escaped(word), "' is ", vector[i]);
    return {};
  }

  // Whether a vector can begin after the space at `split`, and another row after it.
  bool fits(std::string_view text, size_t split) const {
    const size_t end = split + 1 + vector_bytes_;
    if (end > text.size() || !is_plausible(text.data() + split + 1, header_.dims)) return false;
    return end == text.size() || text[end] == '\n' || (!has_newlines_ && !is_control(text[end]));
  }

  // Returns where the word at `at` ends, at `first` if no other space is better. npos: more bytes are needed.
  size_t split_of(std::string_view text, size_t at, size_t first, bool at_end) const {
    constexpr size_t kMostBytes = 256;  // of a word with spaces
    for (size_t split = first; split < text.size() && split - at < kMostBytes; ++split) {
      if (is_control(text[split]) || text[split] == '\n') return first;
      if (text[split] != ' ') continue;
      if (split + 1 + vector_bytes_ >= text.size() && !at_end) return std::string_view::npos;
      if (fits(text, split)) return split;
    }
    return first;
  }

  // Counts the complete rows after the first `whole` bytes, and moves `whole` past them.
  Status find_rows(RawBlock& raw, size_t filled, bool at_end, size_t& whole) {
    const char* const begin = raw.bytes.data();
    const std::string_view text(begin, filled);
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
      const size_t split = split_of(text, at, at + word_bytes, at_end);
      if (split == std::string_view::npos) return {};
      raw.words.ends.push_back(split);
      at = split + 1 + vector_bytes_;
      if (rows_done_ == 0) has_newlines_ = at < filled && begin[at] == '\n';
      whole = at;
      ++raw.rows;
      ++rows_done_;
    }
    return {};
  }

  // Ends the reading before the header says, if nothing is left of another row.
  Result<bool> end_early(size_t whole, std::string_view rest) {
    if (!skip_invalid_ && rest.find_first_not_of('\n') != std::string_view::npos)
      return corrupt(concat("row ", rows_done_ + 1, ": offset ", offset_ + static_cast<int64_t>(whole),
                            ": the file ends early; its header promises ", counted(header_.rows, "rows"),
                            kSkipHint));
    warning_ = concat("the file ends after ", counted(rows_done_, "rows"), ", but its header promises ",
                      header_.rows);
    return false;
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

  Error corrupt(const std::string& what) const { return corrupt_file(path_, what); }

  std::string path_;
  TextHeader header_;
  bool skip_invalid_;
  std::unique_ptr<ByteStream> stream_;
  size_t vector_bytes_;
  size_t block_bytes_;
  Buffer<char> carry_;  // the beginning of a row whose end has not been read yet
  int64_t offset_ = 0;  // of the next block, in the uncompressed content
  int64_t rows_done_ = 0;
  bool has_newlines_ = false;  // after each row
  std::string warning_;
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
  layout.skip_invalid = options.skip_invalid;
  layout.expected_rows = header.rows;
  return read_text(input, layout);
}

Result<bool> sniff_word2vec_binary(const Input& input, const ReadOptions&) {
  return word2vec_header(input).has_value() && word2vec_body_is_binary(input);
}

Result<std::unique_ptr<RowReader>> open_word2vec_binary(const Input& input, const ReadOptions& options) {
  GLOVE_ASSIGN_OR_RETURN(const TextHeader header, checked_word2vec_header(input));
  return std::unique_ptr<RowReader>(
      std::make_unique<Word2vecBinaryReader>(input, header, options.skip_invalid));
}

}  // namespace glove
