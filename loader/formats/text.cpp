#include "loader/formats/text.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/concat.h"
#include "base/number.h"
#include "loader/formats/formats.h"
#include "loader/row_transform.h"
#include "model/limits.h"

namespace glove {
namespace {

constexpr size_t kTextBlockBytes = size_t{1} << 20;
constexpr size_t kMaxLineBytes = size_t{1} << 24;
constexpr size_t kShownBytes = 40;  // of a field in a message

bool is_separator(char c) {
  return c == ' ' || c == '\t';
}

std::string_view trim_end(std::string_view line) {
  while (!line.empty() && (is_separator(line.back()) || line.back() == '\r')) line.remove_suffix(1);
  return line;
}

// Parses `count` fields, each after one or more separators. They must fill [at, end).
bool parse_fields(const char* at, const char* end, int64_t count, float* values) {
  for (int64_t j = 0; j < count; ++j) {
    if (at >= end || !is_separator(*at)) return false;
    do ++at;
    while (at < end && is_separator(*at));
    at = parse_float(at, end, values[j]);
    if (at == nullptr) return false;
  }
  return at == end;
}

// Returns the position in `line` of the separator before its last `count` fields, or npos.
size_t before_last_fields(std::string_view line, int64_t count) {
  size_t at = line.size();
  for (int64_t j = 0; j < count; ++j) {
    while (at > 0 && !is_separator(line[at - 1])) --at;
    if (at == 0) return std::string_view::npos;
    if (j + 1 == count) break;
    while (at > 0 && is_separator(line[at - 1])) --at;
  }
  return at - 1;
}

// Removes the complete lines from the front of `rest` and returns them, without white space at their ends if
// `trimmed`. `is_whole`: the end of `rest` also ends a line.
std::vector<std::string_view> complete_lines(std::string_view& rest, bool is_whole, bool trimmed) {
  if (rest.starts_with(kByteOrderMark)) rest.remove_prefix(kByteOrderMark.size());
  std::vector<std::string_view> lines;
  while (!rest.empty() && lines.size() < 64) {
    const size_t newline = rest.find_first_of("\r\n");
    if (newline == std::string_view::npos && !is_whole) break;
    lines.push_back(trimmed ? trim_end(rest.substr(0, newline)) : rest.substr(0, newline));
    const bool two = newline != std::string_view::npos && rest.substr(newline).starts_with("\r\n");
    rest.remove_prefix(newline == std::string_view::npos ? rest.size() : newline + (two ? 2 : 1));
  }
  return lines;
}

class LineStream final : public ByteStream {
 public:
  explicit LineStream(std::unique_ptr<ByteStream> stream) : stream_(std::move(stream)) {}

  Result<size_t> read(std::span<char> into) override {
    size_t done = 0;
    while (done < into.size()) {
      const std::span<char> space = into.subspan(done);
      GLOVE_ASSIGN_OR_RETURN(const size_t got, stream_->read(space));
      done +=
          after_return_ || std::memchr(space.data(), '\r', got) != nullptr ? change(space.first(got)) : got;
      if (got < space.size()) break;
    }
    return done;
  }
  int64_t file_position() const override { return stream_->file_position(); }

 private:
  size_t change(std::span<char> text) {
    char* to = text.data();
    for (const char c : text) {
      if (c != '\n' || !after_return_) *to++ = c == '\r' ? '\n' : c;
      after_return_ = c == '\r';
    }
    return static_cast<size_t>(to - text.data());
  }

  std::unique_ptr<ByteStream> stream_;
  bool after_return_ = false;
};

enum class LineFault { kNone, kNoWord, kNumbers };

class TextReader final : public RowReader {
 public:
  TextReader(const Input& input, const TextLayout& layout, std::unique_ptr<WordSource> words)
      : path_(input.path()),
        layout_(layout),
        stream_(text_stream(input.stream())),
        words_(std::move(words)),
        warning_(words_ != nullptr ? words_->note() : "") {
    block_bytes_ = input.sample_is_whole() ? input.sample().size() + 1 : kTextBlockBytes;
    block_bytes_ = std::max<size_t>(block_bytes_, 64);
  }

  int64_t dims() const override { return layout_.numbers - layout_.leading_numbers; }
  int64_t promised_rows() const override { return layout_.expected_rows; }
  // A word, the numbers with their separators, and the newline.
  int64_t least_row_bytes() const override { return 1 + 2 * layout_.numbers + 1; }
  int64_t file_position() const override { return stream_->file_position(); }
  std::string warning() const override { return warning_; }

  Result<bool> fetch(RawBlock& raw) override {
    raw.bytes.resize(std::max(block_bytes_, carry_.size() + block_bytes_ / 2));
    std::copy(carry_.begin(), carry_.end(), raw.bytes.begin());
    size_t filled = carry_.size();
    size_t whole = 0;  // bytes in complete lines
    while (whole == 0) {
      if (filled > kMaxLineBytes)
        return error_at(next_line_, concat("the line is longer than ", kMaxLineBytes,
                                           " bytes; this is not a text of words and numbers"));
      if (filled == raw.bytes.size()) raw.bytes.resize(filled * 2);
      const std::span<char> space(raw.bytes.data() + filled, raw.bytes.size() - filled);
      GLOVE_ASSIGN_OR_RETURN(const size_t count, stream_->read(space));
      at_end_ = at_end_ || count < space.size();
      const size_t newline = std::string_view(space.data(), count).rfind('\n');
      if (newline != std::string_view::npos) whole = filled + newline + 1;
      filled += count;
      if (at_end_) {
        whole = filled;
        break;
      }
    }
    carry_.assign(raw.bytes.begin() + static_cast<std::ptrdiff_t>(whole),
                  raw.bytes.begin() + static_cast<std::ptrdiff_t>(filled));
    raw.bytes.resize(whole);
    raw.first_row = next_line_;
    next_line_ += std::count(raw.bytes.begin(), raw.bytes.end(), '\n');
    if (whole == 0) return check_row_count();
    if (raw.bytes.back() != '\n') ++next_line_;
    return count_rows(raw);
  }

  Status decode(const RawBlock& raw, RowBlock& rows) const override {
    rows.place = "line";
    rows.first_row = raw.first_row;
    const char* at = raw.bytes.data();
    const char* const end = at + raw.bytes.size();
    if (raw.first_row == 1 && std::string_view(at, raw.bytes.size()).starts_with(kByteOrderMark))
      at += kByteOrderMark.size();
    // A number takes at least two bytes, including its separator.
    rows.vectors.resize(raw.bytes.size() / 2 + static_cast<size_t>(layout_.numbers));
    const auto width = static_cast<size_t>(dims());
    Status status;
    int64_t line = raw.first_row;
    size_t row = 0;
    for (; at < end && status.ok(); ++line) {
      const char* const newline =
          static_cast<const char*>(std::memchr(at, '\n', static_cast<size_t>(end - at)));
      const char* const line_end = newline != nullptr ? newline : end;
      const std::string_view text = trim_end({at, static_cast<size_t>(line_end - at)});
      at = line_end + 1;
      if (text.empty() || (line == 1 && layout_.has_header)) continue;
      float* const values = rows.vectors.data() + rows.words.size() * width;
      const LineFault fault = words_ != nullptr
                                  ? decode_numbers(text, raw.words.word(row++), line, values, rows)
                                  : decode_line(text, line, values, rows);
      if (fault == LineFault::kNone) continue;
      const bool no_word = fault == LineFault::kNoWord;
      if (layout_.skip_invalid)
        rows.left_out.add(no_word ? "have no word" : "have another number of components", line);
      else
        status = no_word ? error_at(line, concat("there is no word before the numbers", kSkipHint))
                         : explain(text, line);
    }
    rows.vectors.resize(rows.words.size() * width);
    return status;
  }

 private:
  LineFault decode_numbers(std::string_view text, std::string_view word, int64_t line, float* row,
                           RowBlock& rows) const {
    const char* const end = text.data() + text.size();
    const char* const rest = parse_float(text.data() + text.find_first_not_of(" \t"), end, *row);
    if (rest == nullptr || !parse_fields(rest, end, layout_.numbers - 1, row + 1)) return LineFault::kNumbers;
    rows.words.push_back(word);
    rows.row_numbers.push_back(line);
    return LineFault::kNone;
  }

  // `row`: room for layout_.numbers values.
  LineFault decode_line(std::string_view text, int64_t line, float* row, RowBlock& rows) const {
    const char* const begin = text.data();
    const char* const end = begin + text.size();
    const char* word_end = begin;
    while (word_end < end && !is_separator(*word_end)) ++word_end;
    if (!parse_fields(word_end, end, layout_.numbers, row)) {
      const size_t split = before_last_fields(text, layout_.numbers);
      if (split == std::string_view::npos || !parse_fields(begin + split, end, layout_.numbers, row))
        return LineFault::kNumbers;
      if (layout_.skip_invalid && trailing_numbers(text) > layout_.numbers) return LineFault::kNumbers;
      word_end = begin + split;
    }
    if (word_end == begin) return LineFault::kNoWord;
    if (layout_.leading_numbers > 0) std::copy(row + layout_.leading_numbers, row + layout_.numbers, row);
    rows.words.emplace_back(begin, static_cast<size_t>(word_end - begin));
    rows.row_numbers.push_back(line);
    return LineFault::kNone;
  }

  // Explains why a line is not a row.
  Error explain(std::string_view text, int64_t line) const {
    const bool is_matrix = words_ != nullptr;
    const auto expected = [&](const auto&... but) {
      return error_at(line, concat(is_matrix ? "" : "a word and ", counted(layout_.numbers, "numbers"),
                                   is_matrix && layout_.numbers == 1 ? " was" : " were", " expected, but ",
                                   but..., kSkipHint));
    };
    const std::string with_word = concat(is_matrix ? "- " : "", text);
    std::string_view rest = with_word;
    for (int64_t found = 0; found < layout_.numbers; ++found) {
      const size_t split = before_last_fields(rest, 1);
      if (split == std::string_view::npos)
        return expected("it has ", found, is_matrix ? "" : " after its first field");
      if (trailing_numbers(rest) == 0)
        return expected("'", escaped(rest.substr(split + 1), kShownBytes), "' is not a number");
      rest = trim_end(rest.substr(0, split));
    }
    return expected("there are more");
  }

  Error error_at(int64_t line, const std::string& what) const {
    return corrupt_file(path_, "line ", line, ": ", what);
  }

  // After a header, every line is a row. There may be fewer than promised, if the last one is whole. Fetches
  // the words of the rows if they are apart.
  Result<bool> count_rows(RawBlock& raw) {
    if (layout_.expected_rows < 0 && words_ == nullptr) return true;
    const int64_t before = rows_seen_;
    const char* at = raw.bytes.data();
    const char* const end = at + raw.bytes.size();
    if (raw.first_row == 1 && std::string_view(at, raw.bytes.size()).starts_with(kByteOrderMark))
      at += kByteOrderMark.size();
    for (int64_t line = raw.first_row; at < end; ++line) {
      const char* newline = static_cast<const char*>(std::memchr(at, '\n', static_cast<size_t>(end - at)));
      if (newline == nullptr) newline = end;
      const bool blank = trim_end({at, static_cast<size_t>(newline - at)}).empty();
      if (!blank && (line > 1 || !layout_.has_header) && ++rows_seen_ > layout_.expected_rows &&
          layout_.has_header)
        return error_at(line, concat("the header promises ", counted(layout_.expected_rows, "rows"),
                                     ", but there are more", hint()));
      at = newline + 1;
    }
    if (words_ != nullptr) {
      raw.words.clear();
      GLOVE_ASSIGN_OR_RETURN(const int64_t words, words_->next(rows_seen_ - before, raw.words));
      if (words == rows_seen_ - before) return true;
      return mismatch(concat(counted(before + words, "words"), ", but there are more rows"));
    }
    if (raw.bytes.back() == '\n' || rows_seen_ >= layout_.expected_rows) return true;
    if (!layout_.skip_invalid) return error_at(next_line_, few_rows() + hint() + kSkipHint);
    --rows_seen_;
    while (!raw.bytes.empty() && raw.bytes.back() != '\n') raw.bytes.resize(raw.bytes.size() - 1);
    return true;
  }
  Error mismatch(const std::string& what) const {
    return corrupt_file(path_, "'", words_->name(), "' has ", what);
  }
  Result<bool> check_row_count() {
    if (words_ != nullptr) {
      WordBlock word;
      GLOVE_ASSIGN_OR_RETURN(const int64_t more, words_->next(1, word));
      if (more == 0) return false;
      return mismatch(concat("more words than the ", counted(rows_seen_, "rows")));
    }
    if (layout_.expected_rows < 0 || rows_seen_ == layout_.expected_rows) return false;
    if (*hint() != '\0') return error_at(next_line_, few_rows() + hint());
    warning_ = few_rows();
    return false;
  }
  std::string few_rows() const {
    return concat("the file ends after ", counted(rows_seen_, "rows"), ", but its header promises ",
                  layout_.expected_rows);
  }
  // If each line has one number, the first line may have been a word and its number (word2vec_text.cpp).
  const char* hint() const {
    return layout_.numbers > 1
               ? ""
               : "; if that is a word and its number, name the format glove-text (--format of "
                 "glove-convert, \"format\" of glove_load)";
  }

  std::string path_;
  TextLayout layout_;
  std::unique_ptr<ByteStream> stream_;
  size_t block_bytes_;
  std::vector<char> carry_;  // the beginning of a line whose end has not been read yet
  bool at_end_ = false;
  int64_t next_line_ = 1;
  std::unique_ptr<WordSource> words_;
  int64_t rows_seen_ = 0;
  std::string warning_;
};

}  // namespace

std::unique_ptr<RowReader> read_text(const Input& input, const TextLayout& layout,
                                     std::unique_ptr<WordSource> words) {
  return std::make_unique<TextReader>(input, layout, std::move(words));
}

std::unique_ptr<ByteStream> text_stream(std::unique_ptr<ByteStream> stream) {
  return std::make_unique<LineStream>(std::move(stream));
}

Result<std::vector<std::string_view>> sample_lines(const Input& input, bool trimmed) {
  constexpr size_t kFewestLines = 3;
  constexpr size_t kGrowth = 4;
  for (size_t bytes = Input::kSampleBytes;; bytes *= kGrowth) {
    GLOVE_ASSIGN_OR_RETURN(const Input::Sample sample, input.longer_sample(bytes));
    std::string_view rest(sample.bytes.data(), sample.bytes.size());
    std::vector<std::string_view> lines = complete_lines(rest, sample.is_whole, trimmed);
    const auto rows = std::count_if(lines.begin(), lines.end(), [](auto line) { return !line.empty(); });
    if (sample.is_whole || rows >= static_cast<std::ptrdiff_t>(kFewestLines) || rest.size() > kMaxLineBytes ||
        bytes > kFewestLines * kMaxLineBytes)
      return lines;
  }
}

int64_t trailing_numbers(std::string_view line) {
  int64_t count = 0;
  for (line = trim_end(line);; ++count) {
    const size_t split = before_last_fields(line, 1);
    if (split == std::string_view::npos) return count;
    float value = 0;
    const char* const end = line.data() + line.size();
    if (parse_float(line.data() + split + 1, end, value) != end) return count;
    line = trim_end(line.substr(0, split));
  }
}

std::vector<float> last_numbers(std::string_view line, int64_t count) {
  line = trim_end(line);
  const size_t split = before_last_fields(line, count);
  if (count <= 0 || split == std::string_view::npos) return {};
  std::vector<float> values(static_cast<size_t>(count));
  if (!parse_fields(line.data() + split, line.data() + line.size(), count, values.data())) return {};
  return values;
}

int64_t usual_numbers(std::span<const std::string_view> lines) {
  std::vector<std::pair<int64_t, int>> counts;  // a number of numbers, and how many lines end with it
  for (const std::string_view line : lines) {
    if (line.empty()) continue;
    const int64_t numbers = trailing_numbers(line);
    const auto known =
        std::find_if(counts.begin(), counts.end(), [&](const auto& entry) { return entry.first == numbers; });
    if (known != counts.end()) {
      ++known->second;
    } else {
      counts.emplace_back(numbers, 1);
    }
  }
  const auto most = std::max_element(counts.begin(), counts.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? 0 : most->first;
}

Status check_dims(const std::string& source, int64_t dims) {
  if (dims <= kMaxDims) return {};
  return corrupt_file(source, "its lines have ", dims, " components; a model has at most ", kMaxDims);
}

std::optional<TextHeader> parse_text_header(std::string_view line) {
  TextHeader header{0, 0, "", ""};
  line = trim_end(line);
  const char* at = line.data();
  const char* const end = at + line.size();
  const auto read_integer = [&](int64_t& value, std::string& text) {
    const auto [rest, error] = std::from_chars(at, end, value);
    if (error == std::errc::result_out_of_range) value = *at == '-' ? INT64_MIN : INT64_MAX;
    text.assign(at, rest);
    at = rest;
    return !text.empty();
  };
  if (!read_integer(header.rows, header.rows_text) || at == end || !is_separator(*at)) return std::nullopt;
  while (at < end && is_separator(*at)) ++at;
  if (!read_integer(header.dims, header.dims_text) || at != end) return std::nullopt;
  return header;
}

// GloVe text: one word per line, `word v1 v2 ... vd`, without a header. Words may contain spaces.
Result<bool> sniff_glove_text(const Input& input, const ReadOptions&) {
  GLOVE_ASSIGN_OR_RETURN(const auto lines, sample_lines(input));
  return usual_numbers(lines) > 0;
}

Result<std::unique_ptr<RowReader>> open_glove_text(const Input& input, const ReadOptions& options) {
  TextLayout layout;
  layout.skip_invalid = options.skip_invalid;
  GLOVE_ASSIGN_OR_RETURN(const auto lines, sample_lines(input));
  layout.numbers = usual_numbers(lines);
  if (layout.numbers == 0)
    return corrupt_file(input.path(), "line 1: a word followed by numbers was expected");
  GLOVE_RETURN_IF_ERROR(check_dims(input.path(), layout.numbers));
  return read_text(input, layout);
}

}  // namespace glove
