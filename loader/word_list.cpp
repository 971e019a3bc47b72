#include "loader/word_list.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/concat.h"
#include "base/file.h"
#include "base/file_calls.h"
#include "base/float_from_chars.h"
#include "loader/byte_stream.h"
#include "loader/formats/text.h"
#include "loader/input.h"
#include "model/limits.h"

namespace glove {
namespace {

constexpr int64_t kMaxColumnsBytes = int64_t{1} << 24;  // of a line that has columns

// How the words of a list stand in its lines.
struct ListLayout {
  bool has_header = false;
  bool is_sure = true;  // that the header is one
  bool has_columns = false;
  size_t column = 0;        // of the word
  bool has_counts = false;  // after the word
  bool is_quoted = false;
};

bool is_quoted(std::string_view text) {
  return text.size() >= 2 && text.front() == '"' && text.back() == '"';
}

std::string_view trimmed(std::string_view line) {
  return line.substr(0, line.find_last_not_of(" \t") + 1);
}

// Returns a line without the count at its end; empty if it has none.
std::string_view without_count(std::string_view line) {
  line = trimmed(line);
  const size_t digits = line.find_last_not_of("0123456789");
  const size_t word = digits == std::string_view::npos ? digits : line.find_last_not_of(" \t", digits);
  return word == digits || digits + 1 == line.size() ? std::string_view() : line.substr(0, word + 1);
}

// Whether each line is another word and its count, in the order of counts. An end of a sentence may be first.
bool have_counts(std::span<const std::string_view> lines) {
  WordSet words;
  double last = INFINITY;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string_view word = without_count(lines[i]);
    if (word.empty() || !words.insert(word)) return false;
    double count = 0;
    const std::string_view line = trimmed(lines[i]);
    from_chars(line.data() + line.find_last_of(" \t") + 1, line.data() + line.size(), count);
    if (count > last) return false;
    if (i > 0 || word != "</s>") last = count;
  }
  return lines.size() >= 3;
}

std::string_view column_of(std::string_view line, size_t column) {
  for (; column > 0; --column) line.remove_prefix(std::min(line.find('\t'), line.size() - 1) + 1);
  return line.substr(0, line.find('\t'));
}

// Returns the column whose name says that it has the words; `columns` if there is none.
size_t word_column(std::string_view names, size_t columns) {
  for (size_t column = 0; column < columns; ++column) {
    std::string name(column_of(names, column));
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    if (name == "word" || name == "token" || name == "label" || name == "name") return column;
  }
  return columns;
}

ListLayout layout_of(std::vector<std::string_view> lines, bool may_have_header) {
  std::erase_if(lines, [](auto line) { return trimmed(line).empty(); });
  const auto all = [&](auto test) { return !lines.empty() && std::all_of(lines.begin(), lines.end(), test); };
  const auto tabs = [](std::string_view line) { return std::count(line.begin(), line.end(), '\t'); };
  const size_t columns = lines.empty() ? 0 : static_cast<size_t>(tabs(lines[0])) + 1;
  ListLayout layout;
  layout.has_counts = have_counts(lines);
  layout.has_columns = !layout.has_counts && lines.size() > 1 && columns > 1 &&
                       !all([](auto line) { return is_quoted(line) && line.find("\"\t\"") == line.npos; }) &&
                       all([&](auto line) { return tabs(line) == tabs(lines[0]); });
  layout.has_header = may_have_header && layout.has_columns && trailing_numbers(lines[0]) == 0;
  if (layout.has_header) {
    layout.column = word_column(lines[0], columns) % columns;
    layout.is_sure = word_column(lines[0], columns) < columns || trailing_numbers(lines[1]) > 0;
  }
  for (std::string_view& line : lines) {
    line = layout.has_columns ? column_of(line, layout.column) : trimmed(line);
    if (layout.has_counts) line = without_count(line);
  }
  if (layout.has_header) lines.erase(lines.begin());
  layout.is_quoted = all(is_quoted);
  return layout;
}

class WordListFile final : public WordSource {
 public:
  WordListFile(const Input& input, const ListLayout& layout)
      : path_(input.path()), layout_(layout), stream_(text_stream(input.stream())) {}

  const std::string& name() const override { return path_; }
  std::string note() const override {
    return layout_.has_counts ? "the numbers after the words of '" + path_ +
                                    "' are left out; they can be used as frequencies"
                              : "";
  }

  Result<int64_t> next(int64_t count, WordBlock& words) override {
    const size_t enough = words.ends.size() + static_cast<size_t>(count);
    const size_t before = words.ends.size();
    while (words.ends.size() < enough) {
      if (!word_.empty()) {  // blank lines before it are empty words
        const bool is_blank = blank_lines_ > 0;
        if (is_blank) --blank_lines_;
        if (!is_blank) words.bytes.insert(words.bytes.end(), word_.begin(), word_.end());
        words.ends.push_back(words.bytes.size());
        if (!is_blank) word_.clear();
        continue;
      }
      if (window_at_ == window_.size()) {
        if (at_end_ && line_.empty()) break;
        if (at_end_)
          end_line();
        else
          GLOVE_RETURN_IF_ERROR(refill());
        continue;
      }
      const char* const begin = window_.data() + window_at_;
      const char* const end = window_.data() + window_.size();
      const void* const newline = std::memchr(begin, '\n', static_cast<size_t>(end - begin));
      const char* const stop = newline != nullptr ? static_cast<const char*>(newline) : end;
      line_.insert(line_.end(), begin, stop);
      window_at_ += static_cast<size_t>(stop - begin) + (newline != nullptr ? 1 : 0);
      const int64_t most = layout_.has_columns ? kMaxColumnsBytes : kMaxWordBytes;
      if (line_.size() > static_cast<size_t>(most) + 1)
        return corrupt_file(path_, "line ", line_number_, layout_.has_columns ? ": the line" : ": the word",
                            " is longer than ", most, " bytes");
      if (newline != nullptr) end_line();
    }
    return static_cast<int64_t>(words.ends.size() - before);
  }

 private:
  Status refill() {
    constexpr size_t kWindowBytes = size_t{1} << 16;
    window_.resize(kWindowBytes);
    GLOVE_ASSIGN_OR_RETURN(const size_t got, stream_->read(window_));
    window_.resize(got);
    window_at_ = 0;
    if (at_start_ && std::string_view(window_.data(), got).starts_with(kByteOrderMark))
      window_at_ = kByteOrderMark.size();
    at_start_ = false;
    at_end_ = got < kWindowBytes;
    return {};
  }

  // Sets the word that next() passes on, or counts a blank line, of which only those before a word matter.
  void end_line() {
    std::string_view word = line_;
    if (layout_.has_columns) word = column_of(word, layout_.column);
    if (layout_.has_counts) {
      const std::string_view counted = without_count(word);
      if (!counted.empty()) word = counted;
    }
    const bool unquote = layout_.is_quoted && is_quoted(word);
    if (unquote) word = word.substr(1, word.size() - 2);
    if (line_number_ > 1 || !layout_.has_header) {
      word_ = word;
      for (size_t at = 0; unquote && (at = word_.find("\"\"", at)) != std::string::npos; ++at)
        word_.erase(at, 1);
      if (word_.empty()) ++blank_lines_;
    }
    line_.clear();
    ++line_number_;
  }

  std::string path_;
  ListLayout layout_;
  std::unique_ptr<ByteStream> stream_;
  Buffer<char> window_;
  size_t window_at_ = 0;
  std::string line_;  // the part that has been read
  int64_t line_number_ = 1;
  std::string word_;         // of the line that has ended; empty: none
  int64_t blank_lines_ = 0;  // before it
  bool at_start_ = true;
  bool at_end_ = false;
};

constexpr int64_t kWordsPerBlock = 4096;

Result<int64_t> count_rest(WordSource& list) {
  int64_t total = 0;
  for (WordBlock words;; words.clear()) {
    GLOVE_ASSIGN_OR_RETURN(const int64_t count, list.next(kWordsPerBlock, words));
    if (count == 0) return total;
    total += count;
  }
}

bool strip_suffix(std::string& path, std::string_view suffix) {
  if (!path.ends_with(suffix)) return false;
  path.resize(path.size() - suffix.size());
  return true;
}

}  // namespace

Result<std::unique_ptr<WordSource>> open_word_list(const std::string& path, const InterruptCheck& interrupted,
                                                   ListContent content, const RowCount& rows) {
  GLOVE_ASSIGN_OR_RETURN(const Input input, Input::open(path, {}, interrupted));
  ListLayout layout;
  if (content == ListContent::kWords) {
    GLOVE_ASSIGN_OR_RETURN(const auto lines, sample_lines(input, false));
    layout = layout_of(lines, true);
    if (!layout.is_sure && rows) {
      WordListFile others(input, layout);
      GLOVE_ASSIGN_OR_RETURN(const int64_t words, count_rest(others));
      if (const auto wanted = rows(); wanted.ok() && wanted.value() == words + 1)
        layout = layout_of(lines, false);
    }
  }
  return std::unique_ptr<WordSource>(std::make_unique<WordListFile>(input, layout));
}

Result<int64_t> count_words(const std::string& path, const InterruptCheck& interrupted) {
  GLOVE_ASSIGN_OR_RETURN(const auto list, open_word_list(path, interrupted));
  return count_rest(*list);
}

Result<WordSet> read_word_set(const std::string& path, const InterruptCheck& interrupted) {
  GLOVE_ASSIGN_OR_RETURN(const auto list, open_word_list(path, interrupted));
  WordSet set;
  for (WordBlock words;; words.clear()) {
    GLOVE_ASSIGN_OR_RETURN(const int64_t count, list->next(kWordsPerBlock, words));
    if (count == 0) return set;
    for (size_t i = 0; i < words.ends.size(); ++i)
      if (!words.word(i).empty()) set.insert(words.word(i));
  }
}

Result<std::string> find_word_list(const std::string& path, const std::string& given) {
  if (!given.empty()) return given;
  std::string stem(without_compression(path));
  if (stem == path) strip_suffix(stem, ".zip");
  const size_t dot = stem.rfind('.');
  if (dot != std::string::npos && dot >= file_name_at(stem)) stem.resize(dot);
  for (const std::string_view extension : {".words", ".vocab", ".keys", ".txt"}) {
    std::string candidate = stem + std::string(extension);
    if (candidate != path && system_calls::is_readable(candidate)) return candidate;
  }
  std::string beside = directory_of(path) + "/metadata.tsv";
  if (stem.size() + 4 == path.size() && path.ends_with(".tsv") && beside != path &&
      system_calls::is_readable(beside))
    return beside;
  return invalid_argument(path,
                          ": the file contains vectors without words; name a file with one "
                          "word per line (--vocabulary of glove-convert, \"vocabulary\" of glove_load), "
                          "or put one beside it as '",
                          stem, ".words'",
                          stem.ends_with(".vectors")
                              ? "; what gensim has written is loaded by "
                                "sqlite_glove.load_gensim(conn, KeyedVectors.load(PATH))"
                              : "");
}

}  // namespace glove
