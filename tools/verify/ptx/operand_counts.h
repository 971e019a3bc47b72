// Whether an instruction has as many operands as its form takes.
#pragma once

#include "ptx/program.h"

namespace glove::verify {

// Makes an instruction kUnsupported, with the reason, that has too few or too many results or operands,
// lacks an address or writes to anything but registers. The rest of the verifier reads the operands of a form
// without looking whether they are there.
void check_counts(Instruction& in);

}  // namespace glove::verify
