// Any text as PTX must parse, or end in an error with a line and a message; kernels that parse must be sliced
// and verified to a verdict, two blocks of 32 threads each.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "ptx/parser.h"
#include "run/verify.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  glove::verify::ParseError error;
  const auto module = glove::verify::parse(text, &error);
  if (!module) {
    if (error.message.empty() || error.line < 0) std::abort();
    return 0;
  }
  glove::verify::Launch launch;
  launch.block = {32, 1, 1};
  launch.grid = {2, 1, 1};
  glove::verify::Options options;
  options.most_steps = 500;  // and no limit of time that a busy machine reaches: one input takes one way
  for (const auto& kernel : module->kernels) {
    const auto verdict = glove::verify::verify(kernel, launch, options);
    if (verdict.exit_code() < 0 || verdict.exit_code() > 3) std::abort();
  }
  return 0;
}
