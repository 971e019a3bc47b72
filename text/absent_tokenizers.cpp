// Takes the place of text/tokenizers and of static_encoder.cpp if CMake's option GLOVE_TOKENIZERS is OFF:
// there is no Tokenizer then, and no StaticEncoder.
#include "text/neural/neural_encoder.h"
#include "text/static_encoder.h"
#include "text/tokenizers/unicode.h"

namespace glove {
namespace {

Error absent(const std::string& source) {
  return {ErrorCode::kInvalidArgument, source +
                                           ": this build of sqlite-glove cannot encode texts by a tokenizer; "
                                           "use one that was configured with -DGLOVE_TOKENIZERS=ON"};
}

}  // namespace

// Word models normalize nothing then.
const tokenizers::Character& tokenizers::character(char32_t /*code*/) {
  static constexpr Character kNone{};
  return kNone;
}

void tokenizers::append_normalized(std::string_view text, Form /*form*/, MarkBuffers& /*buffers*/,
                                   std::string& out, TextWork& /*work*/) {
  out += text;
}

Result<TokenizerContent> read_tokenizer(const std::string& source, std::string_view /*json*/,
                                        const InterruptCheck& /*interrupted*/) {
  return absent(source);
}

Result<std::shared_ptr<const StaticEncoder>> StaticEncoder::make(const Model& model,
                                                                 const InterruptCheck& /*interrupted*/) {
  return absent(model.path());
}

Result<ModelPtr> open_neural_model(Settings& /*settings*/, const std::string& /*path*/,
                                   const EncoderOptions& /*options*/, const InterruptCheck& /*interrupted*/) {
  return ModelPtr();
}

}  // namespace glove
