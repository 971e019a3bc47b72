// The public functions, over the parts of the verifier.
#include "glove_verify/verify.h"

#include <utility>

#include "launch/launch_file.h"
#include "ptx/parser.h"
#include "run/verify_kernel.h"

namespace glove::verify {

Module::Module(Program program) : program_(std::make_shared<const Program>(std::move(program))) {
  for (const Kernel& kernel : program_->kernels)
    kernels_.push_back(
        {kernel.name, kernel.max_threads, kernel.exact_threads, kernel.shared_bytes, kernel.code.size()});
}

Result<Module> parse(std::string_view ptx, const std::string& file) {
  Result<Program> program = parse_program(ptx, file);
  if (!program.ok()) return program.error();
  program.value().path = file;
  return Module(std::move(program.value()));
}

Result<std::vector<Launch>> read_launches(const std::string& path, const Module& module) {
  Result<std::vector<Launch>> launches = read_spec(path);
  if (!launches.ok()) return launches;
  if (const Status status = check_shared_parameters(launches.value(), module.program()); !status.ok())
    return status.error();
  const Marks marks(module.program());
  for (Launch& launch : launches.value()) {
    const auto kernels = kernels_of(launch, module);
    if (!kernels.ok()) return kernels.error();
    if (kernels.value().empty()) continue;  // it is for another file
    if (const Status status = marks.place(&launch); !status.ok()) return status.error();
  }
  return launches;
}

Result<std::vector<size_t>> kernels_of(const Launch& launch, const Module& module) {
  return matching_kernels(launch, module.program());
}

Result<Verdict> verify(const Module& module, size_t kernel, const Launch& launch, const Options& options) {
  const Kernel& code = module.program().kernels[kernel];
  Launch with_block = launch;
  if (launch.block[0] == 0) with_block.block = code.max_threads;
  if (const Status status = check_launch(launch, with_block.block, code); !status.ok()) return status.error();
  return verify_kernel(code, with_block, options);
}

}  // namespace glove::verify
