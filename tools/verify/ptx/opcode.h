// What an opcode with its modifiers means.
#pragma once

#include <string_view>

#include "ptx/program.h"

namespace glove::verify {

// Fills everything but guard, operands, targets and site. An opcode or a modifier that is not known makes the
// instruction kUnsupported, with the reason.
Instruction decode(std::string_view opcode);

// ".u32" or "u32"; kNone if it is no type.
Type type_of(std::string_view name);

}  // namespace glove::verify
