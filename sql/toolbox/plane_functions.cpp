#include "sql/toolbox/plane_functions.h"

#include <cmath>
#include <string>

#include "analysis/convolve.h"
#include "analysis/takeover.h"
#include "sql/adapter/arguments.h"
#include "sql/values/toolbox_inputs.h"

namespace glove::sql {
namespace {

// From 0.1 s of work for a core with AVX-512 to a second for one with SSE. Copying a grid to a device and
// back takes some milliseconds.
constexpr double kDeviceProducts = 4e9;

}  // namespace

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

Result<Grid> convolve_somewhere(Engine& engine, std::string_view object, const Grid& grid,
                                std::span<const Grid> kernels, const InterruptCheck& interrupted) {
  AnalysisBackends backends = {engine.backends().all().back().get(), nullptr};  // the CPU's is the last
  if (convolution_products(grid, kernels) >= kDeviceProducts) {
    GLOVE_ASSIGN_OR_RETURN(backends, analysis_backends(engine, object, nullptr));
  }
  std::string backend;
  return with_takeover(engine, backends, "convolve a grid", backend,
                       [&](Analysis& analysis) { return analysis.convolve(grid, kernels, interrupted); });
}

}  // namespace glove::sql
