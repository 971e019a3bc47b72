#include "loader/model_file.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/concat.h"
#include "base/float_from_chars.h"
#include "base/huge_pages.h"
#include "base/thread_pool.h"
#include "lists/planes.h"
#include "loader/formats/elements.h"
#include "loader/model_format.h"
#include "loader/stored_recall.h"
#include "model/derived_arrays.h"
#include "model/limits.h"
#include "model/mapped_file.h"
#include "model/nibbles.h"
#include "model/shifted_codes.h"
#include "model/word_set.h"

namespace glove {
namespace {

// The memory that a mapped model keeps alive.
struct MappedArrays {
  std::shared_ptr<const MappedFile> map;
  // The tensors that the file does not contain.
  MemorySink codes8;
  MemorySink codes4;
  DerivedArrays derived{codes8, codes4};
  std::vector<int32_t> sorted_ids;
  HugePageBuffer<float> vectors;      // of a file that has another type
  PlaneLevel planes;                  // views of the map and of
  std::vector<int64_t> list_offsets;  // a copy: a search indexes by them, even if the file is overwritten
  StoredRecall recall;
};

class ModelFileReader {
 public:
  ModelFileReader(std::string path, const SafetensorsHeader& header, std::shared_ptr<MappedArrays> owner)
      : path_(std::move(path)), header_(header), owner_(std::move(owner)) {}

  Result<ModelPtr> read(FormatKind kind, int threads, const InterruptCheck& interrupted) {
    GLOVE_RETURN_IF_ERROR(read_shape());
    GLOVE_RETURN_IF_ERROR(check_types());
    Model::Source source;
    if (kind == FormatKind::kMetric) {
      GLOVE_ASSIGN_OR_RETURN(source.coding, read_coding());
    }
    owner_->derived.set_coding(source.coding);
    const bool is_shifted = source.coding != nullptr;
    source.type = type_;
    if (type_ == ElementType::kFloat32)
      take(kVectors, part_.vectors);
    else
      GLOVE_RETURN_IF_ERROR(widen_vectors(threads, interrupted));
    const bool has_norms = take(kNormsSquared, part_.norms_squared);
    // Codes and what belongs to them are all read from the file or all computed.
    if (!is_shifted && header_.find(kCodes4) && header_.find(kScales4) && header_.find(kResiduals4))
      take_level(4, kCodes4, kScales4, kResiduals4);
    const bool has_codes = header_.find(kCodes) && header_.find(kScales) && header_.find(kResiduals) &&
                           (!is_shifted || (header_.find(kAlong) && header_.find(kLengths)));
    if (has_codes) take_level(8, kCodes, kScales, kResiduals);
    if (has_codes && is_shifted) {
      take(kAlong, part_.levels.back().along);
      take(kLengths, part_.levels.back().lengths);
    }
    if (!is_shifted) GLOVE_RETURN_IF_ERROR(take_planes());
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
    GLOVE_ASSIGN_OR_RETURN(const KeyType key_type, read_key_type());
    GLOVE_ASSIGN_OR_RETURN(source.derivation, read_derivation());
    GLOVE_ASSIGN_OR_RETURN(source.components, read_components());
    GLOVE_ASSIGN_OR_RETURN(source.counts, read_counts());
    GLOVE_ASSIGN_OR_RETURN(source.subwords, read_subwords());
    if (kind == FormatKind::kTokenizer) {
      GLOVE_ASSIGN_OR_RETURN(source.tokenizer, read_tokenizer());
    }
    source.path = path_;
    source.format = "glove-model";
    source.maps = {owner_->map};
    source.file_bytes = static_cast<int64_t>(owner_->map->bytes().size());
    return ModelPtr(std::make_shared<const Model>(std::vector{part_},
                                                  Vocabulary(word_bytes, word_offsets, sorted_ids, key_type),
                                                  std::move(source), owner_));
  }

 private:
  Status read_shape() {
    const Tensor& vectors = *header_.find(kVectors);
    type_ = element_type(vectors.dtype).value_or(ElementType::kFloat64);
    if (type_ == ElementType::kFloat64 || vectors.shape.size() != 2)
      return corrupt_file(path_, "the tensor 'vectors' must be a matrix of F32, F16, BF16 or I8");
    part_.rows = vectors.shape[0];
    part_.dims = vectors.shape[1];
    if (part_.rows < 1 || part_.rows > kMaxRows || part_.dims < 1 || part_.dims > kMaxDims)
      return corrupt_file(path_, "the tensor 'vectors' is ", part_.rows, " x ", part_.dims,
                          "; a model has 1 to ", kMaxRows, " words of 1 to ", kMaxDims, " dimensions");
    return {};
  }

  // Checks that each known tensor in the file has the type, the shape and the alignment that its use
  // requires.
  Status check_types() const {
    const int64_t n = part_.rows;
    const int64_t d = part_.dims;
    const auto bytes = header_.find(kWordBytes)->bytes;
    const struct {
      std::string_view name, dtype;
      std::vector<int64_t> shape;
    } expected[] = {
        {kVectors, element_dtype(type_), {n, d}},
        {kNormsSquared, "F64", {n}},
        {kCodes, "I8", {tile_count(n), component_groups(d), kTileRows, kTileComponents}},
        {kScales, "F32", {n}},
        {kResiduals, "F32", {n}},
        {kAlong, "F32", {n}},
        {kLengths, "F32", {n}},
        {kCodes4, "U8", {tile_count(n), nibble_words(d), kTileRows, kNibbleWordBytes}},
        {kScales4, "F32", {n}},
        {kResiduals4, "F32", {n}},
        {kWordBytes, "U8", {bytes}},
        {kWordOffsets, "I64", {n + 1}},
        {kSortedIds, "I32", {n}},
        {kListRows, "I32", {n}},
        {kPlane1, "U8", {tile_count(n), kTileRows * plane_row_bytes(d)}},
        {kPlane1Bounds, "F16", {tile_count(n), kPlaneBounds, kTileRows}},
        {kPlane2, "U8", {n, plane2_row_bytes(d)}},
    };
    for (const auto& [name, dtype, shape] : expected) GLOVE_RETURN_IF_ERROR(check_type(name, dtype, shape));
    return {};
  }

  // Does nothing if the tensor is not in the file.
  Status check_type(std::string_view name, std::string_view dtype, const std::vector<int64_t>& shape) const {
    const Tensor* const tensor = header_.find(name);
    if (tensor == nullptr) return {};
    if (tensor->dtype != dtype || tensor->shape != shape)
      return corrupt_file(path_, "the tensor '", name, "' has another type or shape than a model of ",
                          part_.rows, " words and ", part_.dims, " dimensions needs");
    if (tensor->offset % safetensors_type_bytes(dtype) != 0)
      return corrupt_file(path_, "the tensor '", name, "' begins at offset ", tensor->offset,
                          ", which its type cannot; write the file again with glove-convert");
    return {};
  }

  Result<CodingPtr> read_coding() const {
    const std::string_view name = header_.metadata_value(kMetricKey);
    const std::optional<RowMetric> metric = metric_named(name);
    if (metric != RowMetric::kDot && metric != RowMetric::kL2)
      return corrupt_file(path_, "the metadata key '", kMetricKey, "' is '", escaped(name),
                          "', but must be 'dot' or 'l2'");
    Coding coding{*metric, {}};
    GLOVE_RETURN_IF_ERROR(copy(kShiftMean, {part_.dims}, coding.shift.mean));
    GLOVE_RETURN_IF_ERROR(copy(kShiftDirection, {part_.dims}, coding.shift.direction));
    if (const std::string fault = fault_of_shift(coding.shift, part_.dims); !fault.empty())
      return corrupt_file(path_, "the mean of its rows ", fault);
    return CodingPtr(std::make_shared<const Coding>(std::move(coding)));
  }

  Result<KeyType> read_key_type() const {
    const std::string_view keys = header_.metadata_value(kKeysKey);
    if (keys.empty()) return KeyType::kText;
    if (keys == kIntegerKeys) return KeyType::kInteger;
    return corrupt_file(path_, "the metadata key '", kKeysKey, "' is '", escaped(keys),
                        "', but this build knows only '", kIntegerKeys, "'");
  }

  // Returns a copy of the map, or nullptr if the file has none.
  Result<std::shared_ptr<const RowMap>> read_derivation() const {
    const std::string_view text = header_.metadata_value(kDerivationKey);
    if (text.empty()) return std::shared_ptr<const RowMap>();
    int steps = 0;  // a bit each: center, matrix, normalize
    while (steps < 8 && derivation_text(steps & 1, steps & 2, steps & 4) != text) ++steps;
    if (steps == 8)
      return corrupt_file(path_, "the metadata key '", kDerivationKey, "' is '", escaped(text),
                          "', which this build does not know");
    RowMap map;
    map.normalize = (steps & 4) != 0;
    map.dims_in = map.dims_out = part_.dims;
    GLOVE_RETURN_IF_ERROR(read_derivation_width(steps & 2, map.dims_in));
    if ((steps & 1) != 0) GLOVE_RETURN_IF_ERROR(copy(kDerivationMean, {map.dims_in}, map.mean));
    if ((steps & 2) != 0)
      GLOVE_RETURN_IF_ERROR(copy(kDerivationMatrix, {map.dims_out, map.dims_in}, map.matrix));
    return std::shared_ptr<const RowMap>(std::make_shared<RowMap>(std::move(map)));
  }

  // Sets the number of dimensions that a derivation begins with, which its matrix has as columns.
  Status read_derivation_width(bool has_matrix, int64_t& dims_in) const {
    const Tensor* const matrix = has_matrix ? header_.find(kDerivationMatrix) : nullptr;
    if (matrix == nullptr || matrix->shape.size() != 2)
      return {};  // copy() reports a matrix of another shape
    dims_in = matrix->shape[1];
    if (dims_in >= 1 && dims_in <= kMaxDims) return {};
    return corrupt_file(path_, "the tensor '", kDerivationMatrix, "' has ", dims_in,
                        " columns; vectors have 1 to ", kMaxDims, " dimensions");
  }

  // Returns a copy of the common components, or nullptr if the file has none for weights that this build
  // knows.
  Result<std::shared_ptr<const StoredComponents>> read_components() const {
    const Tensor* const tensor = header_.find(kCommonComponents);
    if (tensor == nullptr || header_.metadata_value(kComponentsWeightsKey) != kZipfWeights)
      return std::shared_ptr<const StoredComponents>();
    StoredComponents components;
    components.count = tensor->shape.empty() ? 0 : tensor->shape.front();
    // Removing as many components as there are dimensions would leave nothing.
    if (components.count < 1 || components.count >= part_.dims)
      return corrupt_file(path_, "the tensor '", kCommonComponents, "' has ", components.count,
                          " rows; a model of ", part_.dims, " dimensions has at least 1 and fewer than ",
                          part_.dims, " components");
    GLOVE_RETURN_IF_ERROR(copy(kCommonComponents, {components.count, part_.dims}, components.vectors));
    if (!std::ranges::all_of(components.vectors, [](float value) { return std::isfinite(value); }))
      return corrupt_file(path_, "the tensor '", kCommonComponents,
                          "' has a component that is NaN or infinite");
    GLOVE_RETURN_IF_ERROR(read_number(kComponentsAKey, components.a));
    GLOVE_RETURN_IF_ERROR(read_number(kComponentsWordsKey, components.words));
    return std::shared_ptr<const StoredComponents>(std::make_shared<StoredComponents>(std::move(components)));
  }

  // Reads a value of the metadata that must be a finite number above 0.
  template <class T>
  Status read_number(std::string_view key, T& number) const {
    const std::string_view text = header_.metadata_value(key);
    number = number_from<T>(text).value_or(0);
    if (number > 0 && std::isfinite(static_cast<double>(number))) return {};
    return corrupt_file(path_, "the metadata key '", key, "' is '", escaped(text),
                        "', but must be a number above 0");
  }

  // Returns a copy of the words' counts, or nullptr if the file has none.
  Result<std::shared_ptr<const std::vector<double>>> read_counts() const {
    GLOVE_RETURN_IF_ERROR(check_type(kWordCounts, "F64", {part_.rows}));
    std::span<const double> view;
    if (!take(kWordCounts, view)) return std::shared_ptr<const std::vector<double>>();
    double total = 0;
    for (size_t i = 0; i < view.size(); ++i) {
      if (!(view[i] >= 0))
        return corrupt_file(path_, "the tensor '", kWordCounts, "' at row ", i + 1, " is negative or NaN");
      total += view[i];
    }
    if (!(total > 0) || !std::isfinite(total))
      return corrupt_file(path_, "the tensor '", kWordCounts, "' must have a finite sum above 0");
    return std::shared_ptr<const std::vector<double>>(
        std::make_shared<std::vector<double>>(view.begin(), view.end()));
  }

  // Returns the n-grams, with a view of the file; nullptr if it has none.
  Result<SubwordsPtr> read_subwords() const {
    const Tensor* const tensor = header_.find(kSubwordBuckets);
    if (tensor == nullptr) return SubwordsPtr();
    auto subwords = std::make_shared<Subwords>();
    subwords->buckets = tensor->bytes / (part_.dims * static_cast<int64_t>(sizeof(float)));
    GLOVE_RETURN_IF_ERROR(
        check_type(kSubwordBuckets, "F32", {std::max<int64_t>(1, subwords->buckets), part_.dims}));
    GLOVE_RETURN_IF_ERROR(read_number(kMinnKey, subwords->minn));
    GLOVE_RETURN_IF_ERROR(read_number(kMaxnKey, subwords->maxn));
    GLOVE_RETURN_IF_ERROR(subwords->check(path_));
    take(kSubwordBuckets, subwords->rows);
    subwords->map = owner_->map;
    return SubwordsPtr(std::move(subwords));
  }

  // Returns how texts are encoded, with views of the file.
  Result<StoredTokenizerPtr> read_tokenizer() const {
    auto tokenizer = std::make_shared<StoredTokenizer>();
    const std::string_view encoding = header_.metadata_value(kEncodingKey);
    int choice = 0;  // a bit each: static-embedding, normalize
    const auto rules = [&] { return static_cast<EncodingRules>(choice & 1); };
    while (choice < 4 && encoding_text(rules(), choice & 2) != encoding) ++choice;
    if (choice == 4)
      return corrupt_file(path_, "the metadata key '", kEncodingKey, "' is '", escaped(encoding),
                          "', which this build does not know");
    tokenizer->rules = rules();
    tokenizer->normalize = (choice & 2) != 0;
    GLOVE_RETURN_IF_ERROR(read_number(kTokensKey, tokenizer->tokens));
    const Tensor* const json = header_.find(kTokenizer);
    if (json == nullptr && header_.metadata_value(kSetKey).empty())
      return corrupt_file(path_, "the tensor '", kTokenizer, "' is missing");
    if (json != nullptr) GLOVE_RETURN_IF_ERROR(check_type(kTokenizer, "U8", {json->bytes}));
    GLOVE_RETURN_IF_ERROR(check_type(kTokenWeights, "F64", {tokenizer->tokens}));
    std::span<const char> text;
    take(kTokenizer, text);
    tokenizer->json = {text.data(), text.size()};
    take(kTokenWeights, tokenizer->weights);
    tokenizer->owner = owner_;
    return StoredTokenizerPtr(std::move(tokenizer));
  }

  // Copies a tensor of F32 that must be in the file.
  Status copy(std::string_view name, const std::vector<int64_t>& shape, std::vector<float>& values) const {
    GLOVE_RETURN_IF_ERROR(check_type(name, "F32", shape));
    std::span<const float> view;
    if (!take(name, view)) return corrupt_file(path_, "the tensor '", name, "' is missing");
    values.assign(view.begin(), view.end());
    return {};
  }

  // Computes the tensors that are missing in the file.
  Status derive(bool has_norms, bool has_codes, int threads, const InterruptCheck& interrupted) {
    DerivedArrays& derived = owner_->derived;
    GLOVE_RETURN_IF_ERROR(derived.append_vectors(path_, part_.vectors, part_.dims, threads, interrupted));
    GLOVE_RETURN_IF_ERROR(derived.finish());
    if (!has_norms) part_.norms_squared = derived.norms_squared();
    if (has_codes) return {};
    // Both levels of a file without codes are derived. A level of 4 bits that the file has may stay: it need
    // not be this version's.
    if (!part_.has_level(4) && derived.level4().rows() > 0)
      part_.levels.push_back(derived.level4().level(4, owner_->codes4));
    part_.levels.push_back(derived.level8().level(8, owner_->codes8));
    return {};
  }

  void take_level(int bits, std::string_view codes, std::string_view scales, std::string_view residuals) {
    CodeLevel& level = part_.levels.emplace_back();
    level.bits = bits;
    take(codes, level.codes);
    take(scales, level.scales);
    take(residuals, level.residuals);
  }

  // Lists and planes are used together, or not at all. The search indexes by the offsets and sorts by
  // products of the centroids, so these are checked.
  Status take_planes() {
    const Tensor* const centroids = header_.find(kListCentroids);
    PlaneLevel& planes = owner_->planes;
    if (centroids == nullptr || part_.dims > kMaxPlaneDims || !take(kListRows, planes.rows) ||
        !take(kPlane1, planes.plane1) || !take(kPlane1Bounds, planes.bounds1) ||
        !take(kPlane2, planes.plane2))
      return {};
    const int64_t lists = centroids->shape.empty() ? 0 : centroids->shape.front();
    if (lists < 1 || lists > part_.rows)
      return corrupt_file(path_, "the tensor '", kListCentroids, "' has ", lists, " rows; a model of ",
                          part_.rows, " words has 1 to ", part_.rows, " lists");
    GLOVE_RETURN_IF_ERROR(check_type(kListCentroids, "F32", {lists, part_.dims}));
    GLOVE_RETURN_IF_ERROR(check_type(kListOffsets, "I64", {lists + 1}));
    take(kListCentroids, planes.centroids);
    std::span<const int64_t> offsets;
    if (!take(kListOffsets, offsets)) return {};
    owner_->list_offsets.assign(offsets.begin(), offsets.end());
    planes.offsets = owner_->list_offsets;
    if (planes.offsets.front() != 0 || planes.offsets.back() != part_.rows ||
        !std::ranges::is_sorted(planes.offsets))
      return corrupt_file(path_, "the tensor '", kListOffsets, "' does not rise from 0 to ", part_.rows);
    if (!std::ranges::all_of(planes.centroids, [](float value) { return std::isfinite(value); }))
      return corrupt_file(path_, "the tensor '", kListCentroids, "' has a component that is NaN or infinite");
    const std::string_view most_k = header_.metadata_value(kPlanesMostKKey);
    planes.most_k = number_from<int64_t>(most_k).value_or(-1);
    if (planes.most_k < 0)
      return corrupt_file(path_, "the metadata key '", kPlanesMostKKey, "' is '", escaped(most_k),
                          "', but must be a whole number of at least 0");
    part_.planes = &planes;
    part_.derives_level4 = !part_.has_level(4);
    take_recall(header_, owner_->map->bytes(), part_.dims, planes, owner_->recall);
    return {};
  }

  // Takes vectors that are not F32.
  Status widen_vectors(int threads, const InterruptCheck& interrupted) {
    std::span<const char> from;
    take(kVectors, from);
    HugePageBuffer<float>& to = owner_->vectors;
    to.resize(static_cast<size_t>(part_.rows * part_.dims));
    part_.vectors = to;
    const auto widen = [&](int, int64_t first, int64_t last) {
      convert_elements(type_, from.data() + first * element_bytes(type_), last - first, to.data() + first);
    };
    return ThreadPool::for_pieces(threads, std::ssize(to), int64_t{1} << 18, interrupted, widen);
  }

  // Returns a view of a tensor whose type check_types() has checked; returns false if it is not present.
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
  ElementType type_{};  // of the vectors in the file
};

}  // namespace

Result<ModelPtr> open_model_file(const std::string& path, const std::shared_ptr<const File>& file,
                                 int threads, const InterruptCheck& interrupted) {
  // The file is mapped first, so that later writes to the file are noticed.
  GLOVE_ASSIGN_OR_RETURN(const std::shared_ptr<MappedFile> map, MappedFile::map(path, file));
  std::string raw;
  GLOVE_ASSIGN_OR_RETURN(const SafetensorsHeader header, read_safetensors_header(path, *file, &raw));
  if (!is_model_file(header))
    return corrupt_file(path, "this safetensors file is not a model file: it lacks vectors or words");
  GLOVE_ASSIGN_OR_RETURN(const FormatKind kind, check_header(path, header, raw));
  auto owner = std::make_shared<MappedArrays>();
  if (static_cast<int64_t>(map->bytes().size()) != header.end)
    return make_error(ErrorCode::kIo, path, ": the file changed its size while it was opened");
  map->know_content(known_content(header, raw));
  owner->map = map;
  return ModelFileReader(path, header, std::move(owner)).read(kind, threads, interrupted);
}

}  // namespace glove
