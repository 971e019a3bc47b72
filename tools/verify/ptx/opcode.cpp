#include "ptx/opcode.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <unordered_map>

#include "ptx/opcode_table.h"

namespace glove::verify {
namespace {

using Parts = std::vector<std::string_view>;

Parts split(std::string_view text) {
  Parts parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('.', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

bool one_of(std::string_view part, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), part) != words.end();
}

void reject(Instruction& out, std::string reason) {
  out.op = Op::kUnsupported;
  if (out.reason.empty()) out.reason = std::move(reason);
}

// Modifiers that change digits of a result, or nothing at all; never which memory or thread is concerned.
bool is_arithmetic_detail(std::string_view part) {
  return one_of(part, {"rn",     "rz",   "rm",   "rp",  "rna",      "rs",  "ftz",   "sat",
                       "approx", "full", "relu", "NaN", "xorsign",  "abs", "noftz", "satfinite",
                       "oob",    "rni",  "rmi",  "rpi", "shiftamt", "pack"});
}

bool works_on_predicates(Op op) {
  return op == Op::kMove || op == Op::kAnd || op == Op::kOr || op == Op::kXor || op == Op::kNot;
}

void arithmetic(Instruction& out, const Parts& parts) {
  for (size_t i = 1; i < parts.size(); ++i) {
    const auto part = parts[i];
    if (const Type type = type_of(part); type != Type::kNone) {
      (out.type == Type::kNone ? out.type : out.from) = type;
    } else if (part == "lo") {
      out.part = MulPart::kLow;
    } else if (part == "hi") {
      out.part = MulPart::kHigh;
    } else if (part == "wide") {
      out.part = MulPart::kWide;
    } else if (part == "cc") {
      // The carry is read by addc, subc and madc alone, whose results are unknown.
    } else if (part == "rzi" || (part == "shiftamt" && out.op == Op::kFindBit)) {
      out.wide = true;
    } else if (part == "sat" || part == "relu") {
      out.op = Op::kPure;
    } else if (!is_arithmetic_detail(part)) {
      return reject(out, "modifier ." + std::string(part));
    }
  }
  if (out.type == Type::kNone) return reject(out, "no type");
  if (out.from == Type::kNone) out.from = out.type;
  if ((out.type == Type::kPred || out.from == Type::kPred) && !works_on_predicates(out.op))
    return reject(out, "this operation has no form for predicates");
  if (out.part == MulPart::kWide && bits_of(out.type) > 32)
    return reject(out, "a product of more than 64 bits");
  // Packed halves, carries and what has more than 64 bits are data: nothing that steers a kernel is known
  // about them.
  if (out.type == Type::kF16x2 || out.type == Type::kB128 || out.from == Type::kB128 || out.uses_carry)
    out.op = Op::kPure;
}

void comparison(Instruction& out, const Parts& parts) {
  static const std::unordered_map<std::string_view, std::pair<Compare, bool>> kNames = {
      {"eq", {Compare::kEq, false}}, {"ne", {Compare::kNe, false}},      {"lt", {Compare::kLt, false}},
      {"le", {Compare::kLe, false}}, {"gt", {Compare::kGt, false}},      {"ge", {Compare::kGe, false}},
      {"lo", {Compare::kLt, false}}, {"ls", {Compare::kLe, false}},      {"hi", {Compare::kGt, false}},
      {"hs", {Compare::kGe, false}}, {"equ", {Compare::kEq, true}},      {"neu", {Compare::kNe, true}},
      {"ltu", {Compare::kLt, true}}, {"leu", {Compare::kLe, true}},      {"gtu", {Compare::kGt, true}},
      {"geu", {Compare::kGe, true}}, {"num", {Compare::kNumber, false}}, {"nan", {Compare::kNan, false}}};
  for (size_t i = 1; i < parts.size(); ++i) {
    const auto part = parts[i];
    if (const auto found = kNames.find(part); found != kNames.end()) {
      out.compare = found->second.first;
      out.unordered = found->second.second;
    } else if (part == "and" || part == "or" || part == "xor") {
      out.combine = part == "and" ? '&' : part == "or" ? '|' : '^';
    } else if (const Type type = type_of(part); type != Type::kNone) {
      (out.type == Type::kNone ? out.type : out.from) = type;
    } else if (part != "ftz") {
      return reject(out, "modifier ." + std::string(part));
    }
  }
  if (out.type == Type::kNone || out.type == Type::kPred) return reject(out, "no type of numbers");
  if (out.op == Op::kSetPredicate) out.from = out.type;
  if (out.op == Op::kSet || out.from == Type::kF16x2 || out.from == Type::kB128) out.op = Op::kPure;
}

bool space_modifier(Instruction& out, std::string_view part) {
  if (part == "shared" || part == "shared::cta")
    out.space = Space::kShared;
  else if (part == "global")
    out.space = Space::kGlobal;
  else if (part == "local")
    out.space = Space::kLocal;
  else if (part == "const")
    out.space = Space::kConst;
  else if (part == "param" || part == "param::entry")
    out.space = Space::kParam;
  else
    return false;
  return true;
}

bool order_modifier(Instruction& out, std::string_view part) {
  if (part == "volatile")
    out.is_volatile = true;
  else if (part == "relaxed" || part == "mmio")
    out.strong = true;
  else if (part == "acquire")
    out.strong = out.acquire = true;
  else if (part == "release")
    out.strong = out.release = true;
  else if (part == "acq_rel")
    out.strong = out.acquire = out.release = true;
  else if (part == "cta")
    out.fence = FenceScope::kBlock;
  else if (part == "gpu" || part == "sys" || part == "gl" || part == "cluster")
    out.fence = FenceScope::kDevice;
  else
    return part == "weak";
  return true;
}

bool is_cache_hint(std::string_view part) {
  return one_of(part, {"ca", "cg", "cs", "lu", "cv", "wb", "wt", "cop", "L2::cache_hint", "unified"}) ||
         part.substr(0, 3) == "L1:" || part.substr(0, 3) == "L2:";
}

void memory(Instruction& out, const Parts& parts) {
  for (size_t i = 1; i < parts.size(); ++i) {
    const auto part = parts[i];
    if (const Type type = type_of(part); type != Type::kNone) {
      out.type = type;
    } else if (part == "v2" || part == "v4" || part == "v8") {
      out.vector = static_cast<uint8_t>(part[1] - '0');
    } else if (part == "nc") {
      out.read_only = true;
    } else if (!space_modifier(out, part) && !order_modifier(out, part) && !is_cache_hint(part)) {
      return reject(out, "modifier ." + std::string(part));
    }
  }
  if (out.type == Type::kNone || out.type == Type::kPred) reject(out, "no type of numbers");
}

void atomic(Instruction& out, const Parts& parts) {
  static const std::unordered_map<std::string_view, AtomicOp> kNames = {
      {"add", AtomicOp::kAdd}, {"inc", AtomicOp::kInc}, {"dec", AtomicOp::kDec},
      {"min", AtomicOp::kMin}, {"max", AtomicOp::kMax}, {"and", AtomicOp::kAnd},
      {"or", AtomicOp::kOr},   {"xor", AtomicOp::kXor}, {"exch", AtomicOp::kExchange},
      {"cas", AtomicOp::kCas}};
  out.strong = true;
  out.fence = FenceScope::kDevice;
  for (size_t i = 1; i < parts.size(); ++i) {
    const auto part = parts[i];
    if (const auto found = kNames.find(part); found != kNames.end()) {
      out.atomic = found->second;
    } else if (const Type type = type_of(part); type != Type::kNone) {
      out.type = type;
    } else if (part == "v2" || part == "v4" || part == "v8") {
      out.vector = static_cast<uint8_t>(part[1] - '0');
    } else if (part == "async" || part == "shared::cluster") {
      return reject(out, "asynchronous or cluster-wide atomics are not modelled");
    } else if (!space_modifier(out, part) && !order_modifier(out, part) && !is_cache_hint(part) &&
               part != "noftz") {
      return reject(out, "modifier ." + std::string(part));
    }
  }
  if (out.type == Type::kNone || out.type == Type::kPred) reject(out, "no type of numbers");
}

void barrier(Instruction& out, const Parts& parts) {
  bool has_kind = false;
  out.aligned = parts[0] == "bar";
  for (size_t i = 1; i < parts.size(); ++i) {
    const auto part = parts[i];
    if (part == "warp") {
      out.op = Op::kWarpBarrier;
    } else if (part == "sync" || part == "arrive" || part == "red") {
      out.barrier = part == "sync"     ? BarrierOp::kSync
                    : part == "arrive" ? BarrierOp::kArrive
                                       : BarrierOp::kReduce;
      has_kind = true;
    } else if (part == "aligned") {
      out.aligned = true;
    } else if (part == "cluster") {
      return reject(out, "cluster barriers are not modelled");
    } else if (const Type type = type_of(part); type != Type::kNone) {
      out.type = type;
    } else if (!one_of(part, {"cta", "popc", "and", "or"})) {
      return reject(out, "modifier ." + std::string(part));
    }
  }
  if (!has_kind) reject(out, "a barrier of an unknown kind");
}

void warp_exchange(Instruction& out, const Parts& parts) {
  for (size_t i = 1; i < parts.size(); ++i) {
    const auto part = parts[i];
    if (const Type type = type_of(part); type != Type::kNone) {
      out.type = type;
    } else if (out.op == Op::kShuffle && one_of(part, {"up", "down", "bfly", "idx"})) {
      out.shuffle = static_cast<ShuffleKind>(part[0]);
    } else if (one_of(part, {"all", "any", "uni", "ballot"})) {
      out.vote = part == "all"   ? VoteKind::kAll
                 : part == "any" ? VoteKind::kAny
                 : part == "uni" ? VoteKind::kUniform
                                 : VoteKind::kBallot;
    } else if (part == "sync") {
      out.strong = true;  // names the lanes that take part
    } else if (!one_of(part, {"add", "min", "max", "and", "or", "xor", "abs", "NaN"})) {
      return reject(out, "modifier ." + std::string(part));
    }
  }
  if (out.type == Type::kPred && out.op != Op::kVote)
    reject(out, "this operation has no form for predicates");
}

void fence(Instruction& out, const Parts& parts) {
  for (size_t i = 1; i < parts.size(); ++i) {
    if (parts[i] == "proxy") {
      out.op = Op::kProxyFence;
      const bool asynchronous = i + 1 < parts.size() && parts[i + 1] == "async";
      const std::string_view space = i + 2 < parts.size() ? parts[i + 2] : "";
      if (asynchronous && (space.empty() || space.substr(0, 6) == "shared")) out.space = Space::kShared;
      return;
    }
    if (parts[i] == "mbarrier_init") return reject(out, "mbarriers are not modelled");
    if (!order_modifier(out, parts[i]) && parts[i] != "sc")
      return reject(out, "modifier ." + std::string(parts[i]));
    out.sequential |= parts[i] == "sc";
  }
  out.sequential |= parts[0] == "membar";
  // A fence that only acquires or only releases is a part of one; as none at all it is on the safe side.
  if (out.acquire != out.release) out.fence = FenceScope::kNone;
  if (out.fence == FenceScope::kNone && parts[0] == "fence" && parts.size() < 3) reject(out, "no scope");
}

void matrix(Instruction& out, const Parts& parts) {
  const auto has = [&](std::string_view word) {
    return std::find(parts.begin(), parts.end(), word) != parts.end();
  };
  if (parts[0] == "wmma" && !has("mma")) return reject(out, "wmma.load and wmma.store are not modelled");
  for (const auto part : parts)
    if (part == "x1" || part == "x2" || part == "x4") out.vector = static_cast<uint8_t>(part[1] - '0');
  if (parts[0] == "ldmatrix" || parts[0] == "stmatrix") {
    if (!has("m8n8")) return reject(out, "only the shape m8n8 is modelled");
    for (const auto part : parts) space_modifier(out, part);
  }
}

void wgmma(Instruction& out, const Parts& parts) {
  const std::string_view kind = parts.size() > 1 ? parts[1] : "";
  for (const auto part : parts) {
    if (part == "sp") return reject(out, "products of sparse matrices are not modelled");
    const size_t n = part.substr(0, 3) == "m64" ? part.find('n') : std::string_view::npos;
    if (n == std::string_view::npos) continue;
    int columns = 0;
    for (size_t i = n + 1; i < part.size() && part[i] >= '0' && part[i] <= '9' && columns < 1000; ++i)
      columns = columns * 10 + (part[i] - '0');
    if (columns < 8 || columns > 256 || columns % 8 != 0) return reject(out, "an unknown shape of wgmma");
    out.vector = static_cast<uint8_t>(columns / 8);
  }
  if (kind == "fence")
    out.op = Op::kWgmmaFence;
  else if (kind == "mma_async")
    out.op = Op::kWgmma;
  else if (kind == "commit_group")
    out.op = Op::kWgmmaCommit;
  else if (kind == "wait_group")
    out.op = Op::kWgmmaWait;
  else
    reject(out, "an unknown form of wgmma");
}

void copy(Instruction& out, const Parts& parts) {
  const auto has = [&](std::string_view word) {
    return std::find(parts.begin(), parts.end(), word) != parts.end();
  };
  if (has("bulk") || parts.size() < 3 || parts[1] != "async")
    return reject(out, "bulk copies and copies of tensors (TMA) are not modelled");
  if (has("mbarrier")) return reject(out, "copies that arrive at an mbarrier are not modelled");
  if (parts[2] == "commit_group" || parts[2] == "wait_group" || parts[2] == "wait_all") {
    out.op = parts[2] == "commit_group" ? Op::kCopyCommit : Op::kCopyWait;
    out.wide = parts[2] == "wait_all";
    return;
  }
  const bool from_global = parts.size() > 4 && parts[4] == "global";
  if (!from_global || !(parts[3] == "shared" || parts[3] == "shared::cta"))
    return reject(out, "only copies from global memory to the block's shared memory are modelled");
  out.space = Space::kShared;
  for (size_t i = 2; i < parts.size(); ++i)
    if (i != 3 && i != 4 && !is_cache_hint(parts[i]))
      return reject(out, "modifier ." + std::string(parts[i]));
}

void decode_modifiers(Instruction& out, Family family, const Parts& parts) {
  switch (family) {
    case Family::kArithmetic:
      return arithmetic(out, parts);
    case Family::kComparison:
      return comparison(out, parts);
    case Family::kMemory:
      return memory(out, parts);
    case Family::kAtomic:
      return atomic(out, parts);
    case Family::kBarrier:
      return barrier(out, parts);
    case Family::kWarp:
      return warp_exchange(out, parts);
    case Family::kFence:
      return fence(out, parts);
    case Family::kMatrix:
      return matrix(out, parts);
    case Family::kWgmma:
      return wgmma(out, parts);
    case Family::kCopy:
      return copy(out, parts);
    case Family::kPlain:
      break;
  }
  if (out.op == Op::kConvertAddress || out.op == Op::kIsSpace) {
    out.wide = parts.size() > 1 && parts[1] == "to";  // from generic to the space
    bool known = false;
    for (const auto part : parts) known |= space_modifier(out, part);
    if (!known) reject(out, "an address space that is not modelled");
  }
}

}  // namespace

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

Instruction decode(std::string_view opcode) {
  Instruction out;
  out.text = opcode;
  const Parts parts = split(opcode);
  const OpcodeEntry* const found = find_opcode(parts[0]);
  if (found == nullptr) {
    reject(out, "an unknown instruction");
    return out;
  }
  out.op = found->op;
  out.uses_carry = parts[0] == "addc" || parts[0] == "subc" || parts[0] == "madc";
  decode_modifiers(out, found->family, parts);
  return out;
}

unsigned bits_of(Type type) {
  switch (type) {
    case Type::kNone:
      return 0;
    case Type::kPred:
      return 1;
    case Type::kB8:
    case Type::kU8:
    case Type::kS8:
      return 8;
    case Type::kB16:
    case Type::kU16:
    case Type::kS16:
    case Type::kF16:
      return 16;
    case Type::kB32:
    case Type::kU32:
    case Type::kS32:
    case Type::kF32:
    case Type::kF16x2:
      return 32;
    case Type::kB64:
    case Type::kU64:
    case Type::kS64:
    case Type::kF64:
      return 64;
    case Type::kB128:
      return 128;
  }
  return 0;
}

bool is_signed(Type type) {
  return type == Type::kS8 || type == Type::kS16 || type == Type::kS32 || type == Type::kS64;
}

bool is_float(Type type) {
  return type == Type::kF16 || type == Type::kF16x2 || type == Type::kF32 || type == Type::kF64;
}

}  // namespace glove::verify
