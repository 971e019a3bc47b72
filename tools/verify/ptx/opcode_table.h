// The opcodes of PTX that the verifier knows, without their modifiers, and its special registers.
#pragma once

#include <string_view>

#include "ptx/program.h"

namespace glove::verify {

// Opcodes of one family have the same kinds of modifiers.
enum class Family {
  kArithmetic,
  kComparison,
  kMemory,
  kAtomic,
  kBarrier,
  kWarp,
  kFence,
  kMatrix,
  kWgmma,
  kCopy,
  kPlain
};

// One opcode: what it does and which modifiers it can have.
struct OpcodeEntry {
  std::string_view name;
  Op op;
  Family family;
};

// Returns a null pointer for an opcode that is not known.
const OpcodeEntry* find_opcode(std::string_view name);

// "%tid.x" and the like; kUnknown for one that is not known.
Special find_special(std::string_view name);

}  // namespace glove::verify
