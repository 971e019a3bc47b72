// verify_model_file: reads all the data of a model file, which open_model_file does not.
#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "base/concat.h"
#include "base/crc32.h"
#include "base/float_environment.h"
#include "lists/half.h"
#include "lists/planes.h"
#include "lists/recall_table.h"
#include "loader/model_file.h"
#include "loader/model_format.h"
#include "model/exact_dot.h"
#include "model/limits.h"
#include "model/mapped_file.h"
#include "model/nibbles.h"
#include "model/shifted_codes.h"

namespace glove {
namespace {

class Verifier {
 public:
  Verifier(const Model& model, const TokenizerReader& read_tokenizer, const ProgressCallback& progress,
           const InterruptCheck& interrupted)
      : model_(model), read_tokenizer_(read_tokenizer), progress_(progress), interrupted_(interrupted) {}

  Status run() {
    GLOVE_ASSIGN_OR_RETURN(const SafetensorsHeader header,
                           read_safetensors_header(model_.path(), model_.source().maps.front()->file()));
    for (const auto& [name, tensor] : header.tensors)
      GLOVE_RETURN_IF_ERROR(
          check_checksum(name, tensor, header.metadata_value(std::string(kTensorChecksumPrefix) + name)));
    GLOVE_RETURN_IF_ERROR(check_words());
    GLOVE_RETURN_IF_ERROR(check_order());
    GLOVE_RETURN_IF_ERROR(check_derivation());
    GLOVE_RETURN_IF_ERROR(check_tokenizer());
    for (int64_t row = 0; row < part_.rows; ++row) {
      GLOVE_RETURN_IF_ERROR(check_interrupt(row));
      GLOVE_RETURN_IF_ERROR(check_row(row));
    }
    for (const CodeLevel& level : part_.levels) GLOVE_RETURN_IF_ERROR(check_padding(level));
    if (part_.planes != nullptr) GLOVE_RETURN_IF_ERROR(check_planes(*part_.planes));
    return model_.health();
  }

 private:
  static constexpr int64_t kPieceBytes = int64_t{1} << 23;
  static constexpr int64_t kRowsBetweenChecks = 64;

  Status check_interrupt(int64_t row) const {
    return row % kRowsBetweenChecks == 0 ? glove::check_interrupt(interrupted_) : Status();
  }

  Error corrupt(std::string_view tensor, const std::string& what) const {
    return {ErrorCode::kCorrupt, model_.path() + ": the tensor '" + escaped(tensor) + "' " + what};
  }
  Error corrupt_row(std::string_view tensor, int64_t row, const std::string& what) const {
    return corrupt(tensor, concat("at row ", row + 1, " ", what));
  }
  Error corrupt_position(std::string_view tensor, int64_t position, const std::string& what) const {
    return corrupt(tensor, concat("at position ", position, " ", what));
  }

  // A tensor without a checksum is unknown to this version or was written by another program.
  Status check_checksum(const std::string& name, const Tensor& tensor, std::string_view stored) {
    uint32_t crc = 0;
    const auto bytes = model_.source().maps.front()->bytes();
    for (int64_t done = 0; done < tensor.bytes; done += kPieceBytes) {
      const auto piece = static_cast<size_t>(std::min(kPieceBytes, tensor.bytes - done));
      const char* const from = bytes.data() + tensor.offset + done;
      crc = crc32_continue(crc, {from, piece});
      bytes_done_ += static_cast<int64_t>(piece);
      if (progress_) progress_(bytes_done_, model_.source().file_bytes);
      GLOVE_RETURN_IF_ERROR(glove::check_interrupt(interrupted_));
    }
    if (!stored.empty() && stored != checksum_text(crc))
      return corrupt(name, "is damaged: its checksum is " + checksum_text(crc) + ", not " + escaped(stored));
    return {};
  }

  Status check_words() const {
    const Vocabulary& words = model_.vocabulary();
    const auto offsets = words.word_offsets();
    if (offsets.front() != 0) return corrupt(kWordOffsets, "does not begin with 0");
    for (int64_t row = 0; row < model_.words(); ++row) {
      GLOVE_RETURN_IF_ERROR(check_interrupt(row));
      const int64_t length = offsets[static_cast<size_t>(row) + 1] - offsets[static_cast<size_t>(row)];
      if (length < (tokenizer_ != nullptr ? 0 : 1) || length > kMaxWordBytes)
        return corrupt_row(kWordOffsets, row, "gives the word an impossible length");
      if (words.key_type() == KeyType::kInteger && !integer_key(words.word(row)))
        return corrupt_row(kWordBytes, row, "has a word that is not an integer, but the keys are integers");
    }
    if (offsets.back() != static_cast<int64_t>(words.word_bytes().size()))
      return corrupt(kWordOffsets, "does not end with the length of the words' bytes");
    return {};
  }

  Status check_order() const {
    const Vocabulary& words = model_.vocabulary();
    for (int64_t i = 0; i < words.size(); ++i) {
      GLOVE_RETURN_IF_ERROR(check_interrupt(i));
      const int32_t id = words.sorted_id(i);
      if (id < 0) return corrupt(kSortedIds, "has an impossible id at position " + std::to_string(i));
      if (i == 0) continue;
      const int32_t before = words.sorted_id(i - 1);
      const auto order = words.word(before) <=> words.word(id);
      if (order > 0 || (order == 0 && (tokenizer_ == nullptr || before >= id)))
        return corrupt(kSortedIds,
                       "is out of order, or a word is there twice, at position " + std::to_string(i));
    }
    return {};
  }

  Status check_derivation() const {
    const RowMap* const map = model_.derivation();
    if (map == nullptr) return {};
    const auto is_finite = [](float value) { return std::isfinite(value); };
    if (!std::ranges::all_of(map->mean, is_finite))
      return corrupt(kDerivationMean, "has a component that is NaN or infinite");
    if (!std::ranges::all_of(map->matrix, is_finite))
      return corrupt(kDerivationMatrix, "has a component that is NaN or infinite");
    return {};
  }

  Status check_tokenizer() const {
    if (tokenizer_ == nullptr) return {};
    const auto is_finite = [](double value) { return std::isfinite(value); };
    if (!std::ranges::all_of(tokenizer_->weights, is_finite))
      return corrupt(kTokenWeights, "has a weight that is NaN or infinite");
    if (!read_tokenizer_ || tokenizer_->json.empty()) return {};
    GLOVE_ASSIGN_OR_RETURN(const TokenizerContent content,
                           read_tokenizer_(model_.path(), tokenizer_->json, interrupted_));
    const std::vector<std::string>& tokens = content.tokens;
    if (static_cast<int64_t>(tokens.size()) != tokenizer_->tokens)
      return corrupt(kTokenizer, "has " + std::to_string(tokens.size()) + " tokens, not " +
                                     std::to_string(tokenizer_->tokens));
    for (int64_t row = 0; row < std::min(model_.words(), tokenizer_->tokens); ++row)
      if (model_.vocabulary().word(row) != tokens[static_cast<size_t>(row)])
        return corrupt_row(kWordBytes, row, "is not the token of the tokenizer");
    return {};
  }

  // The norm must be D(x, x), bit for bit.
  Status check_row(int64_t row) const {
    const auto i = static_cast<size_t>(row);
    const float* const x = part_.vector(row);
    const double norm_squared = exact_dot(x, x, part_.dims);
    if (!std::isfinite(norm_squared))
      return corrupt_row(kVectors, row, "has a component that is NaN or infinite");
    if (std::bit_cast<uint64_t>(norm_squared) != std::bit_cast<uint64_t>(part_.norms_squared[i]))
      return corrupt_row(kNormsSquared, row, "is not the vector's squared norm");
    for (const CodeLevel& level : part_.levels)
      GLOVE_RETURN_IF_ERROR(check_codes(level, row, x, norm_squared));
    return {};
  }

  // Codes may come from any quantiser that meets the contract, so the residual is checked against them and
  // not against the codes that this version would have chosen.
  Status check_codes(const CodeLevel& level, int64_t row, const float* x, double norm_squared) const {
    const auto i = static_cast<size_t>(row);
    const float scale = level.scales[i];
    const float residual = level.residuals[i];
    const LevelNames& names = names_of(level);
    if (model_.is_shifted()) {
      const int8_t* const codes = level.codes.data() + code_index(row, 0, part_.dims);
      if (bounds_hold(model_.source().coding->shift, x, part_.dims, codes, kTileRows * kTileComponents,
                      {scale, residual, level.along[i], level.lengths[i]}))
        return {};
      return corrupt_row(names.residuals, row,
                         "and what belongs to it is no bound of the vector and its codes");
    }
    if (norm_squared == 0.0) {
      if (scale != 0.0f) return corrupt_row(names.scales, row, "is not 0, but the vector is zero");
      if (!(std::isinf(residual) && residual > 0))
        return corrupt_row(names.residuals, row, "is not infinite, but the vector is zero");
      return {};
    }
    if (!(scale > 0.0f) || !std::isfinite(scale))
      return corrupt_row(names.scales, row, "is not a positive number");
    double distance_squared = 0;
    for (int64_t j = 0; j < part_.dims; ++j) {
      const int code = code_of(level, row, j);
      if (code == -128) return corrupt_row(names.codes, row, "holds -128");
      const double error =
          static_cast<double>(x[j]) / std::sqrt(norm_squared) - static_cast<double>(scale) * code;
      distance_squared += error * error;
    }
    if (std::isinf(residual))
      return corrupt_row(names.residuals, row, "is infinite, but the vector is not zero");
    if (!(std::sqrt(distance_squared) <= static_cast<double>(residual)))
      return corrupt_row(names.residuals, row, "is smaller than the distance between codes and vector");
    return {};
  }

  Status check_padding(const CodeLevel& level) const {
    const bool bytes = level.bits == 8;
    const int64_t padded_dims =
        bytes ? component_groups(part_.dims) * kTileComponents : nibble_words(part_.dims) * kNibbleGroup;
    const int zero = bytes ? 0 : -15;  // the code whose bits are zero
    for (int64_t row = 0; row < tile_count(part_.rows) * kTileRows; ++row) {
      GLOVE_RETURN_IF_ERROR(check_interrupt(row));
      for (int64_t j = row < part_.rows ? part_.dims : 0; j < padded_dims; ++j)
        if (code_of(level, row, j) != zero)
          return corrupt_row(names_of(level).codes, row, "has padding that is not zero");
    }
    return {};
  }

  // That the file has every row at one position, and that the bounds hold.
  Status check_planes(const PlaneLevel& planes) const {
    if (planes.recall != nullptr && planes.recall->is_damaged)
      return corrupt(kRecallTrials,
                     "and the other tensors of recall are no calibration that this build reads; "
                     "searches are exact without them");
    std::vector<bool> seen(static_cast<size_t>(part_.rows));
    int64_t list = 0;
    for (int64_t position = 0; position < tile_count(part_.rows) * kTileRows; ++position) {
      GLOVE_RETURN_IF_ERROR(check_interrupt(position));
      GLOVE_RETURN_IF_ERROR(check_plane_padding(planes, position));
      if (position >= part_.rows) continue;
      const int32_t row = planes.rows[static_cast<size_t>(position)];
      if (row < 0 || row >= part_.rows || seen[static_cast<size_t>(row)])
        return corrupt_position(kListRows, position,
                                concat("has ", row, ", which is no row or the one of another position"));
      seen[static_cast<size_t>(row)] = true;
      while (planes.offsets[static_cast<size_t>(list) + 1] <= position) ++list;
      const float* const centroid = planes.centroids.data() + list * part_.dims;
      const uint16_t* const tile = planes.bounds1.data() + position / kTileRows * kPlaneBounds * kTileRows;
      const uint16_t* const first = tile + position % kTileRows;
      GLOVE_RETURN_IF_ERROR(check_bound(
          kPlane1Bounds, position, row, centroid, {first[0], first[kTileRows], first[2 * kTileRows]},
          [&](int64_t j) { return 2 * bits_of_plane1(planes, position, j) - 3; }));
      GLOVE_RETURN_IF_ERROR(check_bound(
          kPlane2, position, row, centroid, plane2_bound(plane2_row(planes, position), part_.dims),
          [&](int64_t j) {
            return 2 * (4 * bits_of_plane1(planes, position, j) + bits_of_plane2(planes, position, j)) - 15;
          }));
    }
    return {};
  }

  // Planes may come from any writer, so a bound is checked against them and the vector. `code_of`: the code
  // of a component.
  template <class CodeOf>
  Status check_bound(std::string_view tensor, int64_t position, int64_t row, const float* centroid,
                     const PlaneBound& bound, const CodeOf& code_of) const {
    const double factor = half_value(bound.centroid);
    const double scale = half_value(bound.code);
    const double distance = half_value(bound.distance);
    const double norm_squared = part_.norm_squared(row);
    if (norm_squared == 0) {
      if (factor == 0 && scale == 0 && distance == 0) return {};
      return corrupt_position(tensor, position, "is not 0, but the vector is zero");
    }
    const float* const x = part_.vector(row);
    const double inverse_norm = 1 / std::sqrt(norm_squared);
    double centroid_squared = 0, along = 0;
    int largest = 0;
    for (int64_t j = 0; j < part_.dims; ++j) {
      const int code = code_of(j);
      largest = std::max(largest, std::abs(code));
      centroid_squared += double{centroid[j]} * centroid[j];
      along += (factor * centroid[j] + scale * code) * (x[j] * inverse_norm);
    }
    const double code_term = scale * largest * std::sqrt(static_cast<double>(part_.dims));
    if (!(std::abs(factor) * std::sqrt(centroid_squared) <= kMostPlaneTerm) || !(scale >= 0) ||
        !(code_term <= kMostPlaneTerm) || !(distance > 0))
      return corrupt_position(tensor, position, "has a number that is NaN, negative or too large");
    if (std::isinf(distance)) return {};
    double off_squared = 0;
    for (int64_t j = 0; j < part_.dims; ++j) {
      const double off = factor * centroid[j] + scale * code_of(j) - along * (x[j] * inverse_norm);
      off_squared += off * off;
    }
    if (!(along >= 1) || !(distance <= kMostPlaneTerm) || !(std::sqrt(off_squared) <= distance))
      return corrupt_position(tensor, position, "is not a bound of the row, its centroid and its codes");
    return {};
  }

  Status check_plane_padding(const PlaneLevel& planes, int64_t position) const {
    const bool is_row = position < part_.rows;
    const int64_t bytes = plane_row_bytes(part_.dims);
    for (int64_t j = is_row ? part_.dims : 0; j < bytes * kPlaneParts; ++j) {
      if (bits_of_plane1(planes, position, j) != 0)
        return corrupt_position(kPlane1, position, "has padding that is not zero");
      if (is_row && bits_of_plane2(planes, position, j) != 0)
        return corrupt_position(kPlane2, position, "has padding that is not zero");
    }
    if (is_row && bytes < plane2_bound_offset(part_.dims) && plane2_row(planes, position)[bytes] != 0)
      return corrupt_position(kPlane2, position, "has padding that is not zero");
    const uint16_t* const tile = planes.bounds1.data() + position / kTileRows * kPlaneBounds * kTileRows;
    for (int64_t i = 0; i < kPlaneBounds && !is_row; ++i)
      if (tile[i * kTileRows + position % kTileRows] != 0)
        return corrupt_position(kPlane1Bounds, position, "has padding that is not zero");
    return {};
  }

  // The bits of component j of the row at a position.
  int bits_of_plane1(const PlaneLevel& planes, int64_t position, int64_t j) const {
    const PlanePlace place = plane_place(j, part_.dims);
    return place.bits(planes.plane1[static_cast<size_t>(plane1_index(position, place.byte, part_.dims))]);
  }
  int bits_of_plane2(const PlaneLevel& planes, int64_t position, int64_t j) const {
    const PlanePlace place = plane_place(j, part_.dims);
    return place.bits(plane2_row(planes, position)[place.byte]);
  }
  const uint8_t* plane2_row(const PlaneLevel& planes, int64_t position) const {
    return planes.plane2.data() + position * plane2_row_bytes(part_.dims);
  }

  struct LevelNames {
    std::string_view codes, scales, residuals;
  };
  static const LevelNames& names_of(const CodeLevel& level) {
    static constexpr LevelNames kNames4 = {kCodes4, kScales4, kResiduals4};
    static constexpr LevelNames kNames8 = {kCodes, kScales, kResiduals};
    return level.bits == 4 ? kNames4 : kNames8;
  }

  int code_of(const CodeLevel& level, int64_t row, int64_t j) const {
    return level.bits == 4
               ? nibble_code(level.codes[static_cast<size_t>(nibble_index(row, j, part_.dims))], j)
               : level.codes[static_cast<size_t>(code_index(row, j, part_.dims))];
  }

  const Model& model_;
  const ModelPart& part_ = model_.parts().front();  // a file has one part
  const StoredTokenizer* const tokenizer_ = model_.source().tokenizer.get();
  const TokenizerReader& read_tokenizer_;
  const ProgressCallback& progress_;
  const InterruptCheck& interrupted_;
  int64_t bytes_done_ = 0;
};

}  // namespace

Status verify_model_file(const Model& model, const TokenizerReader& read_tokenizer,
                         const ProgressCallback& progress, const InterruptCheck& interrupted) {
  const ScopedFloatEnvironment environment;
  return Verifier(model, read_tokenizer, progress, interrupted).run();
}

}  // namespace glove
