// Writes a model file of synthetic rows without holding it in memory: giant_model ROWS DIMS OUT.safetensors
//
// Row i is the word "w<i>". Its component j is an integer in [-2^23, 2^23), the upper 24 bits of SplitMix64's
// output for the counter i * DIMS + j, so that bench/giant.py can compute any row again without the file.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/crc32.h"
#include "base/file.h"
#include "base/replacement_file.h"
#include "model/derived_arrays.h"
#include "tests/loader/model_layout.h"

namespace glove {
namespace {

constexpr int64_t kBlockRows = int64_t{1} << 18;  // a multiple of the rows of a tile

float component(uint64_t counter) {
  uint64_t bits = (counter + 1) * 0x9E3779B97F4A7C15u;
  bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9u;
  bits = (bits ^ bits >> 27) * 0x94D049BB133111EBu;
  bits ^= bits >> 31;
  return static_cast<float>(static_cast<int32_t>(bits >> 40) - (1 << 23));
}

std::string word(int64_t row) {
  return "w" + std::to_string(row);
}

int64_t bytes_of_words(int64_t rows) {
  int64_t bytes = 2 * rows;  // the letter and the last digit
  for (int64_t bound = 10; bound < rows; bound *= 10) bytes += rows - bound;
  return bytes;
}

// Writes one tensor from its beginning to its end, and computes its checksum.
class TensorWriter {
 public:
  TensorWriter(File& file, const ModelLayout::Tensor& tensor) : file_(file), offset_(tensor.offset) {}

  Status append(std::span<const char> bytes) {
    crc_ = crc32_continue(crc_, bytes);
    offset_ += static_cast<int64_t>(bytes.size());
    return file_.write_at(offset_ - static_cast<int64_t>(bytes.size()), bytes);
  }
  template <class T>
  Status append_values(std::span<const T> values) {
    return append(bytes_of(values));
  }
  uint32_t crc() const { return crc_; }

 private:
  File& file_;
  int64_t offset_;
  uint32_t crc_ = 0;
};

class GiantModel {
 public:
  GiantModel(File& file, int64_t rows, int64_t dims)
      : file_(file), rows_(rows), dims_(dims), layout_(rows, dims, bytes_of_words(rows)) {
    for (const std::string_view name : {kVectors, kNormsSquared, kCodes, kCodes4, kScales, kResiduals,
                                        kScales4, kResiduals4, kWordBytes, kWordOffsets, kSortedIds})
      writers_.try_emplace(name, file_, layout_.tensor(name));
  }

  Status write() {
    for (int64_t first = 0; first < rows_; first += kBlockRows) {
      const int64_t last = std::min(first + kBlockRows, rows_);
      GLOVE_RETURN_IF_ERROR(write_rows(first, last));
      GLOVE_RETURN_IF_ERROR(write_words(first, last));
    }
    GLOVE_RETURN_IF_ERROR(writer(kWordOffsets).append_values(std::span<const int64_t>(&word_end_, 1)));
    GLOVE_RETURN_IF_ERROR(write_order());
    GLOVE_RETURN_IF_ERROR(file_.resize(layout_.file_bytes()));
    std::map<std::string_view, uint32_t> checksums;
    for (const auto& [name, writer] : writers_) checksums[name] = writer.crc();
    return file_.write_at(0, layout_.header(checksums));
  }

 private:
  TensorWriter& writer(std::string_view name) { return writers_.at(name); }

  Status write_rows(int64_t first, int64_t last) {
    vectors_.resize(static_cast<size_t>((last - first) * dims_));
    for (size_t i = 0; i < vectors_.size(); ++i)
      vectors_[i] = component(static_cast<uint64_t>(first * dims_) + i);
    MemorySink codes8, codes4;
    DerivedArrays arrays(codes8, codes4);
    GLOVE_RETURN_IF_ERROR(arrays.append_vectors("the synthetic model", vectors_, dims_, 0));
    GLOVE_RETURN_IF_ERROR(arrays.finish());
    GLOVE_RETURN_IF_ERROR(writer(kVectors).append_values(std::span<const float>(vectors_)));
    GLOVE_RETURN_IF_ERROR(writer(kNormsSquared).append_values(arrays.norms_squared()));
    GLOVE_RETURN_IF_ERROR(writer(kCodes).append(codes8.view<char>()));
    GLOVE_RETURN_IF_ERROR(writer(kCodes4).append(codes4.view<char>()));
    GLOVE_RETURN_IF_ERROR(writer(kScales).append_values(arrays.level8().scales()));
    GLOVE_RETURN_IF_ERROR(writer(kResiduals).append_values(arrays.level8().residuals()));
    GLOVE_RETURN_IF_ERROR(writer(kScales4).append_values(arrays.level4().scales()));
    return writer(kResiduals4).append_values(arrays.level4().residuals());
  }

  // Does not write the offset behind the last word.
  Status write_words(int64_t first, int64_t last) {
    std::string bytes;
    std::vector<int64_t> offsets;
    for (int64_t row = first; row < last; ++row) {
      offsets.push_back(word_end_ + static_cast<int64_t>(bytes.size()));
      bytes += word(row);
    }
    word_end_ += static_cast<int64_t>(bytes.size());
    GLOVE_RETURN_IF_ERROR(writer(kWordBytes).append(bytes));
    return writer(kWordOffsets).append_values(std::span<const int64_t>(offsets));
  }

  // The ids in the order of their decimal digits: 0, 1, 10, 100, ..., 101, ..., 11, ...
  Status write_order() {
    std::vector<int32_t> ids;
    int64_t id = 0;
    for (int64_t position = 0; position < rows_; ++position) {
      ids.push_back(static_cast<int32_t>(id));
      if (id > 0 && id * 10 < rows_) {
        id *= 10;
      } else {
        while (id % 10 == 9 || id + 1 >= rows_) id /= 10;
        ++id;
      }
      if (static_cast<int64_t>(ids.size()) < kBlockRows && position + 1 < rows_) continue;
      GLOVE_RETURN_IF_ERROR(writer(kSortedIds).append_values(std::span<const int32_t>(ids)));
      ids.clear();
    }
    return {};
  }

  File& file_;
  const int64_t rows_;
  const int64_t dims_;
  const ModelLayout layout_;
  std::map<std::string_view, TensorWriter> writers_;
  std::vector<float> vectors_;
  int64_t word_end_ = 0;
};

Status write_model(int64_t rows, int64_t dims, const std::string& path) {
  GLOVE_ASSIGN_OR_RETURN(ReplacementFile output, ReplacementFile::create(path));
  GLOVE_RETURN_IF_ERROR(GiantModel(output.file(), rows, dims).write());
  GLOVE_RETURN_IF_ERROR(output.flush_to_disk());
  return output.commit();
}

}  // namespace
}  // namespace glove

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: giant_model ROWS DIMS OUT.safetensors\n");
    return 2;
  }
  const glove::Status status = glove::write_model(std::atoll(argv[1]), std::atoll(argv[2]), argv[3]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "giant_model: %s\n", status.error().message.c_str());
  return 1;
}
