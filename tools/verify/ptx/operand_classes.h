// Whether an instruction has predicates where predicates belong, and only there.
#pragma once

#include <span>

#include "ptx/program.h"

namespace glove::verify {

// Returns false if ptxas would refuse the instruction because a register is a predicate and should not be, or
// the reverse. The rest of the verifier depends on it. Widths and kinds of numbers are not checked.
bool has_right_classes(const Instruction& in, std::span<const Register> registers);

}  // namespace glove::verify
