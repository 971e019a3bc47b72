// Any text as a vector expression must return terms with finite weights, or an error with a message.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "search/expression.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(glove::starts_with_operator(text));
  const auto terms = glove::parse_expression(text);
  if (!terms.ok()) {
    if (terms.error().message.empty()) std::abort();
    return 0;
  }
  for (const glove::Term& term : terms.value())
    if (std::isnan(term.weight)) std::abort();
  return 0;
}
