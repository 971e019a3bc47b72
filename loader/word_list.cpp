#include "loader/word_list.h"

#include <cstring>
#include <string_view>

#include "base/concat.h"
#include "base/file_calls.h"
#include "loader/byte_stream.h"
#include "loader/formats/text.h"
#include "loader/input.h"
#include "model/limits.h"

namespace glove {
namespace {

class WordListFile final : public WordSource {
 public:
  explicit WordListFile(const Input& input) : path_(input.path()), stream_(input.stream()) {}

  const std::string& name() const override { return path_; }

  Result<int64_t> next(int64_t count, WordBlock& words) override {
    int64_t lines = 0;
    while (lines < count) {
      if (window_at_ == window_.size()) {
        if (at_end_) break;
        GLOVE_RETURN_IF_ERROR(refill());
        continue;
      }
      const char* const begin = window_.data() + window_at_;
      const char* const end = window_.data() + window_.size();
      const void* const newline = std::memchr(begin, '\n', static_cast<size_t>(end - begin));
      const char* const stop = newline != nullptr ? static_cast<const char*>(newline) : end;
      line_.insert(line_.end(), begin, stop);
      window_at_ += static_cast<size_t>(stop - begin) + (newline != nullptr ? 1 : 0);
      if (line_.size() > static_cast<size_t>(kMaxWordBytes) + 1)
        return Error{ErrorCode::kCorrupt, concat(path_, ": line ", line_number_, ": the word is longer than ",
                                                 kMaxWordBytes, " bytes")};
      if (newline == nullptr) continue;
      end_line(words);
      ++lines;
    }
    if (lines < count && !line_.empty()) {
      end_line(words);
      ++lines;
    }
    return lines;
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

  void end_line(WordBlock& words) {
    if (!line_.empty() && line_.back() == '\r') line_.pop_back();
    words.bytes.insert(words.bytes.end(), line_.begin(), line_.end());
    words.ends.push_back(words.bytes.size());
    line_.clear();
    ++line_number_;
  }

  std::string path_;
  std::unique_ptr<ByteStream> stream_;
  Buffer<char> window_;
  size_t window_at_ = 0;
  std::string line_;  // the part that has been read
  int64_t line_number_ = 1;
  bool at_start_ = true;
  bool at_end_ = false;
};

constexpr int64_t kWordsPerBlock = 4096;

bool strip_suffix(std::string& path, std::string_view suffix) {
  if (!path.ends_with(suffix)) return false;
  path.resize(path.size() - suffix.size());
  return true;
}

}  // namespace

Result<std::unique_ptr<WordSource>> open_word_list(const std::string& path,
                                                   const InterruptCheck& interrupted) {
  GLOVE_ASSIGN_OR_RETURN(const Input input, Input::open(path, {}, interrupted));
  return std::unique_ptr<WordSource>(std::make_unique<WordListFile>(input));
}

Result<int64_t> count_words(const std::string& path, const InterruptCheck& interrupted) {
  GLOVE_ASSIGN_OR_RETURN(const auto list, open_word_list(path, interrupted));
  int64_t total = 0;
  for (WordBlock words;; words.clear()) {
    GLOVE_ASSIGN_OR_RETURN(const int64_t count, list->next(kWordsPerBlock, words));
    if (count == 0) return total;
    total += count;
  }
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
  std::string stem = path;
  if (!strip_suffix(stem, ".gz")) strip_suffix(stem, ".zip");
  const size_t dot = stem.rfind('.');
  if (dot != std::string::npos && dot >= file_name_at(stem)) stem.resize(dot);
  for (const std::string_view extension : {".words", ".vocab", ".keys", ".txt"}) {
    std::string candidate = stem + std::string(extension);
    if (candidate != path && system_calls::is_readable(candidate)) return candidate;
  }
  return invalid_argument(path,
                          ": the file contains vectors without words; name a file with one "
                          "word per line (--vocabulary of glove-convert, \"vocabulary\" of glove_load), "
                          "or put one beside it as '",
                          stem, ".words'");
}

}  // namespace glove
