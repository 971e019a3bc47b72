// PTX text to kernels.
#pragma once

#include <string>
#include <string_view>

#include "glove_verify/status.h"
#include "ptx/program.h"

namespace glove::verify {

// Everything that nvcc emits for compute capability 5.0 to 12.x. Device functions that are not inlined are
// skipped; calls of them become kUnsupported. file: how an error names the text.
Result<Program> parse_program(std::string_view source, const std::string& file);

}  // namespace glove::verify
