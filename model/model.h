// A model: a list of words with one float32 vector each, in the file's order.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/status.h"
#include "model/quantize.h"
#include "model/vocabulary.h"

namespace glove {

class MappedFile;

// Where one array of a model lies in its file, so that a backend can read it with pread()
// into its own buffers instead of touching the map page by page.
struct FileExtent {
  int64_t offset = 0;
  int64_t bytes = 0;
};

// The arrays of a model; whoever makes a Model fills all of them. Views, not owners.
struct ModelArrays {
  int64_t words = 0;
  int64_t dims = 0;
  std::span<const float> vectors;         // [words, dims], row-major, finite
  std::span<const double> norms_squared;  // [words], D(x, x)
  std::span<const int8_t> codes;          // code_bytes(words, dims), tiles of quantize.h
  std::span<const float> scales;          // [words]
  std::span<const float> residuals;       // [words]
  Vocabulary vocabulary;
};

// Immutable and shared: hold it by shared_ptr<const Model>; the last holder unmaps or
// frees. Every member may be called from any thread.
class Model {
 public:
  // `owner` keeps the memory behind `arrays` alive (a map, a heap block). `path` is where it
  // came from, for messages and glove_models. `descriptor` is an open file with the arrays
  // at `codes_extent` and so on, or -1 if the model lives on the heap only.
  struct Source {
    std::string path;
    int64_t file_bytes = 0;
    int descriptor = -1;                    // owned by `owner`
    std::shared_ptr<const MappedFile> map;  // null if the model lives on the heap only
    std::string format;                     // the input format's name, such as "glove-text"
    int64_t duplicates = 0;                 // rows left out because their word was there already
    int64_t invalid_utf8 = 0;               // words that are not valid UTF-8; 0 for a mapped model
    FileExtent vectors, norms_squared, codes, scales, residuals;
  };
  Model(const ModelArrays& arrays, Source source, std::shared_ptr<const void> owner);
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // Unique in the process and never reused: the key of every cache.
  uint64_t id() const { return id_; }
  int64_t words() const { return arrays_.words; }
  int64_t dims() const { return arrays_.dims; }
  const float* vector(int64_t row) const { return arrays_.vectors.data() + row * arrays_.dims; }
  double norm_squared(int64_t row) const { return arrays_.norms_squared[static_cast<size_t>(row)]; }
  const ModelArrays& arrays() const { return arrays_; }
  const Vocabulary& vocabulary() const { return arrays_.vocabulary; }
  const Source& source() const { return source_; }
  const std::string& path() const { return source_.path; }

  // Ok, or why rows read since the model was opened may be wrong: its file was cut, written to, or could not
  // be read (model/mapped_file.h). Ask after a scan, before its rows are believed. About a microsecond.
  Status health() const;

 private:
  ModelArrays arrays_;
  Source source_;
  std::shared_ptr<const void> owner_;
  uint64_t id_;
};

using ModelPtr = std::shared_ptr<const Model>;

}  // namespace glove
