// Any bytes as a tokenizer.json: an error, or a tokenizer that encodes texts to ids that it has.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "text/tokenizers/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto parsed = glove::Tokenizer::parse({reinterpret_cast<const char*>(data), size}, "tokenizer.json");
  if (!parsed.ok()) {
    if (!parsed.error().message.starts_with("tokenizer.json: ")) std::abort();
    return 0;
  }
  const glove::Tokenizer& tokenizer = *parsed.value();
  glove::Tokenizer::Scratch scratch;
  for (const std::string_view text :
       {"", "Hello, w\xc3\xb6rld 12",
        "[CLS] e\xcc\x81\xe4\xb8\xad\xff \xe2\x96\x81 caf\xc3\xa9 the-the  x"}) {
    std::vector<uint32_t> ids;
    if (!tokenizer.encode(text, false, scratch, {}, ids).ok()) continue;
    for (const uint32_t id : ids) {
      if (id >= tokenizer.vocabulary_size()) std::abort();
    }
  }
  return 0;
}
