// Any bytes as a text for the tokenizers of tests/text/tokenizers/golden.json, which the first byte chooses:
// ids that the tokenizer has, the same with a new scratch.
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "text/tokenizers/tokenizer.h"

namespace {

std::vector<std::shared_ptr<const glove::Tokenizer>> golden_tokenizers() {
  std::vector<std::shared_ptr<const glove::Tokenizer>> tokenizers;
  const auto document = nlohmann::json::parse(std::ifstream(GLOVE_TEST_DATA "/golden.json"));
  for (const auto& entry : document["tokenizers"]) {
    auto parsed = glove::Tokenizer::parse(entry["json"].dump(), "golden");
    if (!parsed.ok()) std::abort();
    tokenizers.push_back(std::move(parsed).value());
  }
  return tokenizers;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto tokenizers = golden_tokenizers();
  static glove::Tokenizer::Scratch old_scratch;
  if (size == 0) return 0;
  const glove::Tokenizer& tokenizer = *tokenizers[data[0] % tokenizers.size()];
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  glove::Tokenizer::Scratch new_scratch;
  std::vector<uint32_t> first, second;
  if (!tokenizer.encode(text, true, old_scratch, {}, first).ok()) std::abort();
  if (!tokenizer.encode(text, true, new_scratch, {}, second).ok() || first != second) std::abort();
  for (const uint32_t id : first) {
    if (tokenizer.token(id).empty()) std::abort();
  }
  return 0;
}
