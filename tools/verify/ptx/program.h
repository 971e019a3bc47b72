// PTX as the rest of the verifier sees it: kernels of decoded instructions.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "glove_verify/finding.h"

namespace glove::verify {

// What an instruction does, as far as addresses, branches and synchronisation can depend on it.
enum class Op : uint8_t {
  kMove,
  kAdd,
  kSub,
  kMul,
  kMad,
  kFma,
  kDiv,
  kRem,
  kMin,
  kMax,
  kNeg,
  kAbs,
  kAnd,
  kOr,
  kXor,
  kNot,
  kCnot,
  kShl,
  kShr,
  kBitExtract,
  kBitInsert,
  kBitReverse,
  kPopCount,
  kCountLeadingZeros,
  kFindBit,
  kPermute,
  kLogic3,
  kSelect,
  kSet,
  kSetPredicate,
  kConvert,
  kConvertAddress,
  kMapAddress,     // mapa: the address of the same place in another block of the cluster
  kRankOfAddress,  // getctarank
  kIsSpace,
  kPure,  // the result depends on the operands alone, and nothing is known about it
  kLoad,
  kStore,
  kAtomic,
  kBranch,
  kBranchIndexed,
  kReturn,
  kTrap,
  kBarrier,  // bar, barrier: all forms but bar.warp.sync and those of clusters
  kClusterBarrier,
  kWarpBarrier,
  kShuffle,
  kVote,
  kMatch,
  kReduce,
  kActiveMask,
  kElect,
  kMatrix,  // mma.sync and relatives: the whole warp computes, no memory
  kMatrixLoad,
  kMatrixStore,
  kCopy,        // cp.async from global to shared memory, asynchronous
  kCopyCommit,  // closes the thread's group of copies
  kCopyWait,
  kFence,
  kProxyFence,
  kWgmmaFence,
  kWgmma,
  kWgmmaCommit,
  kWgmmaWait,
  kMbarrier,
  kBulkCopy,  // cp.async.bulk between global memory and the block's shared memory
  kBulkCommit,
  kBulkWait,
  kAssertFail,  // a call that does not return
  kNothing,     // also a call without effect on the kernel
  kUnsupported,
};

// A set of operations.
class OpSet {
 public:
  constexpr OpSet(std::initializer_list<Op> members) {
    for (const Op op : members) bits_[word(op)] |= bit(op);
  }
  constexpr bool has(Op op) const { return (bits_[word(op)] & bit(op)) != 0; }

 private:
  static_assert(static_cast<unsigned>(Op::kUnsupported) < 128);
  static constexpr size_t word(Op op) { return static_cast<size_t>(op) / 64; }
  static constexpr uint64_t bit(Op op) { return uint64_t{1} << static_cast<unsigned>(op) % 64; }
  uint64_t bits_[2] = {0, 0};
};

// What the lanes of a warp execute together, but for the barriers of a block.
constexpr OpSet kWarpSynchronisation = {Op::kWarpBarrier, Op::kShuffle, Op::kVote,       Op::kMatch,
                                        Op::kReduce,      Op::kElect,   Op::kMatrix,     Op::kMatrixLoad,
                                        Op::kMatrixStore, Op::kWgmma,   Op::kWgmmaFence, Op::kWgmmaCommit,
                                        Op::kWgmmaWait};
// mbarriers, and what arrives at them or goes on beside them.
constexpr OpSet kOfMbarriers = {Op::kMbarrier, Op::kBulkCopy, Op::kBulkCommit, Op::kBulkWait};
// Sums, products and quotients.
constexpr OpSet kSums = {Op::kAdd, Op::kSub, Op::kMul, Op::kMad, Op::kFma, Op::kDiv};
// What ends a thread.
constexpr OpSet kEnds = {Op::kReturn, Op::kTrap, Op::kAssertFail};

// Types of registers and operations. Floats of 8 bits and the like count as packed halves.
enum class Type : uint8_t {
  kNone,
  kPred,
  kB8,
  kB16,
  kB32,
  kB64,
  kB128,
  kU8,
  kU16,
  kU32,
  kU64,
  kS8,
  kS16,
  kS32,
  kS64,
  kF16,
  kF16x2,
  kF32,
  kF64,
};

unsigned bits_of(Type type);  // 1 for a predicate, 0 for kNone
bool is_signed(Type type);
bool is_float(Type type);

// State spaces, and the parts of an opcode that change what it does.
enum class Space : uint8_t { kGeneric, kParam, kShared, kGlobal, kLocal, kConst };
enum class Compare : uint8_t { kEq, kNe, kLt, kLe, kGt, kGe, kNumber, kNan };
enum class AtomicOp : uint8_t { kAdd, kInc, kDec, kMin, kMax, kAnd, kOr, kXor, kExchange, kCas };
enum class MbarrierOp : uint8_t { kInit, kInvalidate, kArrive, kExpect, kWait };
enum class BarrierOp : uint8_t { kSync, kArrive, kReduce };  // of a cluster, kSync only waits
enum class MulPart : uint8_t { kLow, kHigh, kWide };
enum class FenceScope : uint8_t { kNone, kBlock, kCluster, kDevice };

// Whether it ends at the block or the cluster.
constexpr bool is_narrow(FenceScope scope) {
  return scope == FenceScope::kBlock || scope == FenceScope::kCluster;
}

// Where an operand comes from.
enum class OperandKind : uint8_t { kNone, kRegister, kImmediate, kSpecial, kVariable };

// The special registers that the verifier knows; kUnknown may have any value.
enum class Special : uint8_t {
  kTidX,  // the first of the twelve from %tid.x to %nctaid.z, axis by axis
  kTidY,
  kTidZ,
  kLaneId = 12,
  kWarpId,
  kNwarpId,
  kLaneMaskEq,
  kLaneMaskLt,
  kLaneMaskLe,
  kLaneMaskGt,
  kLaneMaskGe,
  kDynamicSharedSize,
  kWorkspaceHigh,  // of the address of the memory in which a cooperative grid meets
  kWorkspaceLow,
  kClusterIdX,  // the first of the twelve from %clusterid.x to %cluster_nctaid.z, axis by axis
  kClusterRank = kClusterIdX + 12,  // %cluster_ctarank
  kClusterSize,                     // %cluster_nctarank
  kIsExplicitCluster,               // a predicate
  kUnknown,
};

// An operand of an instruction.
struct PtxOperand {
  OperandKind kind = OperandKind::kNone;
  bool negated = false;       // predicates: !%p
  bool is_predicate = false;  // of kNone: it stands for a predicate of which nothing is known
  Special special = Special::kUnknown;
  uint32_t index = 0;      // register, or variable of the module
  uint64_t immediate = 0;  // also the offset that is added to a variable or, in an address, a register
};

// From where a shuffle takes a lane's value; the first letter of its name.
enum class ShuffleKind : uint8_t { kUp = 'u', kDown = 'd', kButterfly = 'b', kIndex = 'i' };

// What a vote returns.
enum class VoteKind : uint8_t { kAll, kAny, kUniform, kBallot };

// Which numbers a comparison compares how.
struct CompareForm {
  Compare kind = Compare::kEq;
  bool unordered = false;  // of floats, and NaN makes it true
  bool flushes = false;    // .ftz: subnormal numbers count as 0
  char combine = 0;        // setp: '&', '|' or '^' with the last operand
};

// How an access or a fence is ordered with those of other threads.
struct MemoryOrder {
  bool is_volatile = false;
  bool strong = false;  // relaxed or stronger
  bool acquire = false;
  bool release = false;
  bool sequential = false;               // fence.sc, which membar is too
  bool read_only = false;                // .nc: of memory that nobody writes during the launch
  FenceScope scope = FenceScope::kNone;  // of a fence, and of an access that acquires or releases
};

// What wmma loads or stores: so many lines, rows or columns, of elements that lie one behind the other. Which
// lane has which of them is not specified.
struct TileShape {
  uint16_t lines = 0;  // 0: the instruction is another
  uint16_t elements = 0;
  uint8_t bits = 0;  // of an element
};

// What threads do together.
struct Collective {
  BarrierOp barrier = BarrierOp::kSync;
  MbarrierOp mbarrier = MbarrierOp::kInit;
  bool aligned = true;   // barriers
  bool relaxed = false;  // of an arrival at a cluster's barrier: it orders nothing
  ShuffleKind shuffle = ShuffleKind::kIndex;
  VoteKind vote = VoteKind::kUniform;  // of match: kAll or kAny
  bool names_lanes = false;            // .sync: an operand has the lanes that take part
  TileShape tile;
};

// A decoded instruction.
struct Instruction {
  Op op = Op::kUnsupported;
  Type type = Type::kNone;  // of the operation; of a conversion's result
  Type from = Type::kNone;  // of a conversion's or comparison's operands
  Space space = Space::kGeneric;
  AtomicOp atomic = AtomicOp::kAdd;
  MulPart part = MulPart::kLow;
  // cvt: rounds towards zero to an integer (rzi); bfind: counts from the top (shiftamt); cvta: from generic
  // to the space; waits for copies: for all; an mbarrier's: arrives and expects, or waits for a parity; bulk
  // copies: to global memory; waits for these: for their reads alone; proxy fences: of mbarriers alone
  bool wide = false;
  uint8_t vector = 1;  // elements of a load or store; of wgmma, columns of the product by 8
  CompareForm comparison;
  MemoryOrder order;
  Collective collective;
  std::optional<PtxOperand> guard;
  std::vector<PtxOperand> results;
  std::vector<PtxOperand> operands;  // of a bulk copy, the second is the address of its mbarrier
  PtxOperand address;                // of loads, stores and atomics; of a copy, the destination
  PtxOperand source;                 // of a copy
  std::vector<int> targets;          // instructions to branch to
  uint32_t site = 0;                 // index into Kernel::sites
  std::string text;                  // the opcode as it was written
  std::string reason;                // of kUnsupported
};

// How many operands of a barrier are its number and its count; bar.red's condition is its last operand.
inline size_t barrier_numbers(const Instruction& in) {
  return in.operands.size() - (in.collective.barrier == BarrierOp::kReduce && in.operands.size() > 1 ? 1 : 0);
}

// The elements from one line of a tile to the next; null: lines lie one behind the other. The registers of a
// tile that is stored are 2, 4 or 8.
inline const PtxOperand* tile_stride(const Instruction& in) {
  return in.collective.tile.lines != 0 && in.operands.size() % 2 == 1 ? &in.operands.back() : nullptr;
}

// A virtual register.
struct Register {
  Type type = Type::kB32;
};

// A variable of shared, global, constant or local memory.
struct Variable {
  std::string name;
  Space space = Space::kGlobal;
  uint64_t size = 0;
  uint64_t align = 1;
  uint64_t offset = 0;  // shared and local: from the start of the window
  bool is_extern = false;
  std::vector<uint8_t> initial;  // constant memory with an initialiser; else empty
};

// A parameter of a kernel, with its place in the parameter space in bytes.
struct Parameter {
  std::string name;
  uint64_t offset = 0;
  uint64_t size = 0;
  std::string type = {};  // "u32"; of an array that of its elements
  bool is_pointer = false;
};

// One .entry.
struct Kernel {
  std::string name;
  std::array<uint32_t, 3> max_threads = {0, 0, 0};  // .maxntid or .reqntid; 0: none
  bool exact_threads = false;                       // .reqntid
  std::array<uint32_t, 3> cluster = {0, 0, 0};      // .reqnctapercluster; 0: none
  bool needs_cluster = false;                       // .explicitcluster
  bool counts_clusters = false;                     // .blocksareclusters
  std::vector<Parameter> parameters;
  std::vector<Register> registers;
  std::vector<Instruction> code;
  std::vector<Site> sites;
  std::vector<Variable> variables;  // the module's, and this kernel's
  uint64_t shared_bytes = 0;        // static; dynamic shared memory begins here
};

// One PTX file.
struct Program {
  std::string target;
  std::string path;                // of the file, as errors name it
  std::vector<std::string> files;  // the sources that it names
  std::vector<Kernel> kernels;
};

}  // namespace glove::verify
