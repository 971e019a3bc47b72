#include "loader/model_format.h"

#include <utility>

#include "base/crc32.h"

namespace glove {

std::string derivation_text(bool center, bool matrix, bool normalize) {
  std::string text;
  for (const auto& [step, present] :
       {std::pair("center", center), std::pair("matrix", matrix), std::pair("normalize", normalize)})
    if (present) text += (text.empty() ? "" : ",") + std::string(step);
  return text.empty() ? "identity" : text;
}

std::string checksum_text(uint32_t crc) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(8, '0');
  for (size_t i = 8; i-- > 0; crc >>= 4) text[i] = kDigits[crc & 15];
  return text;
}

std::string header_checksum(std::string header) {
  const std::string key = "\"" + std::string(kHeaderChecksumKey) + "\":\"";
  const size_t place = header.find(key);
  if (place == std::string::npos || header.size() - place < key.size() + 8) return {};
  header.replace(place + key.size(), 8, 8, '0');
  return checksum_text(crc32_continue(0, header));
}

}  // namespace glove
