// PTX text to kernels.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ptx/program.h"

namespace glove::verify {

struct ParseError {
  int line = 0;
  std::string message;
};

// Everything that nvcc emits for compute capability 5.0 to 12.x. Device functions that are not inlined are
// skipped; calls of them become kUnsupported. Sets `error` and returns nothing for text that is no PTX.
std::optional<Module> parse(std::string_view source, ParseError* error);

}  // namespace glove::verify
