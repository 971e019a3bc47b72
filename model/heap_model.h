// Rows in order -> a model on the heap.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "model/model.h"
#include "model/model_assembler.h"

namespace glove {

// One thread at a time.
class HeapModel {
 public:
  HeapModel();
  ~HeapModel();
  HeapModel(HeapModel&&) noexcept;
  HeapModel& operator=(HeapModel&&) noexcept;

  // Where the rows go.
  ModelAssembler& assembler();

  // The model; `source` tells where it came from. Nothing may be appended afterwards. `threads` sort the
  // words; 0: the cores there are. REQUIRES: at least one row.
  ModelPtr finish(Model::Source source, int threads = 0) &&;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace glove
