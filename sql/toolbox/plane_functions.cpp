#include "sql/toolbox/plane_functions.h"

#include <cmath>

#include "sql/adapter/arguments.h"

namespace glove::sql {

Result<std::optional<std::pair<double, double>>> read_place(Arguments row, std::string_view function) {
  double place[2];
  bool missing = false;
  for (size_t i = 0; i < 2; ++i) {
    const int type = sqlite3_value_numeric_type(row[i]);
    place[i] = sqlite3_value_double(row[i]);
    const bool finite = (type == SQLITE_INTEGER || type == SQLITE_FLOAT) && std::isfinite(place[i]);
    missing = missing || type == SQLITE_NULL;
    if (!finite && type != SQLITE_NULL)
      return invalid_value(function, i == 0 ? "x" : "y", " is ", shown_value(row[i]),
                           ", but must be a finite number");
  }
  return missing ? std::optional<std::pair<double, double>>() : std::pair(place[0], place[1]);
}

}  // namespace glove::sql
