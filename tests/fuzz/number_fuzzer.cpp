// Compares parse_float with std::from_chars: the bits and the position must be equal.
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/number.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const char* const end = text.data() + text.size();
  float value = 0;
  const char* const rest = glove::parse_float(text.data(), end, value);
  const bool plus = text.starts_with("+");
  float expected = 0;
  const auto [reference, error] = std::from_chars(text.data() + (plus ? 1 : 0), end, expected);
  const bool readable = error != std::errc::invalid_argument && !text.starts_with("+-");
  if (readable != (rest != nullptr)) std::abort();
  if (!readable) return 0;
  if (rest != reference) std::abort();
  if (error == std::errc::result_out_of_range) {
    if (value != 0.0f && !std::isinf(value)) std::abort();
  } else if (std::isnan(expected) ? !std::isnan(value)
                                  : std::bit_cast<uint32_t>(value) != std::bit_cast<uint32_t>(expected)) {
    std::abort();
  }
  return 0;
}
