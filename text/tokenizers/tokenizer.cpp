// Stands for the tokenizers until they are here: no tokenizer.json is supported.
#include "text/tokenizers/tokenizer.h"

namespace glove {

struct Tokenizer::Scratch::Buffers {};
struct Tokenizer::Parts {};

Tokenizer::Scratch::Scratch() = default;
Tokenizer::Scratch::~Scratch() = default;
Tokenizer::Scratch::Scratch(Scratch&&) noexcept = default;
Tokenizer::Scratch& Tokenizer::Scratch::operator=(Scratch&&) noexcept = default;

Tokenizer::Tokenizer(std::unique_ptr<const Parts> parts) : parts_(std::move(parts)) {}
Tokenizer::~Tokenizer() = default;

Result<std::shared_ptr<const Tokenizer>> Tokenizer::parse(std::string_view, const std::string& file) {
  return Error{ErrorCode::kInvalidArgument, file + ": tokenizers are not supported yet"};
}

size_t Tokenizer::vocabulary_size() const {
  return 0;
}
std::string_view Tokenizer::token(uint32_t) const {
  return {};
}
std::optional<uint32_t> Tokenizer::id_of(std::string_view) const {
  return std::nullopt;
}
std::optional<uint32_t> Tokenizer::unknown_id() const {
  return std::nullopt;
}
bool Tokenizer::is_special(uint32_t) const {
  return false;
}
Status Tokenizer::encode(std::string_view, bool, Scratch&, const InterruptCheck&,
                         std::vector<uint32_t>&) const {
  return {};
}

}  // namespace glove
