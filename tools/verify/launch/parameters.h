// Whether a launch fits the kernels that it is for.
#pragma once

#include <string>

#include "launch/spec_file.h"
#include "ptx/program.h"

namespace glove::verify {

// Whether the launch is one of this kernel. REQUIRES: launch.kernel is a regular expression.
bool is_launch_of(const Launch& launch, const Kernel& kernel);

// What is wrong with the offsets of the launch's own parameters for this kernel, or nothing. path: of the
// launch file.
std::string own_parameter_error(const Launch& launch, const Kernel& kernel, const std::string& path);

// What is wrong with the parameters that launches share, or nothing: one is wrong if no kernel that the file
// launches has it, as kernels with fewer parameters may stand beside others. Nothing is known if the kernel
// of a launch is not in this module.
std::string shared_parameter_error(const SpecFile& spec, const Module& module, const std::string& path);

}  // namespace glove::verify
