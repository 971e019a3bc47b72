// Any bytes as a text: words in order, well-formed and within their limits.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/utf8.h"
#include "text/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const int options : {0, 1, 2, 3}) {
    size_t end = 0;
    glove::TextTokenizer tokenizer(text, {(options & 1) != 0, (options & 2) != 0});
    for (glove::TextToken token; tokenizer.next(token);) {
      if (token.text.empty() || token.text.size() > glove::TextTokenizer::kMostBytes) std::abort();
      if (!glove::is_valid_utf8(token.text) || token.text.find('\0') != std::string_view::npos) std::abort();
      if (token.offset < end || token.length == 0) std::abort();
      end = token.offset + token.length;
      if (end > size) std::abort();
    }
  }
  return 0;
}
