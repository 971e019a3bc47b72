// The keys of a model whose words are integers, in order.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/cancel.h"
#include "base/status.h"
#include "model/model.h"
#include "search/engine.h"
#include "search/row_mask.h"

namespace glove::sql::nn {

// Immutable; any thread may use it.
struct ModelKeys {
  std::vector<int64_t> keys;  // ascending
  std::vector<int32_t> rows;  // rows[i] has keys[i]

  int64_t bytes() const {
    return static_cast<int64_t>(keys.size() * sizeof(keys[0]) + rows.size() * sizeof(rows[0]));
  }
};

// Returns the keys of a model, which the engine keeps (ResultCache). REQUIRES: its key type is kInteger.
// Errors: an interrupt.
Result<std::shared_ptr<const ModelKeys>> model_keys(Engine& engine, const Model& model,
                                                    const InterruptCheck& interrupted);

// Returns the rows of such a model that have a key of the set.
Result<RowMaskPtr> rows_with_keys(Engine& engine, const Model& model, const KeySet& keys,
                                  const InterruptCheck& interrupted);

}  // namespace glove::sql::nn
