// The layout of a model file of any size, for programs that write one without holding it in memory.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "loader/model_format.h"
#include "model/nibbles.h"
#include "model/quantize.h"

namespace glove {

// A file with all tensors that a search uses, at the places that glove-convert gives them.
class ModelLayout {
 public:
  struct Tensor {
    std::string_view name;
    std::string text;  // type and shape, as JSON
    int64_t offset;    // in the file
    int64_t bytes;
  };

  ModelLayout(int64_t rows, int64_t dims, int64_t word_bytes) {
    const std::string n = std::to_string(rows);
    const std::string tiles = std::to_string(tile_count(rows));
    add(kVectors, "F32", n + "," + std::to_string(dims), rows * dims * 4);
    add(kNormsSquared, "F64", n, rows * 8);
    add(kCodes, "I8", tiles + "," + std::to_string(component_groups(dims)) + ",32,4", code_bytes(rows, dims));
    add(kCodes4, "U8", tiles + "," + std::to_string(nibble_words(dims)) + ",32,4", nibble_bytes(rows, dims));
    for (const std::string_view name : {kScales, kResiduals, kScales4, kResiduals4})
      add(name, "F32", n, rows * 4);
    add(kWordBytes, "U8", std::to_string(word_bytes), word_bytes);
    add(kWordOffsets, "I64", std::to_string(rows + 1), (rows + 1) * 8);
    add(kSortedIds, "I32", n, rows * 4);
  }

  int64_t file_bytes() const { return tensors_.back().offset + tensors_.back().bytes; }

  // REQUIRES: the file has a tensor of this name.
  const Tensor& tensor(std::string_view name) const {
    size_t i = 0;
    while (tensors_[i].name != name) ++i;
    return tensors_[i];
  }

  // Returns the first kModelHeaderBytes of the file, with the checksums of those tensors that have one.
  std::string header(const std::map<std::string_view, uint32_t>& checksums = {}) const {
    std::string json = "{\"__metadata__\":{\"" + std::string(kVersionKey) + "\":\"" +
                       format_version(FormatKind::kWords) + "\",\"" + std::string(kHeaderChecksumKey) +
                       "\":\"00000000\"";
    for (const auto& [name, crc] : checksums)
      json += ",\"" + std::string(kTensorChecksumPrefix) + std::string(name) + "\":\"" + checksum_text(crc) +
              "\"";
    json += "}";
    for (const Tensor& tensor : tensors_)
      json += ",\"" + std::string(tensor.name) + "\":{" + tensor.text + ",\"data_offsets\":[" +
              std::to_string(tensor.offset - kModelHeaderBytes) + "," +
              std::to_string(tensor.offset - kModelHeaderBytes + tensor.bytes) + "]}";
    std::string text(8, '\0');
    const uint64_t length = kModelHeaderBytes - 8;
    for (size_t i = 0; i < 8; ++i) text[i] = static_cast<char>(length >> (8 * i) & 0xFF);
    text += json + "}";
    text.resize(kModelHeaderBytes, ' ');
    return text.replace(text.find("00000000"), 8, header_checksum(text));
  }

 private:
  void add(std::string_view name, const std::string& type, const std::string& shape, int64_t bytes) {
    const int64_t end = tensors_.empty() ? kModelHeaderBytes : file_bytes();
    if (const int64_t gap = (kTensorAlignment - end % kTensorAlignment) % kTensorAlignment; gap > 0) {
      static constexpr std::string_view kPaddings[] = {"padding.0", "padding.1", "padding.2", "padding.3",
                                                       "padding.4", "padding.5", "padding.6", "padding.7",
                                                       "padding.8", "padding.9"};
      tensors_.push_back(
          {kPaddings[paddings_++], "\"dtype\":\"U8\",\"shape\":[" + std::to_string(gap) + "]", end, gap});
    }
    const int64_t begin = tensors_.empty() ? end : file_bytes();
    tensors_.push_back({name, "\"dtype\":\"" + type + "\",\"shape\":[" + shape + "]", begin, bytes});
  }

  std::vector<Tensor> tensors_;
  size_t paddings_ = 0;
};

}  // namespace glove
