#include "sql/index/model_fingerprint.h"

#include <array>
#include <charconv>
#include <memory>
#include <span>

#include "base/crc32.h"
#include "model/byte_sink.h"
#include "text/text_encoder.h"

namespace glove::sql {
namespace {

std::string hexadecimal(uint32_t number) {
  std::array<char, 8> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr;
  return std::string(digits.data(), end);
}

std::string checksums(const Model& model) {
  uint32_t vectors = 0;
  for (const ModelPart& part : model.parts()) vectors = crc32_continue(vectors, bytes_of(part.vectors));
  uint32_t words = 0;
  for (int64_t id = 0; id < model.words(); ++id) {
    const std::string_view word = model.vocabulary().word(id);
    const auto length = static_cast<uint32_t>(word.size());
    words = crc32_continue(words, bytes_of(std::span(&length, 1)));
    words = crc32_continue(words, word);
  }
  if (const auto& counts = model.source().counts; counts != nullptr)
    words = crc32_continue(words, bytes_of(std::span<const double>(*counts)));
  std::string encoding;
  if (const StoredTokenizerPtr& tokenizer = model.source().tokenizer; tokenizer != nullptr) {
    uint32_t crc = crc32_continue(0, tokenizer->json);
    crc = crc32_continue(crc, bytes_of(tokenizer->weights));
    encoding = ":" + std::to_string(static_cast<int>(tokenizer->rules)) + (tokenizer->normalize ? "n" : "") +
               hexadecimal(crc);
  }
  return std::to_string(model.words()) + "x" + std::to_string(model.dims()) + ":" + hexadecimal(vectors) +
         ":" + hexadecimal(words) + encoding;
}

}  // namespace

std::string model_fingerprint(Engine& engine, const ModelPtr& model, std::string_view options) {
  const std::string key = "fingerprint " + std::to_string(model->id());
  auto known = engine.results().find<std::string>(key);
  if (known == nullptr) {
    known = std::make_shared<const std::string>(checksums(*model));
    engine.results().add(key, known, static_cast<int64_t>(known->size()));
  }
  return *known + ":" + std::to_string(kTextVectorVersion) + ":" + std::string(options);
}

}  // namespace glove::sql
