// What an opcode with its modifiers means, and whether an instruction has the operands that it must have.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/program.h"

namespace glove::verify {

// From `least` to `most` operands.
struct OperandCount {
  int least = 0;
  int most = 1000;  // any number

  constexpr OperandCount() = default;
  constexpr OperandCount(int count) : least(count), most(count) {}
  constexpr OperandCount(int from, int to) : least(from), most(to) {}
  bool holds(size_t count) const {
    return static_cast<size_t>(least) <= count && count <= static_cast<size_t>(most);
  }
};

// Which results and operands of an instruction are predicates, where the others are numbers.
enum class OperandClasses : uint8_t {
  kEither,    // the modifiers say it, or nobody looks
  kOfType,    // all, if the type is .pred
  kCompares,  // all results, and the operands behind the second
  kTests,     // all results
  kSelects,   // the operands behind the second
  kVotes,     // the first operand; results are not checked
  kShuffles,  // the results behind the first
};

// What an instruction must have behind its opcode.
struct OperandForm {
  OperandCount results;
  OperandCount operands;
  OperandClasses classes = OperandClasses::kEither;
  OperandCount groups = {};  // operands as they are written, where {a, b} is one, and the address another
};

// An opcode, and what must stand behind it.
struct DecodedOpcode {
  Instruction in;
  OperandForm form;
};

// Fills everything but the guard, operands, targets and site. An opcode or a modifier that is not known makes
// the instruction kUnsupported, with the reason.
DecodedOpcode decode(std::string_view opcode);

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
  kMbarrier,
  kAddress,
  kCluster
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
// What must stand behind an opcode whose modifiers have made it another operation; anything if it is not
// known.
OperandForm form_made_by_modifiers(Op op);

// Makes the instruction kUnsupported. The first reason stays.
void reject(Instruction& in, std::string reason);

// The name and the modifiers of an opcode.
using OpcodeParts = std::vector<std::string_view>;
bool has(const OpcodeParts& parts, std::string_view word);
// Sets the last space among the modifiers. Returns whether there is one.
bool find_space(Instruction& out, Family family, const OpcodeParts& parts);
// wmma.load and wmma.store, mbarriers, and copies.
void decode_tile(Instruction& out, const OpcodeParts& parts);
void decode_mbarrier(Instruction& out, const OpcodeParts& parts);
void decode_copy(Instruction& out, const OpcodeParts& parts);

// "%tid.x" and the like; kUnknown for one that is not known.
Special find_special(std::string_view name);

// Makes an instruction kUnsupported, with the reason, that has too few or too many results or operands,
// lacks an address or writes to anything but registers. The rest of the verifier reads the operands of a form
// without looking whether they are there.
void check_counts(DecodedOpcode& decoded, uint32_t groups);

// Returns false if ptxas would refuse the instruction because a register is a predicate and should not be, or
// the reverse. The rest of the verifier depends on it. Widths and kinds of numbers are not checked.
bool has_right_classes(const DecodedOpcode& decoded, std::span<const Register> registers);

}  // namespace glove::verify
