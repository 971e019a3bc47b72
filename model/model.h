// A model: a list of words with one float32 vector each, in the file's order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/require.h"
#include "base/status.h"
#include "model/metric.h"
#include "model/model_part.h"
#include "model/row_map.h"
#include "model/stored_tokenizer.h"
#include "model/vocabulary.h"

namespace glove {

class MappedFile;
struct Coding;
class TextEncoder;  // text/text_encoder.h

// The type of the numbers of stored vectors. kBits: eight bits, as a number from 0 to 255
// (RowMetric::kHamming); only indexes have them.
enum class ElementType : uint8_t { kFloat32, kFloat16, kBFloat16, kInt8, kFloat64, kBits };

// The location of bytes in an open file, so that a backend can read them with pread() into its own buffers
// instead of touching the map page by page.
struct FilePlace {
  int descriptor = -1;
  int64_t offset = 0;
};

// The common components of a model's texts (text/common_components.h) for weights by Zipf's law, and what
// they were derived from.
struct StoredComponents {
  double a = 0;       // the parameter of the weights, above 0
  int64_t words = 0;  // of the model that they were derived from, on which the weights depend
  int64_t count = 0;
  std::vector<float> vectors;  // [count, dims], the leading component first
};

// Immutable and shared: hold it by shared_ptr<const Model>; the last holder unmaps or frees it. Every member
// may be called from any thread.
class Model {
 public:
  // The origin of a model. `path` is used in messages and by glove_models.
  struct Source {
    std::string path;
    int64_t file_bytes = 0;
    // The files that parts, or the n-grams of a model on the heap, are mapped from, if any.
    std::vector<std::shared_ptr<const MappedFile>> maps;
    std::string format;  // the input format's name, such as "glove-text"
    std::string notes;   // what has become of rows of the file, in sentences; nothing for a mapped model
    std::shared_ptr<const RowMap>
        derivation;  // the map that made the vectors of those of another model, if any
    // How often each word occurs, [words], each at least 0, with a finite sum above 0. Null: unknown.
    std::shared_ptr<const std::vector<double>> counts;
    // The common components that the model's file contains. Null: it contains none.
    std::shared_ptr<const StoredComponents> components;
    // Which make the vectors of words that the model lacks. Null: such words have none.
    SubwordsPtr subwords;
    // How texts are encoded, if this is a static embedding model. Null: it is a model of words.
    StoredTokenizerPtr tokenizer;
    // Makes the vectors of texts, if this is a neural encoder, which has dimensions but no rows.
    std::shared_ptr<const TextEncoder> encoder;
    std::shared_ptr<const Coding> coding;  // null: rows are compared by cosine
    ElementType type =
        ElementType::kFloat32;  // of the vectors in a file of the model, which holds every component exactly
  };

  // `owner` keeps the memory of the parts and the vocabulary alive (a map or a heap block). REQUIRES: the
  // parts are contiguous from row 0 on, none is empty, and all have the same dims. Only the parts of a slice
  // (gpu/residency/model_slice.h) begin at another row, and its rows have the ids of the larger model.
  Model(std::vector<ModelPart> parts, const Vocabulary& vocabulary, Source source,
        std::shared_ptr<const void> owner);
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // Unique within the process and never reused, so it can be the key of a cache.
  uint64_t id() const { return id_; }
  int64_t first_row() const { return parts_.front().first_row; }  // 0, except for a slice
  int64_t words() const { return parts_.back().first_row + parts_.back().rows - first_row(); }
  int64_t dims() const { return parts_.front().dims; }
  std::span<const ModelPart> parts() const { return parts_; }
  const Vocabulary& vocabulary() const { return vocabulary_; }
  const Source& source() const { return source_; }
  // Whether the codes are shifted (model/shifted_codes.h). No other copies than those of 8 bits are then.
  bool is_shifted() const { return source_.coding != nullptr; }
  // How the rows are compared.
  RowMetric metric() const;
  const std::string& path() const { return source_.path; }
  // Returns the map from vectors of the model that this one was derived from, or nullptr if it was not.
  const RowMap* derivation() const { return source_.derivation.get(); }

  // Returns the part that contains a row. REQUIRES: first_row() <= row < first_row() + words().
  const ModelPart& part_of(int64_t row) const {
    GLOVE_REQUIRE(first_row() <= row && row < first_row() + words());
    const ModelPart& first = parts_.front();
    return row < first.rows ? first : later_part_of(row);
  }
  const float* vector(int64_t row) const {
    const ModelPart& part = part_of(row);
    return part.vector(row - part.first_row);
  }
  double norm_squared(int64_t row) const {
    const ModelPart& part = part_of(row);
    return part.norm_squared(row - part.first_row);
  }

  // Returns the location of this model's bytes in one of its files, or nullopt if they are only on the heap.
  // The descriptor stays open as long as the model lives.
  std::optional<FilePlace> place_in_file(std::span<const std::byte> bytes) const;

  // Returns ok, or why rows read since the model was opened may be wrong: a file was truncated, written to,
  // or could not be read (model/mapped_file.h). Call it after a scan, before returning its rows. Takes about
  // a microsecond, but reads the files once after their times have changed; `interrupted` stops that.
  Status health(const InterruptCheck& interrupted = {}) const;

 private:
  const ModelPart& later_part_of(int64_t row) const;

  std::vector<ModelPart> parts_;
  Vocabulary vocabulary_;
  Source source_;
  std::shared_ptr<const void> owner_;
  uint64_t id_;
};

// Models are shared: the last holder frees the model.
using ModelPtr = std::shared_ptr<const Model>;

// Returns the same model with these counts, under an id of its own; it shares the memory of the other one.
// REQUIRES: counts are as Model::Source says.
ModelPtr with_counts(const ModelPtr& model, std::vector<double> counts);

// The vector of a word, and whose row it is.
struct WordVector {
  std::optional<int32_t> id;      // nullopt: it is made of n-grams
  const float* vector = nullptr;  // [dims]; null: the word has none
  double norm_squared = 0;        // D(vector, vector)
};

// Looks a word up. The model's n-grams give one that is not in its vocabulary a vector, which is left in
// `made`, unless a component is not finite. With n-grams, upper case is not tried in lower case, because a
// word has the n-grams of its own letters.
WordVector find_word(const Model& model, std::string_view word, std::vector<float>& made);

}  // namespace glove
