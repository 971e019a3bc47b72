// Rows (a word and its vector) one by one -> a model on the heap.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "model/model.h"

namespace glove {

// One thread at a time. Memory grows with the model; an allocation that fails throws
// std::bad_alloc and leaves the builder only fit to be destroyed.
class ModelBuilder {
 public:
  // `source` begins every message and becomes Model::path(): a file, or words such as
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

  int64_t rows() const;        // rows kept
  int64_t duplicates() const;  // rows left out because their word was there already

  // Computes norms, codes and the sorted order, on up to `threads` threads (0 = the cores this process
  // may use), and gives the model; the builder is empty afterwards. An error if no row was added.
  Result<ModelPtr> finish(int threads = 0);

 private:
  struct State;
  Result<bool> add_key(KeyType type, std::string_view word, std::span<const float> vector);

  std::unique_ptr<State> state_;
};

}  // namespace glove
