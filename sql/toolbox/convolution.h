// Convolutions of SQL functions, where they are computed fastest.
#pragma once

#include <span>
#include <string_view>

#include "analysis/grid.h"
#include "base/cancel.h"
#include "base/status.h"
#include "search/engine.h"

namespace glove::sql {

// Convolves the grid with each kernel in turn, as analysis/convolve.h says: on the backend that the toolbox
// uses by default if there is enough to compute, and otherwise on the CPU, so that small work does not start
// a device. `object` begins the messages about settings.
Result<Grid> convolve_somewhere(Engine& engine, std::string_view object, const Grid& grid,
                                std::span<const Grid> kernels, const InterruptCheck& interrupted);

}  // namespace glove::sql
