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
#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include "analysis/density.h"
#include "sql/adapter/aggregate_state.h"
#include "sql/adapter/arguments.h"
#include "sql/adapter/boundary.h"
#include "sql/adapter/interrupt.h"
#include "sql/register.h"
#include "sql/toolbox/convolution.h"
#include "sql/toolbox/plane_arguments.h"
#include "sql/values/json_grid.h"
#include "sql/values/json_options.h"

namespace glove::sql {
namespace {

constexpr std::string_view kFunction = "glove_density";
constexpr int64_t kMostCells = 2048;
constexpr double kMostSigma = 100;

bool take_cells(const JsonValue& value, int64_t& cells) {
  return take_whole(value, 1, cells) && cells <= kMostCells;
}

bool take_sigma(const JsonValue& value, DensityOptions& options) {
  return take_number(value, 0, kMostSigma, options.sigma);
}

bool take_extent(const JsonValue& value, DensityOptions& options) {
  const std::vector<JsonValue>& sides = value.elements;
  if (sides.size() != 4 || !std::ranges::all_of(sides, &JsonValue::is_number)) return false;
  options.extent = {sides[0].number, sides[1].number, sides[2].number, sides[3].number};
  return options.extent->x_min < options.extent->x_max && options.extent->y_min < options.extent->y_max;
}

using DensityOption = JsonOption<DensityOptions>;
constexpr std::array kOptions = {
    DensityOption{
        "width", "an integer from 1 to 2048",
        [](const JsonValue& value, DensityOptions& options) { return take_cells(value, options.width); }},
    DensityOption{
        "height", "an integer from 1 to 2048",
        [](const JsonValue& value, DensityOptions& options) { return take_cells(value, options.height); }},
    DensityOption{"sigma", "a number from 0 to 100", take_sigma},
    DensityOption{"extent", "[x_min, y_min, x_max, y_max] with x_min < x_max and y_min < y_max", take_extent},
};

// What one group of rows has collected.
struct DensityRows {
  bool has_options = false;
  DensityOptions options;  // of the first row
  std::vector<double> x, y;
};

Status step(sqlite3_context* context, Arguments arguments) {
  DensityRows& rows = AggregateState<DensityRows>::of(context);
  if (!rows.has_options && arguments.size() > 2) {
    GLOVE_ASSIGN_OR_RETURN(const std::string_view json, options_text(arguments[2], kFunction));
    GLOVE_RETURN_IF_ERROR(parse_options(json, kFunction, "{\"width\":100}", kOptions, rows.options));
  }
  rows.has_options = true;
  double x = 0, y = 0;
  GLOVE_ASSIGN_OR_RETURN(const bool has_x, read_coordinate(arguments[0], kFunction, "x", x));
  GLOVE_ASSIGN_OR_RETURN(const bool has_y, read_coordinate(arguments[1], kFunction, "y", y));
  if (!has_x || !has_y) return {};
  rows.x.push_back(x);
  rows.y.push_back(y);
  return {};
}

Status finish(sqlite3_context* context) {
  const std::unique_ptr<DensityRows> rows = AggregateState<DensityRows>::take(context);
  if (rows == nullptr) return {};
  rows->x.resize(rows->y.size());  // the last step may have run out of memory between the two
  if (rows->x.empty()) return {};
  InterruptPoller poller(sqlite3_context_db_handle(context));
  const InterruptCheck interrupted = [&poller] { return poller.interrupted(); };
  GLOVE_ASSIGN_OR_RETURN(
      const Grid grid,
      convolve_somewhere(engine_of(context), kFunction, point_counts(rows->x, rows->y, rows->options),
                         gaussian_kernels(rows->options.sigma), interrupted));
  return return_grid(context, grid, kFunction, interrupted);
}

void step_callback(sqlite3_context* context, int argc, sqlite3_value** argv) {
  guard(context, [&] { return step(context, {argv, static_cast<size_t>(argc)}); });
}

void finish_callback(sqlite3_context* context) {
  guard(context, [&] { return finish(context); });
}

}  // namespace

int register_glove_density(sqlite3* db, Engine& engine) {
  // INNOCUOUS and DETERMINISTIC, because the result depends on nothing but the arguments. RESULT_SUBTYPE,
  // because the result is marked as JSON.
  return register_aggregate(db, engine, "glove_density", 2, 3,
                            SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS | SQLITE_RESULT_SUBTYPE,
                            {step_callback, nullptr, nullptr, finish_callback});
}

}  // namespace glove::sql
