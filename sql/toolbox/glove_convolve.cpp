// glove_convolve(grid, kernel): the convolution of two matrices in JSON, with the size of the first.
//
//   SELECT glove_convolve('[[0,0,0],[0,9,0],[0,0,0]]', '[[1,2,1]]');   -- [[0.0,0.0,0.0],[9.0,18.0,9.0],...]
//
// Values beyond the border are 0. Returns NULL if the grid or the kernel is NULL.
#include <string_view>

#include "analysis/grid.h"
#include "sql/adapter/arguments.h"
#include "sql/register.h"
#include "sql/values/toolbox_inputs.h"

namespace glove::sql {
namespace {

constexpr std::string_view kConvolve = "glove_convolve";

Status glove_convolve(sqlite3_context* context, Arguments arguments) {
  if (is_null(arguments[0]) || is_null(arguments[1])) return {};
  GLOVE_ASSIGN_OR_RETURN(const std::string_view grid_json, required_text(arguments, 0, kConvolve, "grid"));
  InterruptPoller interrupted(sqlite3_context_db_handle(context));
  GLOVE_ASSIGN_OR_RETURN(const Grid grid, parse_grid(grid_json, kConvolve, "grid", interrupted));
  GLOVE_ASSIGN_OR_RETURN(const std::string_view kernel_json,
                         required_text(arguments, 1, kConvolve, "kernel"));
  GLOVE_ASSIGN_OR_RETURN(const Grid kernel, parse_grid(kernel_json, kConvolve, "kernel", interrupted));
  const auto threads = engine_of(context).settings().threads();
  if (!threads.ok()) return named_argument_error(kConvolve, threads.error());
  const auto result = convolve(grid, {&kernel, 1}, threads.value(), interrupted);
  if (result.ok()) return return_grid(context, result.value(), kConvolve, interrupted);
  return named_argument_error(kConvolve, result.error());
}

}  // namespace

// INNOCUOUS and DETERMINISTIC, because the result depends on nothing but the arguments. RESULT_SUBTYPE,
// because the result is marked as JSON.
constexpr SqlObject kGloveConvolve = scalar_function<glove_convolve>(
    "glove_convolve", 2, 2, SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS | SQLITE_RESULT_SUBTYPE);

}  // namespace glove::sql
