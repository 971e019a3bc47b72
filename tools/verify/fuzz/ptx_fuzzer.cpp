// Any text as PTX must parse, or end in an error with a message; kernels that parse must be sliced and
// verified to a verdict, two blocks of 32 threads each.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "glove_verify/verify.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto module = glove::verify::parse(text, "input.ptx");
  if (!module.ok()) {
    if (module.error().message.empty()) std::abort();
    return 0;
  }
  glove::verify::Launch launch;
  launch.block = {32, 1, 1};
  launch.grid = {2, 1, 1};
  glove::verify::Options options;
  options.most_steps = 500;  // and no limit of time that a busy machine reaches: one input takes one way
  for (size_t kernel = 0; kernel < module.value().kernels().size(); ++kernel) {
    const auto verdict = glove::verify::verify(module.value(), kernel, launch, options);
    if (!verdict.ok()) {
      if (verdict.error().message.empty()) std::abort();
      continue;
    }
    if (verdict.value().exit_code() < 0 || verdict.value().exit_code() > 3) std::abort();
  }
  return 0;
}
