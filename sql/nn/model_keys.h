// The keys of a model whose words are integers.
#pragma once

#include "base/status.h"
#include "model/model.h"
#include "search/engine.h"
#include "search/row_mask.h"

namespace glove::sql::nn {

// Returns the rows of a model whose words are integers that have a key of the set. The engine keeps the
// model's keys (ResultCache). REQUIRES: the model's key type is kInteger. Errors: an interrupt.
Result<RowMaskPtr> rows_with_keys(Engine& engine, const Model& model, const KeySet& keys,
                                  const InterruptCheck& interrupted);

}  // namespace glove::sql::nn
