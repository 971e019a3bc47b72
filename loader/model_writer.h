// Writes a model file (docs/format.md) from rows in order.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/cancel.h"
#include "base/status.h"
#include "model/model_assembler.h"

namespace glove {

// Until commit() `path` is as it was, and nothing else is seen beside it (base/replacement_file.h);
// commit() makes the new file durable and puts it in the place of `path` in one step. A link is followed and
// stays; what is there and no regular file, such as /dev/null, is an error. Memory: the words and about 100
// bytes a row. Writes on a thread of its own. One thread at a time may call it.
class ModelWriter {
 public:
  // `expected_rows`: how many rows of `dims` components there will be if all goes as the input promises, and
  // the most there can be; -1: unknown. The codes then go to their place at once, and are moved only if there
  // are fewer.
  static Result<std::unique_ptr<ModelWriter>> create(const std::string& path, int64_t expected_rows,
                                                     int64_t dims);
  ~ModelWriter();

  // Where the rows go.
  ModelAssembler& assembler();

  // Writes what is left and renames. An error if there is no row; `path` is then as it was. `threads` sort
  // the words; 0: the cores there are. `interrupted` is asked between the steps and while the words are
  // sorted, and last before the renaming; if it stops the work, `path` is as it was. The flush to the disk
  // runs to its end.
  Status commit(int threads = 0, const InterruptCheck& interrupted = {});

  int64_t bytes_written() const;

 private:
  struct State;
  explicit ModelWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace glove
