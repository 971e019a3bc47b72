#include "loader/model_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/crc32.h"
#include "base/utf8.h"
#include "loader/model_format.h"
#include "model/derived_arrays.h"
#include "model/limits.h"
#include "model/mapped_file.h"
#include "model/quantize.h"
#include "model/word_order.h"

namespace glove {
namespace {

// What a model on a map keeps alive.
struct MappedArrays {
  std::shared_ptr<const MappedFile> map;
  // The tensors that the file lacks.
  MemorySink codes;
  DerivedArrays derived{codes};
  std::vector<int32_t> sorted_ids;
};

class ModelFileReader {
 public:
  ModelFileReader(std::string path, const SafetensorsHeader& header, std::shared_ptr<MappedArrays> owner)
      : path_(std::move(path)), header_(header), owner_(std::move(owner)) {}

  Result<ModelPtr> read(int threads, const InterruptCheck& interrupted) {
    GLOVE_RETURN_IF_ERROR(read_shape());
    GLOVE_RETURN_IF_ERROR(check_types());
    take(kVectors, part_.vectors);
    const bool has_norms = take(kNormsSquared, part_.norms_squared);
    // Codes, scales and residuals belong together: all of the file's, or all computed.
    const bool has_codes = header_.find(kCodes) && header_.find(kScales) && header_.find(kResiduals);
    CodeLevel& level = part_.levels.emplace_back();
    if (has_codes) {
      take(kCodes, level.codes);
      take(kScales, level.scales);
      take(kResiduals, level.residuals);
    }
    std::span<const char> word_bytes;
    std::span<const int64_t> word_offsets;
    std::span<const int32_t> sorted_ids;
    take(kWordBytes, word_bytes);
    take(kWordOffsets, word_offsets);
    const bool has_order = take(kSortedIds, sorted_ids);

    if (!has_norms || !has_codes) GLOVE_RETURN_IF_ERROR(derive(has_norms, has_codes, threads, interrupted));
    if (!has_order) {
      GLOVE_ASSIGN_OR_RETURN(owner_->sorted_ids,
                             sorted_word_ids(word_bytes, word_offsets, threads, interrupted));
      sorted_ids = owner_->sorted_ids;
    }
    Model::Source source;
    source.path = path_;
    source.format = "glove-model";
    source.maps = {owner_->map};
    source.file_bytes = static_cast<int64_t>(owner_->map->bytes().size());
    return ModelPtr(std::make_shared<const Model>(
        std::vector{part_}, Vocabulary(word_bytes, word_offsets, sorted_ids), std::move(source), owner_));
  }

 private:
  Error corrupt(const std::string& what) const { return {ErrorCode::kCorrupt, path_ + ": " + what}; }

  Status read_shape() {
    const Tensor& vectors = *header_.find(kVectors);
    if (vectors.dtype != "F32" || vectors.shape.size() != 2)
      return corrupt("the tensor 'vectors' must be a matrix of F32");
    part_.rows = vectors.shape[0];
    part_.dims = vectors.shape[1];
    if (part_.rows < 1 || part_.rows > kMaxRows || part_.dims < 1 || part_.dims > kMaxDims)
      return corrupt("the tensor 'vectors' is " + std::to_string(part_.rows) + " x " +
                     std::to_string(part_.dims) + "; a model has 1 to " + std::to_string(kMaxRows) +
                     " words of 1 to " + std::to_string(kMaxDims) + " dimensions");
    return {};
  }

  // Each known tensor that is there has the type, the shape and the alignment that its use needs.
  Status check_types() const {
    const int64_t n = part_.rows;
    const int64_t d = part_.dims;
    const auto bytes = header_.find(kWordBytes)->bytes;
    const struct {
      std::string_view name, dtype;
      std::vector<int64_t> shape;
    } expected[] = {
        {kVectors, "F32", {n, d}},
        {kNormsSquared, "F64", {n}},
        {kCodes, "I8", {tile_count(n), component_groups(d), kTileRows, kTileComponents}},
        {kScales, "F32", {n}},
        {kResiduals, "F32", {n}},
        {kWordBytes, "U8", {bytes}},
        {kWordOffsets, "I64", {n + 1}},
        {kSortedIds, "I32", {n}},
    };
    for (const auto& [name, dtype, shape] : expected) {
      const Tensor* const tensor = header_.find(name);
      if (tensor == nullptr) continue;
      if (tensor->dtype != dtype || tensor->shape != shape)
        return corrupt("the tensor '" + std::string(name) + "' has another type or shape than a model of " +
                       std::to_string(n) + " words and " + std::to_string(d) + " dimensions needs");
      if (tensor->offset % safetensors_type_bytes(dtype) != 0)
        return corrupt("the tensor '" + std::string(name) + "' begins at offset " +
                       std::to_string(tensor->offset) +
                       ", which its type cannot; write the file again with glove-convert");
    }
    return {};
  }

  // Computes what the file lacks.
  Status derive(bool has_norms, bool has_codes, int threads, const InterruptCheck& interrupted) {
    DerivedArrays& derived = owner_->derived;
    GLOVE_RETURN_IF_ERROR(derived.append_vectors(path_, part_.vectors, part_.dims, threads, interrupted));
    GLOVE_RETURN_IF_ERROR(derived.finish());
    if (!has_norms) part_.norms_squared = derived.norms_squared();
    if (!has_codes)
      part_.levels.front() = {8, owner_->codes.view<int8_t>(), derived.scales(), derived.residuals()};
    return {};
  }

  // The view of a tensor whose type check_types() has checked; false if it is not there.
  template <class T>
  bool take(std::string_view name, std::span<const T>& view) const {
    const Tensor* const tensor = header_.find(name);
    if (tensor == nullptr) return false;
    const auto bytes =
        owner_->map->bytes().subspan(static_cast<size_t>(tensor->offset), static_cast<size_t>(tensor->bytes));
    view = {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
    return true;
  }

  std::string path_;
  const SafetensorsHeader& header_;
  std::shared_ptr<MappedArrays> owner_;
  ModelPart part_;
};

// The version and the checksum of the header, before anything it says is believed.
Status check_header(const std::string& path, const SafetensorsHeader& header, const std::string& raw) {
  const std::string_view version = header.metadata_value(kVersionKey);
  int major = 0;
  const auto [rest, error] = std::from_chars(version.data(), version.data() + version.size(), major);
  if (error != std::errc() || (rest != version.data() + version.size() && *rest != '.'))
    return {ErrorCode::kCorrupt,
            path + ": the metadata key '" + std::string(kVersionKey) + "' is missing or no version"};
  if (major != kFormatMajor)
    return {ErrorCode::kCorrupt, path + ": the file has format version " + escaped(version) +
                                     ", but this build reads version " + std::to_string(kFormatMajor) +
                                     "; convert the original again, or use a newer build"};
  const std::string_view stored = header.metadata_value(kHeaderChecksumKey);
  const std::string computed = header_checksum(raw);
  if (stored.empty() || stored != computed)
    return {ErrorCode::kCorrupt, path + ": the header's checksum is " + computed + ", but the header says '" +
                                     escaped(stored) + "'; the file is damaged"};
  return {};
}

// The header and every tensor that is used, with its checksum; nothing if one has none.
std::vector<MappedFile::Content> known_content(const SafetensorsHeader& header, const std::string& raw) {
  std::vector<MappedFile::Content> content = {{0, static_cast<int64_t>(raw.size()), crc32_continue(0, raw)}};
  for (const std::string_view name :
       {kVectors, kNormsSquared, kCodes, kScales, kResiduals, kWordBytes, kWordOffsets, kSortedIds}) {
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

}  // namespace

bool is_model_file(const SafetensorsHeader& header) {
  return header.find(kVectors) && header.find(kWordBytes) && header.find(kWordOffsets);
}

Result<ModelPtr> open_model_file(const std::string& path, std::shared_ptr<const File> file, int threads,
                                 const InterruptCheck& interrupted) {
  // The map comes first: what is written to the file after that does not go unseen.
  GLOVE_ASSIGN_OR_RETURN(const std::shared_ptr<MappedFile> map, MappedFile::map(path, file));
  std::string raw;
  GLOVE_ASSIGN_OR_RETURN(const SafetensorsHeader header, read_safetensors_header(path, *file, &raw));
  if (!is_model_file(header))
    return Error{ErrorCode::kCorrupt,
                 path + ": this safetensors file is no model file: it lacks vectors or words"};
  GLOVE_RETURN_IF_ERROR(check_header(path, header, raw));
  auto owner = std::make_shared<MappedArrays>();
  if (static_cast<int64_t>(map->bytes().size()) != header.end)
    return Error{ErrorCode::kIo, path + ": the file changed its size while it was opened"};
  map->know_content(known_content(header, raw));
  owner->map = map;
  return ModelFileReader(path, header, std::move(owner)).read(threads, interrupted);
}

}  // namespace glove
