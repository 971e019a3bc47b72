// What an opcode with its modifiers means.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "ptx/program.h"

namespace glove::verify {

// Fills everything but guard, operands, targets and site. An opcode or a modifier that is not known makes the
// instruction kUnsupported, with the reason.
Instruction decode(std::string_view opcode);

// ".u32" or "u32"; kNone if it is no type.
Type type_of(std::string_view name);

// What the verifier knows of PTX's opcodes, modifiers and special registers.
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

// Whether an instruction has the operands that its form wants.
// Makes an instruction kUnsupported, with the reason, that has too few or too many results or operands,
// lacks an address or writes to anything but registers. The rest of the verifier reads the operands of a form
// without looking whether they are there.
void check_counts(Instruction& in);

// Returns false if ptxas would refuse the instruction because a register is a predicate and should not be, or
// the reverse. The rest of the verifier depends on it. Widths and kinds of numbers are not checked.
bool has_right_classes(const Instruction& in, std::span<const Register> registers);

}  // namespace glove::verify
