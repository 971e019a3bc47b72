#include "loader/word_list.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "loader/formats/text.h"
#include "loader/input.h"
#include "loader/limits.h"

namespace glove {
namespace {

constexpr size_t kWindowBytes = size_t{1} << 16;

}  // namespace

Result<std::unique_ptr<WordList>> WordList::open(const std::string& path) {
  GLOVE_ASSIGN_OR_RETURN(const Input input, Input::open(path));
  std::unique_ptr<WordList> list(new WordList);
  list->path_ = path;
  list->stream_ = input.stream();
  return list;
}

Result<int64_t> WordList::next(int64_t count, Buffer<char>& words) {
  int64_t lines = 0;
  size_t line_begin = words.size();
  while (lines < count) {
    if (window_at_ == window_.size()) {
      if (at_end_) break;
      window_.resize(kWindowBytes);
      GLOVE_ASSIGN_OR_RETURN(const size_t got, stream_->read(window_));
      window_.resize(got);
      window_at_ = 0;
      at_end_ = got < kWindowBytes;
      if (at_start_ && std::string_view(window_.data(), got).starts_with(kByteOrderMark))
        window_at_ = kByteOrderMark.size();
      at_start_ = false;
      continue;
    }
    const char* const begin = window_.data() + window_at_;
    const char* const end = window_.data() + window_.size();
    const char* newline =
        static_cast<const char*>(std::memchr(begin, '\n', static_cast<size_t>(end - begin)));
    in_line_ = newline == nullptr;
    const char* const stop = in_line_ ? end : newline;
    words.insert(words.end(), begin, stop);
    window_at_ += static_cast<size_t>(stop - begin) + (in_line_ ? 0 : 1);
    if (words.size() - line_begin > static_cast<size_t>(kMaxWordBytes) + 1)
      return Error{ErrorCode::kCorrupt, path_ + ": a line of the word list is longer than " +
                                            std::to_string(kMaxWordBytes) + " bytes"};
    if (in_line_) continue;
    if (words.size() > line_begin && words.back() == '\r') words.pop_back();
    words.push_back('\n');
    line_begin = words.size();
    ++lines;
  }
  if (in_line_ && at_end_ && lines < count) {
    in_line_ = false;
    if (words.size() > line_begin && words.back() == '\r') words.pop_back();
    words.push_back('\n');
    ++lines;
  }
  return lines;
}

Result<int64_t> count_words(const std::string& path) {
  GLOVE_ASSIGN_OR_RETURN(const auto list, WordList::open(path));
  int64_t total = 0;
  Buffer<char> words;
  while (true) {
    words.clear();
    GLOVE_ASSIGN_OR_RETURN(const int64_t count, list->next(4096, words));
    if (count == 0) return total;
    total += count;
  }
}

Result<WordSet> read_word_set(const std::string& path) {
  GLOVE_ASSIGN_OR_RETURN(const auto list, WordList::open(path));
  WordSet set;
  Buffer<char> words;
  while (true) {
    words.clear();
    GLOVE_ASSIGN_OR_RETURN(const int64_t count, list->next(4096, words));
    if (count == 0) return set;
    std::string_view rest(words.data(), words.size());
    while (!rest.empty()) {
      const size_t newline = rest.find('\n');
      if (newline > 0) set.insert(rest.substr(0, newline));
      rest.remove_prefix(newline + 1);
    }
  }
}

}  // namespace glove
