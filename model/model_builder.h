// Rows (a word and its vector) in order -> a model on the heap.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "model/model.h"
#include "model/model_assembler.h"

namespace glove {

// Takes rows one by one, or in blocks from a reader; one builder takes both, in any order. One thread at a
// time. Memory grows with the model; an allocation that fails throws std::bad_alloc and leaves the builder
// only fit to be destroyed.
class ModelBuilder {
 public:
  // `source` begins every message about a row and becomes Model::path(): a file, or words such as
  // "glove_load_table('tags')".
  explicit ModelBuilder(std::string source);
  ~ModelBuilder();
  ModelBuilder(ModelBuilder&&) noexcept;
  ModelBuilder& operator=(ModelBuilder&&) noexcept;

  // Appends a row; its id is the number of rows kept before it. True if it was kept, false if the
  // word is there already: the first wins. The first row sets the dimensions. An error names
  // the row by its number in the order of the calls, from 1: another length than the first row's, an
  // empty word or vector, a component that is NaN or infinite, a key of another type. It leaves the rows
  // before it as they were.
  Result<bool> add(std::string_view word, std::span<const float> vector);
  // The same for an integer key, whose word is its decimal text. The first row sets the type of all keys.
  Result<bool> add(int64_t key, std::span<const float> vector);

  // Appends a block of rows that have been checked and derived (model/row_transform.h). The first of each
  // word is kept. An error if there are more rows than a model may have. REQUIRES: `dims` is that of the rows
  // before, none of which has an integer key.
  Status append(int64_t dims, const RowBlock& rows, const DerivedRows& derived);

  int64_t rows() const;             // rows kept
  int64_t duplicates() const;       // rows left out because their word was there already
  const RowCounts& counts() const;  // zero_rows lacks the rows that add() has appended last

  // Computes what is missing of norms and codes, and the sorted order, on up to `threads` threads (0 = the
  // cores this process may use), and returns the model; the builder is empty afterwards. An error if there
  // is no row.
  Result<ModelPtr> finish(int threads = 0);
  // The same for a model that says of itself more than where it came from.
  Result<ModelPtr> finish(Model::Source source, int threads, const InterruptCheck& interrupted = {});

 private:
  struct State;
  Result<bool> add_key(KeyType type, std::string_view word, std::span<const float> vector);
  Status derive_added_rows(int threads, const InterruptCheck& interrupted = {});

  std::string source_;
  std::shared_ptr<State> state_;  // what a finished model keeps alive
};

}  // namespace glove
