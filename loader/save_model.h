// Writes a loaded model as a model file.
#pragma once

#include <string>

#include "base/cancel.h"
#include "base/status.h"
#include "model/model.h"

namespace glove {

// Writes the words, vectors, type of keys, derivation, common components and frequencies of the model to
// `path`, which appears or changes in one step at the end (loader/model_writer.h), so it may be the file that
// the model is mapped from. Derives no components: those are kept that the model has. Codes are computed on
// up to `threads` threads (0 = the cores that this process may use). Errors name the file. Opens its own
// float environment.
Status save_model(const Model& model, const std::string& path, int threads,
                  const InterruptCheck& interrupted);

}  // namespace glove
