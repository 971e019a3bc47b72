#include "base/status.h"

#include "base/concat.h"

namespace glove {

Failure::Failure(Error&& error) : error_(new Error(std::move(error))) {}

Failure::Failure(ErrorCode code, std::string&& message) : error_(new Error{code, std::move(message)}) {}

Error* Failure::copy(const Error& error) {
  return new Error(error);
}

void Failure::destroy(Error* error) noexcept {
  delete error;
}

void TextPiece::append_to(std::string& text) const {
  if (size_ < kNatural)
    text.append(text_, size_);
  else
    text += size_ == kReal      ? std::to_string(real_)
            : size_ == kInteger ? std::to_string(integer_)
                                : std::to_string(natural_);
}

std::string concat_pieces(std::span<const TextPiece> pieces) {
  std::string text;
  for (const TextPiece& piece : pieces) piece.append_to(text);
  return text;
}

std::string counted(int64_t count, std::string_view plural) {
  if (count == 1) plural.remove_suffix(1);
  return concat(count, ' ', plural);
}

Error error_of_pieces(ErrorCode code, std::span<const TextPiece> pieces) {
  return {code, concat_pieces(pieces)};
}

}  // namespace glove
