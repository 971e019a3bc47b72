#include "sql/json_grid.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sql/arguments.h"

namespace glove::sql {
namespace {

using Json = nlohmann::json;

constexpr unsigned kJsonSubtype = 'J';  // tells json_each and its kin that the text is JSON

Error invalid(std::string_view object, const std::string& rest) {
  return {ErrorCode::kInvalidArgument, std::string(object) + ": " + rest};
}

}  // namespace

Result<Grid> parse_grid(std::string_view json, std::string_view object, std::string_view name) {
  const Json rows = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!rows.is_array())
    return invalid(object,
                   "the " + std::string(name) + " must be a JSON array of rows, such as [[1,2],[3,4]]");
  Grid grid;
  for (const Json& row : rows) {
    ++grid.rows;
    const std::string place = "row " + std::to_string(grid.rows) + " of the " + std::string(name);
    if (!row.is_array()) return invalid(object, place + " must be an array of numbers");
    if (grid.rows == 1) grid.columns = static_cast<int64_t>(row.size());
    if (static_cast<int64_t>(row.size()) != grid.columns)
      return invalid(object, place + " has " + std::to_string(row.size()) + " numbers, but row 1 has " +
                                 std::to_string(grid.columns));
    for (const Json& value : row) {
      if (!value.is_number()) return invalid(object, place + " has a value that is not a number");
      grid.values.push_back(value.get<double>());
    }
  }
  return grid;
}

Status return_grid(sqlite3_context* context, const Grid& grid, std::string_view object) {
  if (!std::ranges::all_of(grid.values, [](double value) { return std::isfinite(value); }))
    return invalid(object, "a number of the result is too large");
  Json rows = Json::array();
  for (int64_t i = 0; i < grid.rows; ++i)
    rows.push_back(std::vector<double>(grid.row(i), grid.row(i) + grid.columns));
  return_text(context, rows.dump());
  sqlite3_result_subtype(context, kJsonSubtype);
  return {};
}

}  // namespace glove::sql
