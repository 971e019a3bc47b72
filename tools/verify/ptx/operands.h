// Whether an instruction has the operands that its form wants.
#pragma once

#include <span>

#include "ptx/program.h"

namespace glove::verify {

// Makes an instruction kUnsupported, with the reason, that has too few or too many results or operands,
// lacks an address or writes to anything but registers. The rest of the verifier reads the operands of a form
// without looking whether they are there.
void check_counts(Instruction& in);

// Returns false if ptxas would refuse the instruction because a register is a predicate and should not be, or
// the reverse. The rest of the verifier depends on it. Widths and kinds of numbers are not checked.
bool has_right_classes(const Instruction& in, std::span<const Register> registers);

}  // namespace glove::verify
