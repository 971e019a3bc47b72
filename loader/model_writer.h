// Writes a model file (docs/format.md) from rows in order.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/replacement_file.h"
#include "base/status.h"
#include "loader/formats/elements.h"
#include "loader/shard.h"
#include "model/model.h"
#include "model/model_assembler.h"
#include "model/model_part.h"
#include "model/row_map.h"
#include "model/shifted_codes.h"
#include "model/stored_tokenizer.h"
#include "model/vocabulary.h"

namespace glove {

// What a model file says of the model beside its rows.
struct ModelDescription {
  KeyType key_type = KeyType::kText;
  std::shared_ptr<const RowMap> derivation;
  std::shared_ptr<const StoredComponents> components;
  std::shared_ptr<const std::vector<double>> counts;  // one for each row
  SubwordsPtr subwords;
  // Makes the file that of a model with a tokenizer, whose rows the assembler must all keep. Null: of a word
  // model. Of several shards only the first one has the tokenizer's text and weights.
  StoredTokenizerPtr tokenizer;
};

// Until commit(), `path` is unchanged and no other file is visible (base/replacement_file.h). commit() makes
// the new file durable and moves it to `path` in one step. A symbolic link is followed and kept; if `path`
// exists and is not a regular file, such as /dev/null, an error is returned. Memory: the words and about 100
// bytes per row. A background thread does the writing. One thread at a time may call it.
class ModelWriter {
 public:
  // `expected_rows` is the number of rows of `dims` components if the input is as promised, and also the
  // maximum; -1 if unknown. With a known number the codes are written directly to their final place, and are
  // moved only if there are fewer rows. The vectors are written as this type. REQUIRES: that has all of their
  // numbers, without rounding.
  static Result<std::unique_ptr<ModelWriter>> create(const std::string& path, int64_t expected_rows,
                                                     int64_t dims, ElementType type = ElementType::kFloat32);
  ~ModelWriter();

  // Returns the destination of the rows.
  ModelAssembler& assembler();

  // To be filled in before finish().
  ModelDescription& description();
  // Writes the rows' lists and planes, and no codes of 4 bits. The arrays outlive finish(), and have one
  // entry for each row. REQUIRES: no row was appended yet.
  void set_planes(const PlaneLevel& planes);
  // Writes shifted codes by this coding, unless it is null, and none of 4 bits. REQUIRES: append() of the
  // assembler is not called.
  void set_coding(CodingPtr coding);
  // Makes the file a shard. Without a call it is a whole model.
  void set_shard(ShardPlace place);

  // Reads vectors back: those of rows [first, first + count), as [count, dims], into `vectors`, whose memory
  // is used again. REQUIRES: the rows exist.
  Status read_vectors(int64_t first, int64_t count, Buffer<float>& vectors);

  // Writes the remaining data and returns the file, complete and readable but neither flushed to the disk nor
  // renamed. Returns an error if there are no rows. The words are sorted on up to `threads` threads (0 = all
  // usable cores). `interrupted` is called between the steps and while the words are sorted. REQUIRES:
  // nothing but bytes_written() and assembler() is called afterwards.
  Result<ReplacementFile> finish(int threads = 0, const InterruptCheck& interrupted = {});

  // finish(), and moves the file to `path`. After an error `path` is unchanged, and so it is if `interrupted`
  // stops the work, which is called for the last time before the renaming. The flush to the disk cannot be
  // interrupted.
  Status commit(int threads = 0, const InterruptCheck& interrupted = {});

  int64_t bytes_written() const;

 private:
  struct State;
  explicit ModelWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace glove
