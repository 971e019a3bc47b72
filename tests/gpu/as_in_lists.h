// What a device sees of a model in lists.
#pragma once

#include <memory>
#include <vector>

#include "model/model.h"

namespace glove::testing {

// Returns the model without 4-bit codes, in whose place a file with lists has planes.
inline ModelPtr as_in_lists(const ModelPtr& model) {
  std::vector<ModelPart> parts(model->parts().begin(), model->parts().end());
  for (ModelPart& part : parts) {
    std::erase_if(part.levels, [](const CodeLevel& level) { return level.bits == 4; });
    part.derives_level4 = true;
  }
  return std::make_shared<const Model>(std::move(parts), model->vocabulary(), Model::Source(), model);
}

}  // namespace glove::testing
