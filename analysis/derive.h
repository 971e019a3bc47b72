// Models made of models: centred, without their first principal components, whitened, with fewer dimensions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/analysis.h"
#include "analysis/principal.h"
#include "analysis/row_map.h"
#include "model/model.h"

namespace glove {

struct DeriveOptions {
  bool center = false;     // subtracts the mean; `remove` and `whiten` do so anyhow
  int64_t remove = 0;      // takes out the first components
  int64_t dims = 0;        // keeps this many of the components that are left; 0: all
  bool whiten = false;     // gives every component that is left the same variance
  bool normalize = false;  // makes unit vectors of the rows in the end
};

// The map that does this. `components`: of the rows to fit, centred. Errors: negative counts; more components
// than there are.
Result<RowMap> make_row_map(const PrincipalComponents& components, const DeriveOptions& options);

// A new model on the heap: the model's first `rows` rows, mapped. `source` names it in messages and becomes
// its path. Errors: a row that the map makes infinite; an interrupt. Opens its own float environment.
Result<ModelPtr> derive_model(Analysis& analysis, const ModelPtr& model, int64_t rows, const RowMap& map,
                              const std::string& source, const InterruptCheck& interrupted);

}  // namespace glove
