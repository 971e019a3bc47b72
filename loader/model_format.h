// The names used in a model file. docs/format.md specifies the bytes.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "loader/safetensors.h"
#include "model/mapped_file.h"
#include "model/stored_tokenizer.h"

namespace glove {

// Tensors are used directly from the file.
static_assert(std::endian::native == std::endian::little, "model files are little-endian");

// What a file is of, which is its major version: a word model, a model with a tokenizer, or a word model that
// is not compared by cosine. Older readers reject the last two, because they would encode texts or rank rows
// by other rules. A minor version adds only what older readers may ignore; the one of a file with lists is
// higher by one, and the one of a file with n-grams by two.
enum class FormatKind : int { kWords = 1, kTokenizer = 2, kMetric = 3 };
FormatKind format_kind(bool has_tokenizer, bool is_shifted);

// Returns the version that is written, "MAJOR.MINOR".
std::string format_version(FormatKind kind, bool has_lists = false, bool has_subwords = false);

// Returns what a model file or an index of shards with this version, "MAJOR.MINOR", is of. It is an error if
// this build does not read the version. `source`, the path, begins the message.
Result<FormatKind> kind_of_version(const std::string& source, std::string_view version);

constexpr int64_t kModelHeaderBytes = 4096;  // as written; the reader accepts any length
constexpr int64_t kTensorAlignment = 64;

constexpr std::string_view kVersionKey = "glove.version";
constexpr std::string_view kHeaderChecksumKey = "glove.crc32";
constexpr std::string_view kTensorChecksumPrefix = "glove.crc32.";  // followed by the tensor's name

constexpr std::string_view kKeysKey = "glove.keys";
constexpr std::string_view kIntegerKeys = "integer";
constexpr std::string_view kFirstRowKey = "glove.first_row";  // of a shard, like the next two
constexpr std::string_view kRowsTotalKey = "glove.rows_total";
constexpr std::string_view kSetKey = "glove.set";
constexpr std::string_view kDerivationKey = "glove.derivation";  // the value is a derivation_text()

constexpr std::string_view kComponentsAKey = "glove.components.a";
constexpr std::string_view kComponentsWeightsKey = "glove.components.weights";
constexpr std::string_view kZipfWeights = "zipf";
constexpr std::string_view kComponentsWordsKey = "glove.components.words";

constexpr std::string_view kEncodingKey = "glove.encoding";  // the value is an encoding_text()
constexpr std::string_view kPlanesMostKKey = "glove.planes.most_k";
constexpr std::string_view kMetricKey = "glove.metric";  // a metric_name() other than "cosine"
constexpr std::string_view kTokensKey = "glove.tokens";
constexpr std::string_view kMinnKey = "glove.subwords.minn";
constexpr std::string_view kMaxnKey = "glove.subwords.maxn";

constexpr std::string_view kVectors = "vectors";
constexpr std::string_view kNormsSquared = "norms_squared";
constexpr std::string_view kCodes = "codes";
constexpr std::string_view kScales = "scales";
constexpr std::string_view kResiduals = "residuals";
constexpr std::string_view kAlong = "along";
constexpr std::string_view kLengths = "lengths";
constexpr std::string_view kShiftMean = "shift_mean";
constexpr std::string_view kShiftDirection = "shift_direction";
constexpr std::string_view kCodes4 = "codes4";
constexpr std::string_view kScales4 = "scales4";
constexpr std::string_view kResiduals4 = "residuals4";
constexpr std::string_view kWordBytes = "word_bytes";
constexpr std::string_view kWordOffsets = "word_offsets";
constexpr std::string_view kSortedIds = "sorted_ids";
constexpr std::string_view kDerivationMean = "derivation_mean";
constexpr std::string_view kDerivationMatrix = "derivation_matrix";
constexpr std::string_view kCommonComponents = "common_components";
constexpr std::string_view kWordCounts = "word_counts";
constexpr std::string_view kTokenizer = "tokenizer";
constexpr std::string_view kTokenWeights = "token_weights";
constexpr std::string_view kSubwordBuckets = "subword_buckets";
constexpr std::string_view kListCentroids = "list_centroids";
constexpr std::string_view kListOffsets = "list_offsets";
constexpr std::string_view kListRows = "list_rows";
constexpr std::string_view kPlane1 = "plane1";
constexpr std::string_view kPlane1Bounds = "plane1_bounds";
constexpr std::string_view kPlane2 = "plane2";
constexpr std::string_view kRecallClasses = "recall_classes";
constexpr std::string_view kRecallTrials = "recall_trials";
constexpr std::string_view kPaddingPrefix = "padding.";

// The tensors that a reader uses.
inline constexpr std::array kTensorNames = {
    kVectors,          kNormsSquared,     kCodes4,     kScales4,      kResiduals4,   kCodes,
    kScales,           kResiduals,        kWordBytes,  kWordOffsets,  kSortedIds,    kDerivationMean,
    kDerivationMatrix, kCommonComponents, kWordCounts, kTokenizer,    kTokenWeights, kListCentroids,
    kListOffsets,      kListRows,         kPlane1,     kPlane1Bounds, kPlane2,       kRecallClasses,
    kRecallTrials,     kSubwordBuckets,   kAlong,      kLengths,      kShiftMean,    kShiftDirection};

// Spells the steps of a map, such as "center,matrix,normalize"; "identity" if it has none.
std::string derivation_text(bool center, bool matrix, bool normalize);

// Spells how texts are encoded: "model2vec" or "static-embedding", and ",normalize" if vectors get the length
// 1.
std::string encoding_text(EncodingRules rules, bool normalize);

// Whether a safetensors header belongs to a model file: it has vectors and words under our names.
bool is_model_file(const SafetensorsHeader& header);

// Checks the version and the checksum of a model file's header before anything in it is used. `raw`: as of
// header_checksum().
Result<FormatKind> check_header(const std::string& path, const SafetensorsHeader& header,
                                const std::string& raw);

// Returns the header and every used tensor with its checksum; returns nothing if one of them has no checksum.
std::vector<MappedFile::Content> known_content(const SafetensorsHeader& header, const std::string& raw);

// Returns a CRC-32 as eight lower-case hexadecimal digits.
std::string checksum_text(uint32_t crc);

// Returns the CRC-32 of a whole header (length field, JSON, spaces), with the eight digits of the value of
// kHeaderChecksumKey replaced by zeros. Empty if the key is not present in the writer's spelling.
std::string header_checksum(std::string header);

}  // namespace glove
