// Whether a launch fits the kernels that it is for.
#pragma once

#include <vector>

#include "glove_verify/launch.h"
#include "glove_verify/status.h"
#include "ptx/program.h"

namespace glove::verify {

// The kernels that a launch is for, by their places. An error if launch.kernel is no regular expression.
Result<std::vector<size_t>> matching_kernels(const Launch& launch, const Program& program);

// Whether the kernel can have these blocks and has the launch's own parameters. block: of the launch, or
// what .maxntid says.
Status check_launch(const Launch& launch, const std::array<uint32_t, 3>& block, const Kernel& kernel);

// Checks the parameters that the launches of a file share: one is wrong if no kernel that the file launches
// has it, as kernels with fewer parameters may stand beside others. Nothing is known if the kernel of a
// launch is not in this program.
Status check_shared_parameters(const std::vector<Launch>& launches, const Program& program);

}  // namespace glove::verify
