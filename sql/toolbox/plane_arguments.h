// Coordinates as arguments of the aggregates over points in the plane.
#pragma once

#include <string_view>

#include "base/status.h"
#include "sql/adapter/boundary.h"

namespace glove::sql {

// Reads a coordinate. Returns false if the value is NULL. Anything but a finite number is an error that names
// the function, the parameter and the value.
Result<bool> read_coordinate(sqlite3_value* value, std::string_view function, const char* name,
                             double& coordinate);

}  // namespace glove::sql
