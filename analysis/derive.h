// Models derived from models: centred, without their first principal components, whitened, with fewer
// dimensions.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/analysis.h"
#include "analysis/principal.h"
#include "model/model.h"
#include "model/row_map.h"

namespace glove {

struct DeriveOptions {
  bool center = false;     // subtracts the mean, as `remove` and `whiten` do too
  int64_t remove = 0;      // removes this many of the first components
  int64_t dims = 0;        // keeps this many of the remaining components; 0: all
  bool whiten = false;     // scales the remaining components to the same variance
  bool normalize = false;  // finally scales the rows to length 1
};

// Returns the map with these options. `components`: of the rows to fit, centred. Errors: negative counts;
// more components than there are.
Result<RowMap> make_row_map(const PrincipalComponents& components, const DeriveOptions& options);

// Makes a new model on the heap: the rows of the set, mapped, with their words, frequencies, type of keys and
// metric.
// It keeps the map (Model::derivation). `source` names it in messages and becomes its path. Errors: no row; a
// row that the map makes infinite; an interrupt. Opens its own float environment.
Result<ModelPtr> derive_model(Analysis& analysis, const PointSet& set, RowMap map, const std::string& source,
                              const InterruptCheck& interrupted);

}  // namespace glove
