#include "ptx/opcode.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string>
#include <unordered_map>

namespace glove::verify {
namespace {

using Parts = OpcodeParts;

Parts split(std::string_view text) {
  Parts parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('.', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// Modifiers that each have their own meaning. The first type is that of the operation.
void independent(Instruction& out, Family family, const Parts& parts, size_t end) {
  const bool two_types = family == Family::kArithmetic || family == Family::kComparison;
  for (size_t i = 1; i < end && out.op != Op::kUnsupported; ++i) {
    const Type type = family == Family::kFence ? Type::kNone : type_of(parts[i]);
    if (type != Type::kNone) {
      (two_types && out.type != Type::kNone ? out.from : out.type) = type;
      continue;
    }
    const Modifier* const modifier = find_modifier(parts[i], family);
    if (modifier == nullptr) return reject(out, "modifier ." + std::string(parts[i]));
    if (modifier->set != nullptr) modifier->set(out, parts[i]);
  }
}

void arithmetic(Instruction& out, std::string_view name) {
  if (out.type == Type::kNone) return reject(out, "no type");
  if (out.from == Type::kNone) out.from = out.type;
  constexpr OpSet kOfPredicates = {Op::kMove, Op::kAnd, Op::kOr, Op::kXor, Op::kNot};
  if ((out.type == Type::kPred || out.from == Type::kPred) && !kOfPredicates.has(out.op))
    return reject(out, "this operation has no form for predicates");
  if (out.part == MulPart::kWide && bits_of(out.type) > 32)
    return reject(out, "a product of more than 64 bits");
  // Packed halves, carries and what has more than 64 bits are data: nothing that steers a kernel is known
  // about them.
  if (out.type == Type::kF16x2 || out.type == Type::kB128 || out.from == Type::kB128 || name == "addc" ||
      name == "subc" || name == "madc")
    out.op = Op::kPure;
}

void comparison(Instruction& out) {
  if (out.type == Type::kNone || out.type == Type::kPred) return reject(out, "no type of numbers");
  if (out.op == Op::kSetPredicate) out.from = out.type;
  if (out.op == Op::kSet || out.from == Type::kF16x2 || out.from == Type::kB128) out.op = Op::kPure;
}

void fence(Instruction& out, const Parts& parts) {
  out.order.sequential |= parts[0] == "membar";
  if (out.op == Op::kProxyFence) return;
  if (out.order.scope == FenceScope::kNone && parts[0] == "fence" && parts.size() < 3)
    reject(out, "no scope");
}

// fence.proxy.KIND.SPACE; `at` is the place of "proxy".
void proxy_fence(Instruction& out, const Parts& parts, size_t at) {
  out.op = Op::kProxyFence;
  const bool asynchronous = at + 1 < parts.size() && parts[at + 1] == "async";
  const std::string_view space = at + 2 < parts.size() ? parts[at + 2] : "";
  if (asynchronous && (space.empty() || space.substr(0, 6) == "shared")) out.space = Space::kShared;
}

// barrier.cluster.arrive{.release, .relaxed}{.aligned} and barrier.cluster.wait{.acquire}{.aligned}, and the
// barriers of a block or warp, which have none of these.
void barrier(Instruction& out, const Parts& parts) {
  const bool arrives = has(parts, "arrive"), waits = has(parts, "wait");
  const bool of_block = has(parts, "sync") || has(parts, "red");
  const bool ordered = has(parts, "acquire") || has(parts, "release") || has(parts, "relaxed");
  if (out.op == Op::kClusterBarrier) {
    const bool fits = arrives ? !has(parts, "acquire") : !has(parts, "release") && !has(parts, "relaxed");
    if (of_block || arrives == waits || !fits) reject(out, "a barrier of an unknown kind");
  } else if (waits || ordered || (!of_block && !arrives)) {
    reject(out, "a barrier of an unknown kind");
  }
}

void matrix(Instruction& out, const Parts& parts) {
  if (parts[0] == "wmma" && !has(parts, "mma")) return decode_tile(out, parts);
  for (const auto part : parts)
    if (part == "x1" || part == "x2" || part == "x4") out.vector = static_cast<uint8_t>(part[1] - '0');
  if (parts[0] == "ldmatrix" || parts[0] == "stmatrix") {
    if (!has(parts, "m8n8")) return reject(out, "only the shape m8n8 is modelled");
    find_space(out, Family::kMatrix, parts);
  }
}

void wgmma(Instruction& out, const Parts& parts) {
  const std::string_view kind = parts.size() > 1 ? parts[1] : "";
  for (const auto part : parts) {
    if (part == "sp") return reject(out, "products of sparse matrices are not modelled");
    const size_t n = part.substr(0, 3) == "m64" ? part.find('n') : std::string_view::npos;
    if (n == std::string_view::npos) continue;
    int columns = 0;
    std::from_chars(part.data() + n + 1, part.data() + part.size(), columns);
    if (columns < 8 || columns > 256 || columns % 8 != 0) return reject(out, "an unknown shape of wgmma");
    out.vector = static_cast<uint8_t>(columns / 8);
  }
  using Form = std::pair<std::string_view, Op>;
  constexpr Form kForms[] = {{"fence", Op::kWgmmaFence},
                             {"mma_async", Op::kWgmma},
                             {"commit_group", Op::kWgmmaCommit},
                             {"wait_group", Op::kWgmmaWait}};
  const auto found = std::ranges::find(kForms, kind, &Form::first);
  if (found == std::end(kForms)) return reject(out, "an unknown form of wgmma");
  out.op = found->second;
}

// Reads the modifiers of all families, and then what they mean together.
void decode_modifiers(Instruction& out, Family family, const Parts& parts) {
  size_t end = parts.size();
  if (family == Family::kAtomic) {
    out.order.strong = true;
    out.order.scope = FenceScope::kDevice;
  } else if (family == Family::kBarrier) {
    out.collective.aligned = parts[0] == "bar";
  } else if (family == Family::kFence) {
    end = static_cast<size_t>(std::ranges::find(parts, "proxy") - parts.begin());
  } else if (family == Family::kPlain) {
    return;
  } else if (family == Family::kMatrix) {
    return matrix(out, parts);
  } else if (family == Family::kWgmma) {
    return wgmma(out, parts);
  } else if (family == Family::kCopy) {
    return decode_copy(out, parts);
  } else if (family == Family::kMbarrier) {
    return decode_mbarrier(out, parts);
  } else if (family == Family::kAddress) {
    out.wide = parts.size() > 1 && parts[1] == "to";  // from generic to the space
    if (!find_space(out, family, parts)) reject(out, "an address space that is not modelled");
    return;
  }
  independent(out, family, parts, end);
  if (out.op == Op::kUnsupported) return;
  const bool has_number = out.type != Type::kNone && out.type != Type::kPred;
  if (family == Family::kArithmetic)
    arithmetic(out, parts[0]);
  else if (family == Family::kComparison)
    comparison(out);
  else if ((family == Family::kMemory || family == Family::kAtomic) && !has_number)
    reject(out, "no type of numbers");
  else if (family == Family::kBarrier)
    barrier(out, parts);
  else if (family == Family::kCluster && out.type != Type::kU32 && out.type != Type::kU64)
    reject(out, "no type of addresses");
  else if ((family == Family::kWarp || family == Family::kShuffle) && out.type == Type::kPred &&
           out.op != Op::kVote)
    reject(out, "this operation has no form for predicates");
  else if (family == Family::kFence && end < parts.size())
    proxy_fence(out, parts, end);
  else if (family == Family::kFence)
    fence(out, parts);
}

// The operands of an instruction whose modifiers have been read.
OperandForm form_of_opcode(const OpcodeEntry& entry, const Instruction& in) {
  using enum OperandClasses;
  if (in.collective.tile.lines != 0 && in.op == Op::kMatrixLoad) return {{1, 8}, {0, 1}, kOfType};
  if (in.collective.tile.lines != 0 && in.op == Op::kMatrixStore) return {0, {2, 9}, kOfType};
  OperandForm form = in.op == entry.op ? entry.form : form_made_by_modifiers(in.op);
  if (in.op == Op::kCopyWait && in.wide) form.operands = 0;
  if (in.op == Op::kBulkCopy && in.wide) form.operands = {1, 2};
  if (in.op != entry.op) return form;
  if (in.op == Op::kMbarrier) {
    const MbarrierOp what = in.collective.mbarrier;
    if (what == MbarrierOp::kWait) return {1, {1, 2}, kTests};
    if (what == MbarrierOp::kArrive) return {{0, 1}, {in.wide ? 1 : 0, 1}, kOfType};
    return {0, what == MbarrierOp::kInvalidate ? 0 : 1, kOfType};
  }
  if (in.op == Op::kBarrier && in.collective.barrier == BarrierOp::kArrive) form.operands = 2;
  if (in.op == Op::kBarrier && in.collective.barrier == BarrierOp::kReduce) form = {1, {2, 3}, form.classes};
  if (form.results.most == kVector) form.results.most = in.vector;
  if (form.operands.most == kVector) form.operands.most = in.vector;
  if (in.op == Op::kAtomic && in.atomic == AtomicOp::kCas) {
    form.operands = {2, 2 * in.vector};
    form.groups = 3;
  }
  const bool takes_mask =
      (entry.family == Family::kWarp || entry.family == Family::kShuffle) && in.collective.names_lanes;
  if (takes_mask || in.comparison.combine != 0)
    form.operands = {form.operands.least + 1, form.operands.most + 1};
  const bool access = entry.family == Family::kMemory || entry.family == Family::kAtomic;
  if (access && in.text.find("L2::cache_hint") != std::string::npos) {  // the last operand is a cache policy
    form.operands.most += 1;
    form.groups.most += 1;
  }
  return form;
}

// A move may pack several registers, in braces, into one, or unpack one into several.
OperandForm form_of_move(const DecodedOpcode& decoded) {
  const Instruction& in = decoded.in;
  OperandForm form = decoded.form;
  if (in.op != Op::kMove) return form;
  if (in.type == Type::kPred) {
    form.results = form.operands = 1;
  } else if (in.results.size() > 1) {
    form.operands = 1;
  } else {
    form.groups = 1;
  }
  return form;
}

bool is_result(const PtxOperand& operand) {
  return operand.kind == OperandKind::kNone || (operand.kind == OperandKind::kRegister && !operand.negated);
}

}  // namespace

void reject(Instruction& in, std::string reason) {
  in.op = Op::kUnsupported;
  if (in.reason.empty()) in.reason = std::move(reason);
}

Type type_of(std::string_view name) {
  static const std::unordered_map<std::string_view, Type> kTypes = {
      {"pred", Type::kPred},   {"b8", Type::kB8},        {"b16", Type::kB16},     {"b32", Type::kB32},
      {"b64", Type::kB64},     {"b128", Type::kB128},    {"u8", Type::kU8},       {"u16", Type::kU16},
      {"u32", Type::kU32},     {"u64", Type::kU64},      {"s8", Type::kS8},       {"s16", Type::kS16},
      {"s32", Type::kS32},     {"s64", Type::kS64},      {"f16", Type::kF16},     {"bf16", Type::kF16},
      {"f16x2", Type::kF16x2}, {"bf16x2", Type::kF16x2}, {"f32", Type::kF32},     {"f64", Type::kF64},
      {"tf32", Type::kB32},    {"e4m3x2", Type::kF16x2}, {"e5m2x2", Type::kF16x2}};
  if (!name.empty() && name[0] == '.') name.remove_prefix(1);
  const auto found = kTypes.find(name);
  return found == kTypes.end() ? Type::kNone : found->second;
}

DecodedOpcode decode(std::string_view opcode) {
  DecodedOpcode decoded;
  Instruction& out = decoded.in;
  out.text = opcode;
  const Parts parts = split(opcode);
  const OpcodeEntry* const found = find_opcode(parts[0]);
  if (found == nullptr) {
    reject(out, "an unknown instruction");
    return decoded;
  }
  out.op = found->op;
  decode_modifiers(out, found->family, parts);
  decoded.form = form_of_opcode(*found, out);
  return decoded;
}

unsigned bits_of(Type type) {
  static constexpr uint8_t kBits[] = {0, 1, 8, 16, 32, 64, 128, 8, 16, 32, 64, 8, 16, 32, 64, 16, 32, 32, 64};
  static_assert(std::size(kBits) == static_cast<size_t>(Type::kF64) + 1);
  return kBits[static_cast<size_t>(type)];
}

bool is_signed(Type type) {
  return type == Type::kS8 || type == Type::kS16 || type == Type::kS32 || type == Type::kS64;
}

bool is_float(Type type) {
  return type == Type::kF16 || type == Type::kF16x2 || type == Type::kF32 || type == Type::kF64;
}

void check_counts(DecodedOpcode& decoded, uint32_t groups) {
  const OperandForm form = form_of_move(decoded);
  Instruction& in = decoded.in;
  const bool has_place = std::ranges::all_of(in.results, is_result);
  const auto given = static_cast<size_t>(std::ranges::count_if(
      in.operands, [](const PtxOperand& operand) { return operand.kind != OperandKind::kNone; }));
  const bool enough = static_cast<size_t>(form.operands.least) <= given &&
                      in.operands.size() <= static_cast<size_t>(form.operands.most);
  constexpr OpSet kWithAddress = {Op::kLoad,        Op::kStore, Op::kAtomic,   Op::kMatrixLoad,
                                  Op::kMatrixStore, Op::kCopy,  Op::kMbarrier, Op::kBulkCopy};
  const bool lacks_address = (kWithAddress.has(in.op) && in.address.kind == OperandKind::kNone) ||
                             (in.op == Op::kBulkCopy && in.source.kind == OperandKind::kNone);
  if (form.results.holds(in.results.size()) && enough && form.groups.holds(groups) && !lacks_address &&
      has_place)
    return;
  in.reason = lacks_address ? "a form without an address"
              : !has_place  ? "a result that is not a register"
                            : "a form with " + std::to_string(in.results.size()) + " results and " +
                                 std::to_string(given) + " operands";
  in.op = Op::kUnsupported;
  decoded.form = {};
  in.results.clear();
  in.operands.clear();
  in.targets.clear();
}

bool has_right_classes(const DecodedOpcode& decoded, std::span<const Register> registers) {
  const Instruction& in = decoded.in;
  const auto is = [&](const PtxOperand& operand, bool predicate) {
    if (operand.kind == OperandKind::kNone) return true;
    if (operand.kind == OperandKind::kSpecial && operand.special == Special::kIsExplicitCluster)
      return predicate;
    if (operand.kind != OperandKind::kRegister) return !predicate || operand.kind == OperandKind::kImmediate;
    return (registers[operand.index].type == Type::kPred) == predicate;
  };
  // Whether the first `count` are predicates, if `first`, or numbers, and the others the reverse.
  const auto are = [&](const std::vector<PtxOperand>& operands, bool first, size_t count = SIZE_MAX) {
    size_t place = 0;
    return std::ranges::all_of(
        operands, [&](const PtxOperand& operand) { return is(operand, (place++ < count) == first); });
  };
  if (in.guard && (in.guard->kind != OperandKind::kRegister || !is(*in.guard, true))) return false;
  if (!is(in.address, false) || !is(in.source, false)) return false;
  const bool of_predicates = in.type == Type::kPred;
  switch (decoded.form.classes) {
    case OperandClasses::kEither:
      return true;
    case OperandClasses::kOfType:
      return are(in.results, of_predicates) && are(in.operands, of_predicates);
    case OperandClasses::kCompares:
      return are(in.results, true) && are(in.operands, false, 2);
    case OperandClasses::kTests:
      return are(in.results, true) && are(in.operands, false);
    case OperandClasses::kSelects:
      return are(in.results, false) && are(in.operands, false, 2);
    case OperandClasses::kVotes:
      return are(in.operands, true, 1);
    case OperandClasses::kShuffles:
      return are(in.results, false, 1) && are(in.operands, false);
  }
  return true;
}

}  // namespace glove::verify
