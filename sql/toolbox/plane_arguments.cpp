#include "sql/toolbox/plane_arguments.h"

#include <cmath>
#include <string>

#include "sql/adapter/values.h"

namespace glove::sql {

Result<bool> read_coordinate(sqlite3_value* value, std::string_view function, const char* name,
                             double& coordinate) {
  const int type = sqlite3_value_numeric_type(value);
  if (type == SQLITE_NULL) return false;
  coordinate = sqlite3_value_double(value);
  if ((type == SQLITE_INTEGER || type == SQLITE_FLOAT) && std::isfinite(coordinate)) return true;
  return invalid_value(function,
                       std::string(name) + " is " + shown_value(value) + ", but must be a finite number");
}

}  // namespace glove::sql
