// What the functions over points in the plane share.
#pragma once

#include <optional>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "sql/adapter/arguments.h"

namespace glove::sql {

// Reads the place of a point, the first two arguments of the aggregates: x and y. Returns nullopt if one of
// them is NULL. Anything but a finite number is an error that names the function, the parameter and the
// value.
Result<std::optional<std::pair<double, double>>> read_place(Arguments row, std::string_view function);

}  // namespace glove::sql
