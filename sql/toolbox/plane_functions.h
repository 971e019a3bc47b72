// What the functions over points in the plane and over grids share.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "analysis/grid.h"
#include "base/cancel.h"
#include "base/status.h"
#include "search/engine.h"
#include "sql/adapter/arguments.h"

namespace glove::sql {

// Reads the place of a point, the first two arguments of the aggregates: x and y. Returns nullopt if one of
// them is NULL. Anything but a finite number is an error that names the function, the parameter and the
// value.
Result<std::optional<std::pair<double, double>>> read_place(Arguments row, std::string_view function);

// Convolves the grid with each kernel in turn, as analysis/convolve.h says: on the backend that the toolbox
// uses by default if there is enough to compute, and otherwise on the CPU, so that small work does not start
// a device. `object` begins the messages about settings.
Result<Grid> convolve_somewhere(Engine& engine, std::string_view object, const Grid& grid,
                                std::span<const Grid> kernels, const InterruptCheck& interrupted);

}  // namespace glove::sql
