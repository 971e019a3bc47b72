// What the verifier knows of PTX's opcodes, modifiers and special registers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ptx/program.h"

namespace glove::verify {

// Opcodes of one family have the same modifiers. kPlain: all modifiers are ignored; kMatrix, kWgmma, kCopy
// and kAddress: their modifiers depend on each other (opcode.cpp).
enum class Family : uint8_t {
  kPlain,
  kArithmetic,
  kComparison,
  kMemory,
  kAtomic,
  kBarrier,
  kWarp,
  kShuffle,
  kFence,
  kMatrix,
  kWgmma,
  kCopy,
  kAddress
};

// OperandCount::most if it is the number of elements of a vector (.v2, .x4).
constexpr int kVector = 2000;

// An opcode without its modifiers, or several that the verifier does not distinguish. Modifiers may change
// `op` and the form (opcode.cpp).
struct OpcodeEntry {
  std::string_view names;
  Op op;
  Family family;
  OperandForm form = {};
};

// A word behind an opcode's name. `set` is null if it changes nothing that the verifier looks at.
struct Modifier {
  std::string_view words;  // one or more with the same effect
  uint32_t families;       // a bit for each
  void (*set)(Instruction& in, std::string_view word);
};

// Each returns a null pointer for a name that is not known.
const OpcodeEntry* find_opcode(std::string_view name);
const Modifier* find_modifier(std::string_view word, Family family);

// Makes the instruction kUnsupported. The first reason stays.
void reject(Instruction& in, std::string reason);

// "%tid.x" and the like; kUnknown for one that is not known.
Special find_special(std::string_view name);

}  // namespace glove::verify
