#include "loader/model_writer.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

#include "base/concat.h"
#include "base/file.h"
#include "base/json.h"
#include "lists/planes.h"
#include "loader/model_format.h"
#include "loader/stored_recall.h"
#include "loader/write_behind.h"
#include "model/mapped_file.h"
#include "model/nibbles.h"

namespace glove {
namespace {

std::string shape_text(std::initializer_list<int64_t> shape) {
  std::string text = "[";
  for (const int64_t extent : shape) text += (text.size() > 1 ? "," : "") + std::to_string(extent);
  return text + "]";
}

int64_t aligned(int64_t offset) {
  return (offset + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
}

int64_t vectors_bytes(int64_t rows, int64_t dims, ElementType type) {
  return rows * dims * element_bytes(type);
}

// Returns the offset of the codes in a model file.
int64_t codes_offset(int64_t rows, int64_t dims, ElementType type) {
  const int64_t norms = aligned(kModelHeaderBytes + vectors_bytes(rows, dims, type));
  return aligned(norms + rows * static_cast<int64_t>(sizeof(double)));
}

// Returns the offset of the codes of 4 bits, which follow those of 8.
int64_t codes4_offset(int64_t rows, int64_t dims, ElementType type) {
  return aligned(codes_offset(rows, dims, type) + code_bytes(rows, dims));
}

// Builds the header's JSON, and tracks the file offset of the next tensor.
class Layout {
 public:
  int64_t end() const { return end_; }

  // Adds a tensor of `bytes` bytes at the end. `sink` must have its checksum when header() is called (null:
  // the tensor has no checksum). REQUIRES: pad() was called before every tensor except the first.
  void add(std::string_view name, std::string_view dtype, const std::string& shape, int64_t bytes,
           const FileSink* sink) {
    const int64_t begin = end_ - kModelHeaderBytes;
    tensors_ += ",\"" + std::string(name) + "\":{\"dtype\":\"" + std::string(dtype) +
                "\",\"shape\":" + shape + ",\"data_offsets\":[" + std::to_string(begin) + "," +
                std::to_string(begin + bytes) + "]}";
    if (sink != nullptr) checksums_.emplace_back(name, sink);
    end_ += bytes;
  }

  // Adds zeros up to the next aligned offset, as a separate tensor, because the container does not allow
  // holes.
  Status pad(File& file) {
    const int64_t count = aligned(end_) - end_;
    if (count == 0) return {};
    const std::array<char, kTensorAlignment> zeros{};
    GLOVE_RETURN_IF_ERROR(file.write_at(end_, std::span(zeros).first(static_cast<size_t>(count))));
    add(std::string(kPaddingPrefix) + std::to_string(paddings_++), "U8", shape_text({count}), count, nullptr);
    return {};
  }

  // Adds an entry to the metadata. REQUIRES: both need no escapes in JSON.
  void add_metadata(std::string_view key, std::string_view value) {
    metadata_ += ",\"" + std::string(key) + "\":\"" + std::string(value) + "\"";
  }

  // Returns the whole header: length, JSON with this version, spaces. It is an error if its place is too
  // small. REQUIRES: everything has been written.
  Result<std::string> header(const std::string& path, const std::string& version) const {
    std::string checksums;
    for (const auto& [name, sink] : checksums_)
      checksums +=
          ",\"" + std::string(kTensorChecksumPrefix) + name + "\":\"" + checksum_text(sink->crc()) + "\"";
    std::string text(8, '\0');
    const uint64_t length = kModelHeaderBytes - 8;
    for (size_t i = 0; i < 8; ++i) text[i] = static_cast<char>(length >> (8 * i) & 0xFF);
    text += "{\"__metadata__\":{\"" + std::string(kVersionKey) + "\":\"" + version + "\",\"" +
            std::string(kHeaderChecksumKey) + "\":\"00000000\"" + metadata_ + checksums + "}" + tensors_ +
            "}";
    if (std::ssize(text) > kModelHeaderBytes)
      return invalid_argument("the header of '", path, "' would take ", text.size(), " bytes of ",
                              kModelHeaderBytes, "; write the model without lists");
    text.resize(kModelHeaderBytes, ' ');
    const std::string checksum = header_checksum(text);
    return text.replace(text.find("00000000"), 8, checksum);
  }

 private:
  std::string metadata_;
  std::string tensors_;
  std::vector<std::pair<std::string, const FileSink*>> checksums_;
  int64_t end_ = kModelHeaderBytes;
  int paddings_ = 0;
};

}  // namespace

struct ModelWriter::State : ModelDescription {
  static constexpr int64_t kCopiedBytes = int64_t{8} << 20;  // per piece

  ReplacementFile output;
  const std::string path;
  File& file;
  // Open if codes are stored here because the final size of `vectors` is unknown.
  File spill8, spill4;
  std::deque<FileSink> sinks;  // one per tensor
  WriteBehind writer;
  FileSink& vectors;
  FileSink& codes8;
  FileSink& codes4;
  ModelAssembler assembler;
  Layout layout;
  InterruptCheck interrupted;  // passed to finish()
  std::optional<ShardPlace> shard;
  std::optional<PlaneLevel> planes;
  CodingPtr coding;

  // REQUIRES: the spill files are open if `expected_rows` is negative.
  State(ReplacementFile replacement, File codes8_file, File codes4_file, int64_t expected_rows, int64_t dims,
        ElementType type)
      : output(std::move(replacement)),
        path(output.path()),
        file(output.file()),
        spill8(std::move(codes8_file)),
        spill4(std::move(codes4_file)),
        vectors(sinks.emplace_back(writer, file, kModelHeaderBytes,
                                   expected_rows < 0 ? -1 : vectors_bytes(expected_rows, dims, type), true,
                                   type)),
        codes8(expected_rows < 0 ? sinks.emplace_back(writer, spill8, 0, -1, false)
                                 : sinks.emplace_back(writer, file, codes_offset(expected_rows, dims, type),
                                                      code_bytes(expected_rows, dims))),
        codes4(expected_rows < 0 ? sinks.emplace_back(writer, spill4, 0, -1, false)
                                 : sinks.emplace_back(writer, file, codes4_offset(expected_rows, dims, type),
                                                      nibble_bytes(expected_rows, dims))),
        assembler(vectors, codes8, codes4) {
    if (expected_rows > 0) assembler.reserve(expected_rows);
  }

  Status add_tensor(std::string_view name, std::string_view dtype, std::initializer_list<int64_t> shape,
                    std::span<const char> bytes) {
    GLOVE_RETURN_IF_ERROR(layout.pad(file));
    FileSink& sink = sinks.emplace_back(writer, file, layout.end(), static_cast<int64_t>(bytes.size()));
    for (; !bytes.empty(); bytes = bytes.subspan(std::min<size_t>(kCopiedBytes, bytes.size()))) {
      GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
      GLOVE_RETURN_IF_ERROR(sink.append(bytes.first(std::min<size_t>(kCopiedBytes, bytes.size()))));
    }
    GLOVE_RETURN_IF_ERROR(sink.flush());
    layout.add(name, dtype, shape_text(shape), sink.bytes(), &sink);
    return {};
  }

  Status add_description() {
    if (key_type == KeyType::kInteger) layout.add_metadata(kKeysKey, kIntegerKeys);
    if (shard) {
      layout.add_metadata(kFirstRowKey, std::to_string(shard->first_row));
      layout.add_metadata(kRowsTotalKey, std::to_string(shard->rows_total));
      layout.add_metadata(kSetKey, shard->set);
    }
    if (derivation == nullptr) return {};
    const RowMap& map = *derivation;
    layout.add_metadata(kDerivationKey,
                        derivation_text(!map.mean.empty(), !map.matrix.empty(), map.normalize));
    if (!map.mean.empty())
      GLOVE_RETURN_IF_ERROR(
          add_tensor(kDerivationMean, "F32", {map.dims_in}, bytes_of(std::span<const float>(map.mean))));
    if (!map.matrix.empty())
      GLOVE_RETURN_IF_ERROR(add_tensor(kDerivationMatrix, "F32", {map.dims_out, map.dims_in},
                                       bytes_of(std::span<const float>(map.matrix))));
    return {};
  }

  Status add_components_and_counts(int64_t rows, int64_t dims) {
    if (components != nullptr) {
      layout.add_metadata(kComponentsAKey, number_text(components->a));
      layout.add_metadata(kComponentsWeightsKey, kZipfWeights);
      layout.add_metadata(kComponentsWordsKey, std::to_string(components->words));
      GLOVE_RETURN_IF_ERROR(add_tensor(kCommonComponents, "F32", {components->count, dims},
                                       bytes_of(std::span<const float>(components->vectors))));
    }
    if (counts == nullptr) return {};
    return add_tensor(kWordCounts, "F64", {rows}, bytes_of(std::span<const double>(*counts)));
  }

  Status add_subwords(int64_t dims) {
    if (subwords == nullptr || (shard && shard->first_row > 0)) return {};
    layout.add_metadata(kMinnKey, std::to_string(subwords->minn));
    layout.add_metadata(kMaxnKey, std::to_string(subwords->maxn));
    GLOVE_RETURN_IF_ERROR(add_tensor(kSubwordBuckets, "F32", {subwords->buckets, dims}, subwords->rows));
    return subwords->map->health(interrupted);
  }

  Status add_tokenizer() {
    if (tokenizer == nullptr) return {};
    layout.add_metadata(kEncodingKey, encoding_text(tokenizer->rules, tokenizer->normalize));
    layout.add_metadata(kTokensKey, std::to_string(tokenizer->tokens));
    if (shard && shard->first_row > 0) return {};
    const auto bytes = static_cast<int64_t>(tokenizer->json.size());
    GLOVE_RETURN_IF_ERROR(add_tensor(kTokenizer, "U8", {bytes}, tokenizer->json));
    if (tokenizer->weights.empty()) return {};
    return add_tensor(kTokenWeights, "F64", {tokenizer->tokens}, bytes_of(tokenizer->weights));
  }

  Status add_planes(int64_t rows, int64_t dims) {
    if (!planes) return {};
    layout.add_metadata(kPlanesMostKKey, std::to_string(planes->most_k));
    const int64_t tiles = tile_count(rows);
    const int64_t lists = planes->lists();
    GLOVE_RETURN_IF_ERROR(add_tensor(kListCentroids, "F32", {lists, dims}, bytes_of(planes->centroids)));
    GLOVE_RETURN_IF_ERROR(add_tensor(kListOffsets, "I64", {lists + 1}, bytes_of(planes->offsets)));
    GLOVE_RETURN_IF_ERROR(add_tensor(kListRows, "I32", {rows}, bytes_of(planes->rows)));
    GLOVE_RETURN_IF_ERROR(
        add_tensor(kPlane1, "U8", {tiles, kTileRows * plane_row_bytes(dims)}, bytes_of(planes->plane1)));
    GLOVE_RETURN_IF_ERROR(
        add_tensor(kPlane1Bounds, "F16", {tiles, kPlaneBounds, kTileRows}, bytes_of(planes->bounds1)));
    GLOVE_RETURN_IF_ERROR(
        add_tensor(kPlane2, "U8", {rows, plane2_row_bytes(dims)}, bytes_of(planes->plane2)));
    const RecallTable* const recall = planes->recall;
    return recall == nullptr || recall->is_damaged ? Status() : add_recall(*recall);
  }

  Status add_recall(const RecallTable& recall) {
    const int64_t classes = std::ssize(kRecallKs);
    GLOVE_RETURN_IF_ERROR(
        add_tensor(kRecallClasses, "F64", {classes, kRecallTransform}, bytes_of(recall.transform)));
    const std::vector<int16_t> queries = stored_queries(recall);
    return add_tensor(kRecallTrials, "I16", {classes, recall.queries, kStoredRecallNumbers},
                      bytes_of(std::span<const int16_t>(queries)));
  }

  // Moves codes to their place, unless they were written there, and adds their tensor.
  Status add_codes(std::string_view name, std::string_view dtype, std::initializer_list<int64_t> shape,
                   const FileSink& codes, const File& spill) {
    GLOVE_RETURN_IF_ERROR(layout.pad(file));
    if (!spill.is_open() && codes.begin() < layout.end())
      return {ErrorCode::kCorrupt, "there are more rows for '" + path + "' than the input promises"};
    if (spill.is_open() || codes.begin() != layout.end()) {
      GLOVE_RETURN_IF_ERROR(writer.drain());
      for (int64_t done = 0; done < codes.bytes(); done += kCopiedBytes) {
        GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
        GLOVE_RETURN_IF_ERROR(file.copy_from(spill.is_open() ? spill : file, codes.begin() + done,
                                             layout.end() + done,
                                             std::min(kCopiedBytes, codes.bytes() - done)));
      }
    }
    layout.add(name, dtype, shape_text(shape), codes.bytes(), &codes);
    return {};
  }

  Status add_levels(int64_t rows, int64_t dims) {
    const DerivedArrays& derived = assembler.derived();
    const int64_t tiles = tile_count(rows);
    GLOVE_RETURN_IF_ERROR(
        add_codes(kCodes, "I8", {tiles, component_groups(dims), kTileRows, kTileComponents}, codes8, spill8));
    const bool has_level4 = derived.level4().rows() > 0;
    if (has_level4)
      GLOVE_RETURN_IF_ERROR(
          add_codes(kCodes4, "U8", {tiles, nibble_words(dims), kTileRows, kNibbleWordBytes}, codes4, spill4));
    GLOVE_RETURN_IF_ERROR(add_tensor(kScales, "F32", {rows}, bytes_of(derived.level8().scales())));
    GLOVE_RETURN_IF_ERROR(add_tensor(kResiduals, "F32", {rows}, bytes_of(derived.level8().residuals())));
    if (coding != nullptr) return add_coding(rows, dims);
    if (!has_level4) return {};
    GLOVE_RETURN_IF_ERROR(add_tensor(kScales4, "F32", {rows}, bytes_of(derived.level4().scales())));
    return add_tensor(kResiduals4, "F32", {rows}, bytes_of(derived.level4().residuals()));
  }

  Status add_coding(int64_t rows, int64_t dims) {
    const LevelArrays& level = assembler.derived().level8();
    layout.add_metadata(kMetricKey, metric_name(coding->metric));
    GLOVE_RETURN_IF_ERROR(add_tensor(kAlong, "F32", {rows}, bytes_of(level.along())));
    GLOVE_RETURN_IF_ERROR(add_tensor(kLengths, "F32", {rows}, bytes_of(level.lengths())));
    for (const auto& [name, values] :
         {std::pair(kShiftMean, &coding->shift.mean), std::pair(kShiftDirection, &coding->shift.direction)})
      GLOVE_RETURN_IF_ERROR(add_tensor(name, "F32", {dims}, bytes_of(std::span<const float>(*values))));
    return {};
  }
};

ModelWriter::ModelWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}

ModelWriter::~ModelWriter() = default;

Result<std::unique_ptr<ModelWriter>> ModelWriter::create(const std::string& path, int64_t expected_rows,
                                                         int64_t dims, ElementType type) {
  GLOVE_ASSIGN_OR_RETURN(ReplacementFile output, ReplacementFile::create(path));
  File spill8, spill4;
  if (expected_rows < 0) {
    const std::string directory = directory_of(output.path());
    GLOVE_ASSIGN_OR_RETURN(spill8, File::create_unnamed(directory, output.path()));
    GLOVE_ASSIGN_OR_RETURN(spill4, File::create_unnamed(directory, output.path()));
  }
  return std::unique_ptr<ModelWriter>(new ModelWriter(std::make_unique<State>(
      std::move(output), std::move(spill8), std::move(spill4), expected_rows, dims, type)));
}

ModelDescription& ModelWriter::description() {
  return *state_;
}

ModelAssembler& ModelWriter::assembler() {
  return state_->assembler;
}

void ModelWriter::set_planes(const PlaneLevel& planes) {
  state_->planes = planes;
  state_->assembler.omit_level4();
}

void ModelWriter::set_coding(CodingPtr coding) {
  state_->coding = coding;
  state_->assembler.set_coding(std::move(coding));
}

Status ModelWriter::read_vectors(int64_t first, int64_t count, Buffer<float>& vectors) {
  State& state = *state_;
  GLOVE_RETURN_IF_ERROR(state.vectors.flush());
  GLOVE_RETURN_IF_ERROR(state.writer.drain());
  const int64_t dims = state.assembler.dims();
  const ElementType type = state.vectors.type();
  Buffer<char> bytes(static_cast<size_t>(vectors_bytes(count, dims, type)));
  GLOVE_ASSIGN_OR_RETURN(const size_t got,
                         state.file.read_at(kModelHeaderBytes + vectors_bytes(first, dims, type), bytes));
  if (got < bytes.size())
    return {ErrorCode::kIo, "the new file for '" + state.path + "' was truncated by another program"};
  vectors.resize(static_cast<size_t>(count * dims));
  convert_elements(type, bytes.data(), count * dims, vectors.data());
  return {};
}

void ModelWriter::set_shard(ShardPlace place) {
  state_->shard = std::move(place);
}

int64_t ModelWriter::bytes_written() const {
  return state_->layout.end();
}

Result<ReplacementFile> ModelWriter::finish(int threads, const InterruptCheck& interrupted) {
  State& state = *state_;
  state.interrupted = interrupted;
  const ModelAssembler& rows = state.assembler;
  const int64_t count = rows.rows();
  if (count == 0) return Error{ErrorCode::kCorrupt, "there is no row to write to '" + state.path + "'"};
  GLOVE_RETURN_IF_ERROR(state.assembler.finish());
  GLOVE_RETURN_IF_ERROR(state.vectors.flush());
  GLOVE_RETURN_IF_ERROR(state.codes8.flush());
  GLOVE_RETURN_IF_ERROR(state.codes4.flush());
  state.layout.add(kVectors, element_dtype(state.vectors.type()), shape_text({count, rows.dims()}),
                   state.vectors.bytes(), &state.vectors);
  GLOVE_RETURN_IF_ERROR(
      state.add_tensor(kNormsSquared, "F64", {count}, bytes_of(rows.derived().norms_squared())));
  GLOVE_RETURN_IF_ERROR(state.add_levels(count, rows.dims()));
  const WordSet& words = rows.words();
  GLOVE_ASSIGN_OR_RETURN(const std::vector<int32_t> sorted, words.sorted_ids(threads, interrupted));
  GLOVE_RETURN_IF_ERROR(
      state.add_tensor(kWordBytes, "U8", {static_cast<int64_t>(words.bytes().size())}, words.bytes()));
  GLOVE_RETURN_IF_ERROR(state.add_tensor(kWordOffsets, "I64", {count + 1}, bytes_of(words.offsets())));
  GLOVE_RETURN_IF_ERROR(
      state.add_tensor(kSortedIds, "I32", {count}, bytes_of(std::span<const int32_t>(sorted))));
  GLOVE_RETURN_IF_ERROR(state.add_description());
  GLOVE_RETURN_IF_ERROR(state.add_components_and_counts(count, rows.dims()));
  GLOVE_RETURN_IF_ERROR(state.add_tokenizer());
  GLOVE_RETURN_IF_ERROR(state.add_subwords(rows.dims()));
  GLOVE_RETURN_IF_ERROR(state.add_planes(count, rows.dims()));
  GLOVE_RETURN_IF_ERROR(state.writer.drain());
  GLOVE_ASSIGN_OR_RETURN(
      const std::string header,
      state.layout.header(state.path,
                          format_version(format_kind(state.tokenizer != nullptr, state.coding != nullptr),
                                         state.planes.has_value(), state.subwords != nullptr)));
  GLOVE_RETURN_IF_ERROR(state.file.write_at(0, header));
  // Removes space that was announced but not written.
  GLOVE_RETURN_IF_ERROR(state.file.resize(state.layout.end()));
  return std::move(state.output);
}

Status ModelWriter::commit(int threads, const InterruptCheck& interrupted) {
  GLOVE_ASSIGN_OR_RETURN(ReplacementFile output, finish(threads, interrupted));
  GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
  GLOVE_RETURN_IF_ERROR(output.flush_to_disk());
  GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
  return output.commit();
}

}  // namespace glove
