#include "loader/model_format.h"

#include <charconv>
#include <system_error>
#include <utility>

#include "base/concat.h"
#include "base/crc32.h"
#include "base/utf8.h"

namespace glove {

std::string format_version(bool has_tokenizer, bool has_lists, bool has_subwords) {
  const int minor = (has_tokenizer ? kTokenizerFormatMinor : kWordFormatMinor) + (has_subwords ? 2
                                                                                  : has_lists  ? 1
                                                                                               : 0);
  return std::to_string(has_tokenizer ? kTokenizerFormatMajor : kWordFormatMajor) + "." +
         std::to_string(minor);
}

Result<bool> has_tokenizer_version(const std::string& source, std::string_view version) {
  int major = 0;
  const auto [rest, error] = std::from_chars(version.data(), version.data() + version.size(), major);
  if (error != std::errc() || (rest != version.data() + version.size() && *rest != '.'))
    return corrupt_file(source, "the metadata key '", kVersionKey, "' is missing or no version");
  if (major != kWordFormatMajor && major != kTokenizerFormatMajor)
    return corrupt_file(source, "the file has format version ", escaped(version),
                        ", but this build reads the versions ", kWordFormatMajor, " and ",
                        kTokenizerFormatMajor, "; convert the original again, or use a newer build");
  return major == kTokenizerFormatMajor;
}

std::string derivation_text(bool center, bool matrix, bool normalize) {
  std::string text;
  for (const auto& [step, present] :
       {std::pair("center", center), std::pair("matrix", matrix), std::pair("normalize", normalize)})
    if (present) text += (text.empty() ? "" : ",") + std::string(step);
  return text.empty() ? "identity" : text;
}

std::string encoding_text(EncodingRules rules, bool normalize) {
  return std::string(rules == EncodingRules::kModel2Vec ? "model2vec" : "static-embedding") +
         (normalize ? ",normalize" : "");
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
