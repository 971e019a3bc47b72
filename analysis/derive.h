// Models made of models: centred, without their first principal components, whitened, with fewer dimensions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/analysis.h"
#include "analysis/principal.h"
#include "model/model.h"
#include "model/row_map.h"

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

// A new model on the heap: the rows of the set, mapped, with the words and the type of the keys that they
// have in their model, and their frequencies. It keeps the map (Model::derivation). `source` names it in messages and becomes its
// path. Errors: no row; a row that the map makes infinite; an interrupt. Opens its own float environment.
Result<ModelPtr> derive_model(Analysis& analysis, const PointSet& set, RowMap map, const std::string& source,
                              const InterruptCheck& interrupted);

}  // namespace glove
