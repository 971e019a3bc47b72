// Builds a model on the heap from rows (a word and its vector) in order.
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

// Accepts single rows, or blocks from a reader. One thread at a time may use it. Memory grows with the model.
// If an allocation fails, std::bad_alloc is thrown and the builder may only be destroyed.
class ModelBuilder {
 public:
  // `source` begins every message about a row and becomes Model::path(): a file, or text such as
  // "glove_load_table('tags')".
  explicit ModelBuilder(std::string source);
  ~ModelBuilder();
  ModelBuilder(ModelBuilder&&) noexcept;
  ModelBuilder& operator=(ModelBuilder&&) noexcept;

  // Appends a row; its id is the number of rows kept before it. Returns true if it was kept, and false if the
  // word is already present: the first one wins. The first row sets the dimensions. An error names the row by
  // its 1-based number in the order of the calls. It is an error if the length differs from the first row's,
  // the word or vector is empty, a component is NaN or infinite, or the key has another type. Earlier rows
  // are unaffected.
  Result<bool> add(std::string_view word, std::span<const float> vector);
  // The same for an integer key, whose word is its decimal text. The first row determines the type of all
  // keys.
  Result<bool> add(int64_t key, std::span<const float> vector);

  // The metric by which the rows are compared, which is cosine unless this is called. REQUIRES: the rows come
  // from add().
  void set_metric(RowMetric metric);

  // Receives blocks of rows that have been checked and derived (loader/row_transform.h), in place of those
  // of add(), and says how many there are of each kind; zero rows of add() count only after finish().
  ModelAssembler& assembler();

  int64_t rows() const;  // rows kept

  // Computes the missing norms and codes, and the sorted order, on up to `threads` threads (0 = the cores
  // that this process may use), and returns the model. The builder is empty afterwards. Returns an error if
  // there are no rows.
  Result<ModelPtr> finish(int threads = 0, const InterruptCheck& interrupted = {});
  // The same for a model whose source is more than a path.
  Result<ModelPtr> finish(Model::Source source, int threads, const InterruptCheck& interrupted = {});

 private:
  struct State;
  Result<bool> add_key(KeyType type, std::string_view word, std::span<const float> vector);

  std::string source_;
  std::shared_ptr<State> state_;  // a finished model keeps it alive
};

}  // namespace glove
