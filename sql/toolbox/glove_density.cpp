// glove_density(x, y [, options]): an aggregate that counts points in the cells of a grid and smooths the
// counts with a Gaussian. Returns the grid as JSON; its first row has the smallest y.
//
//   SELECT glove_density(x, y, '{"width":2,"height":2,"sigma":0}') FROM place;   -- [[1.0,0.0],[0.0,2.0]]
//
// option  value                               meaning
// width   an integer from 1 to 2048           the number of columns (default 64)
// height  an integer from 1 to 2048           the number of rows (default 64)
// sigma   a number from 0 to 100              the deviation in cells (default 1.5); 0 means no smoothing
// extent  [x_min, y_min, x_max, y_max]        the area that the grid covers (default: that of all points)
//
// Rows with a NULL are skipped. Returns NULL if there is no point.
#include <algorithm>
#include <string_view>
#include <vector>

#include "analysis/density.h"
#include "sql/adapter/aggregate.h"
#include "sql/register.h"
#include "sql/values/json_options.h"
#include "sql/values/toolbox_inputs.h"

namespace glove::sql {
namespace {

constexpr std::string_view kDensity = "glove_density";

bool take_extent(const JsonValue& value, DensityOptions& options) {
  const std::vector<JsonValue>& sides = value.elements;
  if (sides.size() != 4 || !std::ranges::all_of(sides, &JsonValue::is_number)) return false;
  options.extent = {sides[0].number, sides[1].number, sides[2].number, sides[3].number};
  return options.extent->x_min < options.extent->x_max && options.extent->y_min < options.extent->y_max;
}

constexpr JsonOption<DensityOptions> kDensityOptions[] = {
    {"width", &DensityOptions::width, 1, 2048},
    {"height", &DensityOptions::height, 1, 2048},
    {"sigma", "a number from 0 to 100", &DensityOptions::sigma, 0, 100},
    {"extent", "[x_min, y_min, x_max, y_max] with x_min < x_max and y_min < y_max", take_extent}};

struct DensityRows {
  Status step(sqlite3_context* context, Arguments row);
  Status result(sqlite3_context* context);

  bool has_options = false;
  DensityOptions options;  // of the first row
  std::vector<double> x, y;
};

Status DensityRows::step(sqlite3_context*, Arguments row) {
  if (!has_options && row.size() > 2) {
    GLOVE_ASSIGN_OR_RETURN(
        options, read_options<DensityOptions>(row[2], kDensity, "{\"width\":100}", kDensityOptions));
  }
  has_options = true;
  GLOVE_ASSIGN_OR_RETURN(const auto place, read_place(row, kDensity));
  if (!place) return {};
  x.push_back(place->first);
  y.push_back(place->second);
  return {};
}

Status DensityRows::result(sqlite3_context* context) {
  x.resize(y.size());  // the last step may have run out of memory between the two
  if (x.empty()) return {};
  InterruptPoller interrupted(sqlite3_context_db_handle(context));
  GLOVE_ASSIGN_OR_RETURN(const int threads, engine_of(context).settings().threads());
  GLOVE_ASSIGN_OR_RETURN(const Grid grid, point_density(x, y, options, threads, interrupted));
  return return_grid(context, grid, kDensity, interrupted);
}

}  // namespace

// INNOCUOUS and DETERMINISTIC, because the result depends on nothing but the arguments. RESULT_SUBTYPE,
// because the result is marked as JSON.
constexpr SqlObject kGloveDensity = Aggregate<DensityRows>::object(
    "glove_density", 2, 3, SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS | SQLITE_RESULT_SUBTYPE);

}  // namespace glove::sql
