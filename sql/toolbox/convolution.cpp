#include "sql/toolbox/convolution.h"

#include <string>

#include "analysis/convolve.h"
#include "analysis/takeover.h"
#include "sql/values/toolbox_inputs.h"

namespace glove::sql {
namespace {

// From 0.1 s of work for a core with AVX-512 to a second for one with SSE. Copying a grid to a device and
// back takes some milliseconds.
constexpr double kDeviceProducts = 4e9;

}  // namespace

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
