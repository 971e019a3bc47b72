#include "ptx/lexer.h"

#include <cctype>

namespace glove::verify {
namespace {

bool starts_word(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%' || c == '.';
}

bool continues_word(char c) {
  return starts_word(c) || std::isdigit(static_cast<unsigned char>(c));
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  std::vector<PtxToken> run() {
    while (skip_space(), at_ < source_.size()) next();
    emit(PtxToken::kEnd, at_, at_);
    return std::move(tokens_);
  }

 private:
  void emit(PtxToken::Kind kind, size_t begin, size_t end) {
    tokens_.push_back({kind, source_.substr(begin, end - begin), line_});
  }

  bool looking_at(std::string_view text) const { return source_.substr(at_, text.size()) == text; }

  void advance_to(size_t end) {
    for (; at_ < end && at_ < source_.size(); ++at_) line_ += source_[at_] == '\n';
  }

  void skip_space() {
    while (at_ < source_.size()) {
      if (std::isspace(static_cast<unsigned char>(source_[at_]))) {
        advance_to(at_ + 1);
      } else if (looking_at("//")) {
        advance_to(std::min(source_.find('\n', at_), source_.size()));
      } else if (looking_at("/*")) {
        const size_t end = source_.find("*/", at_ + 2);
        advance_to(end == std::string_view::npos ? source_.size() : end + 2);
      } else {
        return;
      }
    }
  }

  // A word may hold "::", as in .shared::cta and .L2::128B.
  size_t word_end(size_t end) const {
    while (end < source_.size()) {
      if (continues_word(source_[end])) {
        ++end;
      } else if (source_.substr(end, 2) == "::" && end + 2 < source_.size() &&
                 continues_word(source_[end + 2])) {
        end += 2;
      } else {
        break;
      }
    }
    return end;
  }

  void next() {
    const char c = source_[at_];
    size_t end = at_ + 1;
    if (starts_word(c)) {
      end = word_end(end);
      emit(PtxToken::kWord, at_, end);
    } else if (std::isdigit(static_cast<unsigned char>(c))) {
      while (end < source_.size() &&
             (std::isalnum(static_cast<unsigned char>(source_[end])) || source_[end] == '.'))
        ++end;
      emit(PtxToken::kNumber, at_, end);
    } else if (c == '"') {
      end = std::min(source_.find('"', at_ + 1), source_.size());
      emit(PtxToken::kString, at_ + 1, end);
      end = std::min(end + 1, source_.size());
    } else {
      emit(PtxToken::kPunctuation, at_, end);
    }
    advance_to(end);
  }

  std::string_view source_;
  size_t at_ = 0;
  int line_ = 1;
  std::vector<PtxToken> tokens_;
};

}  // namespace

std::vector<PtxToken> tokenize(std::string_view source) {
  return Lexer(source).run();
}

}  // namespace glove::verify
