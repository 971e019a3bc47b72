// What a live index of texts remembers of the model that made its vectors.
#pragma once

#include <string>
#include <string_view>

#include "model/model.h"
#include "search/engine.h"

namespace glove::sql {

// Returns a text that is equal for two models, options and versions of this extension only if they make the
// same vectors of texts, except with a probability of about 2^-32: checksums of the vectors, the words and
// the frequencies, the version of the encoder, and the options. The first call for a model reads all of it.
std::string model_fingerprint(Engine& engine, const ModelPtr& model, std::string_view options);

}  // namespace glove::sql
