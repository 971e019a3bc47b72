#include "loader/model_format.h"

#include <charconv>
#include <system_error>
#include <utility>

#include "base/concat.h"
#include "base/crc32.h"

namespace glove {

FormatKind format_kind(bool has_tokenizer, bool is_shifted) {
  return has_tokenizer ? FormatKind::kTokenizer : is_shifted ? FormatKind::kMetric : FormatKind::kWords;
}

std::string format_version(FormatKind kind, bool has_lists, bool has_subwords) {
  const int minor = (kind == FormatKind::kWords ? 3 : 0) + (has_subwords ? 2 : has_lists ? 1 : 0);
  return std::to_string(static_cast<int>(kind)) + "." + std::to_string(minor);
}

Result<FormatKind> kind_of_version(const std::string& source, std::string_view version) {
  int major = 0;
  const auto [rest, error] = std::from_chars(version.data(), version.data() + version.size(), major);
  if (error != std::errc() || (rest != version.data() + version.size() && *rest != '.'))
    return corrupt_file(source, "the metadata key '", kVersionKey, "' is missing or no version");
  if (major < 1 || major > 3)
    return corrupt_file(
        source, "the file has format version ", escaped(version),
        ", but this build reads the versions 1 to 3; convert the original again, or use a newer build");
  return static_cast<FormatKind>(major);
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

bool is_model_file(const SafetensorsHeader& header) {
  return header.find(kVectors) && header.find(kWordBytes) && header.find(kWordOffsets);
}

Result<FormatKind> check_header(const std::string& path, const SafetensorsHeader& header,
                                const std::string& raw) {
  GLOVE_ASSIGN_OR_RETURN(const FormatKind kind, kind_of_version(path, header.metadata_value(kVersionKey)));
  const std::string_view stored = header.metadata_value(kHeaderChecksumKey);
  const std::string computed = header_checksum(raw);
  if (stored.empty() || stored != computed)
    return corrupt_file(path, "the header's checksum is ", computed, ", but the header says '",
                        escaped(stored), "'; the file is damaged");
  return kind;
}

std::vector<MappedFile::Content> known_content(const SafetensorsHeader& header, const std::string& raw) {
  std::vector<MappedFile::Content> content = {{0, static_cast<int64_t>(raw.size()), crc32_continue(0, raw)}};
  for (const std::string_view name : kTensorNames) {
    const Tensor* const tensor = header.find(name);
    if (tensor == nullptr) continue;
    const std::string_view stored =
        header.metadata_value(std::string(kTensorChecksumPrefix) + std::string(name));
    uint32_t crc = 0;
    const auto [rest, error] = std::from_chars(stored.data(), stored.data() + stored.size(), crc, 16);
    if (error != std::errc() || checksum_text(crc) != stored) return {};
    content.push_back({tensor->offset, tensor->bytes, crc});
  }
  return content;
}

}  // namespace glove
