// The place of a point, as the first two arguments of the aggregates over points in the plane.
#pragma once

#include <optional>
#include <string_view>
#include <utility>

#include "sql/adapter/arguments.h"

namespace glove::sql {

// Reads x and y. Returns nullopt if one of them is NULL. Anything but a finite number is an error that names
// the function, the parameter and the value.
Result<std::optional<std::pair<double, double>>> read_place(Arguments row, std::string_view function);

}  // namespace glove::sql
