#include "ptx/opcode.h"

#include <algorithm>
#include <unordered_map>

namespace glove::verify {
namespace {

using enum OperandClasses;

constexpr OperandCount kAny;

// In this table the operands of an instruction without modifiers. Those that a modifier adds or that depend
// on it, such as the mask of .sync, are added in form_of_opcode() of opcode.cpp. Rows whose names have a dot
// are what modifiers make of another row; these names are never looked up.
constexpr OpcodeEntry kOpcodes[] = {
    {"mov", Op::kMove, Family::kArithmetic, {{1, 4}, {1, 4}, kOfType}},
    {"add", Op::kAdd, Family::kArithmetic, {1, 2, kOfType}},
    {"sub", Op::kSub, Family::kArithmetic, {1, 2, kOfType}},
    {"mul", Op::kMul, Family::kArithmetic, {1, 2, kOfType}},
    {"mad", Op::kMad, Family::kArithmetic, {1, 3, kOfType}},
    {"fma", Op::kFma, Family::kArithmetic, {1, 3, kOfType}},
    {"div", Op::kDiv, Family::kArithmetic, {1, 2, kOfType}},
    {"rem", Op::kRem, Family::kArithmetic, {1, 2, kOfType}},
    {"min", Op::kMin, Family::kArithmetic, {1, 2, kOfType}},
    {"max", Op::kMax, Family::kArithmetic, {1, 2, kOfType}},
    {"neg", Op::kNeg, Family::kArithmetic, {1, 1, kOfType}},
    {"abs", Op::kAbs, Family::kArithmetic, {1, 1, kOfType}},
    {"and", Op::kAnd, Family::kArithmetic, {1, 2, kOfType}},
    {"or", Op::kOr, Family::kArithmetic, {1, 2, kOfType}},
    {"xor", Op::kXor, Family::kArithmetic, {1, 2, kOfType}},
    {"not", Op::kNot, Family::kArithmetic, {1, 1, kOfType}},
    {"cnot", Op::kCnot, Family::kArithmetic, {1, 1, kOfType}},
    {"shl", Op::kShl, Family::kArithmetic, {1, 2, kOfType}},
    {"shr", Op::kShr, Family::kArithmetic, {1, 2, kOfType}},
    {"bfe", Op::kBitExtract, Family::kArithmetic, {1, 3, kOfType}},
    {"bfi", Op::kBitInsert, Family::kArithmetic, {1, 4, kOfType}},
    {"brev", Op::kBitReverse, Family::kArithmetic, {1, 1, kOfType}},
    {"popc", Op::kPopCount, Family::kArithmetic, {1, 1, kOfType}},
    {"clz", Op::kCountLeadingZeros, Family::kArithmetic, {1, 1, kOfType}},
    {"bfind", Op::kFindBit, Family::kArithmetic, {1, 1, kOfType}},
    {"prmt", Op::kPermute, Family::kArithmetic, {1, 3, kOfType}},
    {"lop3", Op::kLogic3, Family::kArithmetic, {1, 4, kOfType}},
    {"selp", Op::kSelect, Family::kArithmetic, {1, 3, kSelects}},
    {"slct addc subc madc", Op::kPure, Family::kArithmetic},
    {"set", Op::kSet, Family::kComparison},
    {"setp", Op::kSetPredicate, Family::kComparison, {{1, 2}, 2, kCompares}},
    {"cvt", Op::kConvert, Family::kArithmetic, {1, 1, kOfType}},
    {"cvta", Op::kConvertAddress, Family::kAddress, {1, 1, kOfType}},
    {"mapa", Op::kMapAddress, Family::kCluster, {1, 2, kOfType}},
    {"getctarank", Op::kRankOfAddress, Family::kCluster, {1, 1, kOfType}},
    {"isspacep", Op::kIsSpace, Family::kAddress, {1, 1, kTests}},
    {"shf rcp sqrt rsqrt sin cos lg2 ex2 tanh copysign testp sad fns dp4a dp2a mul24 mad24 szext bmsk tex "
     "tld4 txq "
     "createpolicy vadd vsub vmin vmax vadd4 vsub4 vabsdiff4 vset4",
     Op::kPure, Family::kPlain},
    {"brkpt griddepcontrol nanosleep prefetch prefetchu pmevent setmaxnreg applypriority",
     Op::kNothing,
     Family::kPlain,
     {0, kAny}},
    {"ld ldu", Op::kLoad, Family::kMemory, {{1, kVector}, 0, kOfType, 1}},
    {"st", Op::kStore, Family::kMemory, {0, {1, kVector}, kOfType, 2}},
    {"atom", Op::kAtomic, Family::kAtomic, {{0, kVector}, {1, kVector}, kOfType, 2}},
    {"red", Op::kAtomic, Family::kAtomic, {0, {1, kVector}, kOfType, 2}},
    {"bar barrier", Op::kBarrier, Family::kBarrier, {0, {1, 2}}},
    {"bra", Op::kBranch, Family::kPlain, {0, 0}},
    {"brx", Op::kBranchIndexed, Family::kPlain, {0, 1, kOfType}},
    {"ret exit", Op::kReturn, Family::kPlain, {0, 0}},
    {"trap", Op::kTrap, Family::kPlain, {0, 0}},
    {"shfl", Op::kShuffle, Family::kShuffle, {{1, 2}, 3, kShuffles}},
    {"vote", Op::kVote, Family::kWarp, {1, 1, kVotes}},
    {"match", Op::kMatch, Family::kWarp, {{1, 2}, 1}},
    {"redux", Op::kReduce, Family::kWarp, {1, 1, kOfType}},
    {"activemask", Op::kActiveMask, Family::kPlain, {1, 0, kOfType}},
    {"elect", Op::kElect, Family::kPlain, {{1, 2}, 1}},
    {"mma wmma movmatrix", Op::kMatrix, Family::kMatrix, {kAny, kAny, kOfType}},
    {"ldmatrix", Op::kMatrixLoad, Family::kMatrix, {{1, kVector}, 0, kOfType, 1}},
    {"stmatrix", Op::kMatrixStore, Family::kMatrix, {0, {1, kVector}, kOfType, 2}},
    {"wgmma", Op::kWgmma, Family::kWgmma},
    {"cp", Op::kCopy, Family::kCopy, {0, {1, 3}}},
    {"mbarrier", Op::kMbarrier, Family::kMbarrier, {{0, 1}, {0, 2}}},
    {"membar fence", Op::kFence, Family::kFence, {0, kAny, kOfType}},
    {"bar.warp", Op::kWarpBarrier, Family::kBarrier, {0, 1, kOfType}},
    {"barrier.cluster", Op::kClusterBarrier, Family::kBarrier, {0, 0, kOfType}},
    {"cp.async.commit_group", Op::kCopyCommit, Family::kCopy, {0, 0, kOfType}},
    {"cp.async.wait_group", Op::kCopyWait, Family::kCopy, {0, 1, kOfType}},
    {"cp.async.bulk", Op::kBulkCopy, Family::kCopy, {0, {2, 3}, kOfType}},
    {"cp.async.bulk.commit_group", Op::kBulkCommit, Family::kCopy, {0, 0, kOfType}},
    {"cp.async.bulk.wait_group", Op::kBulkWait, Family::kCopy, {0, 1, kOfType}},
    {"fence.proxy", Op::kProxyFence, Family::kFence, {0, kAny, kOfType}},
    {"wgmma.fence", Op::kWgmmaFence, Family::kWgmma, {0, kAny, kOfType}},
    {"wgmma.commit_group", Op::kWgmmaCommit, Family::kWgmma, {0, kAny, kOfType}},
    {"wgmma.wait_group", Op::kWgmmaWait, Family::kWgmma, {0, kAny, kOfType}},
};

constexpr uint32_t bits(std::initializer_list<Family> families) {
  uint32_t result = 0;
  for (const Family family : families) result |= 1u << static_cast<unsigned>(family);
  return result;
}
constexpr uint32_t kArithmetic = bits({Family::kArithmetic});
constexpr uint32_t kComparison = bits({Family::kComparison});
constexpr uint32_t kAtomic = bits({Family::kAtomic});
constexpr uint32_t kAccess = bits({Family::kMemory, Family::kAtomic});
constexpr uint32_t kSpaces = bits({Family::kMemory, Family::kAtomic, Family::kAddress, Family::kMatrix});
constexpr uint32_t kOrder = bits({Family::kMemory, Family::kAtomic, Family::kFence});
constexpr uint32_t kOfClusters = bits({Family::kMemory, Family::kAtomic, Family::kAddress, Family::kCluster});
constexpr uint32_t kHints = bits({Family::kMemory, Family::kAtomic, Family::kCopy});
constexpr uint32_t kBarrier = bits({Family::kBarrier});
constexpr uint32_t kWarp = bits({Family::kWarp, Family::kShuffle});
constexpr uint32_t kShuffle = bits({Family::kShuffle});
constexpr uint32_t kFence = bits({Family::kFence});

using Word = std::string_view;

template <Compare kCompare, bool kUnordered = false>
void compare(Instruction& in, Word) {
  in.comparison.kind = kCompare;
  in.comparison.unordered = kUnordered;
}
struct Put {
  static void into(Instruction& in, AtomicOp op) { in.atomic = op; }
  static void into(Instruction& in, Space space) { in.space = space; }
  static void into(Instruction& in, BarrierOp op) { in.collective.barrier = op; }
  static void into(Instruction& in, VoteKind kind) { in.collective.vote = kind; }
  static void into(Instruction& in, MulPart part) { in.part = part; }
};
template <auto kPart>
void set(Instruction& in, Word) {
  Put::into(in, kPart);
}

constexpr Modifier kModifiers[] = {
    // Digits of a result alone, or nothing at all; the results of what reads the carry of .cc are unknown.
    {"rn rz rm rp rna rs ftz approx full NaN xorsign abs noftz satfinite oob rni rmi rpi pack cc",
     kArithmetic, nullptr},
    {"lo", kArithmetic, set<MulPart::kLow>},
    {"hi", kArithmetic, set<MulPart::kHigh>},
    {"wide", kArithmetic, set<MulPart::kWide>},
    {"rzi", kArithmetic, [](Instruction& in, Word) { in.wide = true; }},
    {"shiftamt", kArithmetic, [](Instruction& in, Word) { in.wide |= in.op == Op::kFindBit; }},
    {"sat relu", kArithmetic, [](Instruction& in, Word) { in.op = Op::kPure; }},
    {"eq", kComparison, compare<Compare::kEq>},
    {"ne", kComparison, compare<Compare::kNe>},
    {"lt lo", kComparison, compare<Compare::kLt>},
    {"le ls", kComparison, compare<Compare::kLe>},
    {"gt hi", kComparison, compare<Compare::kGt>},
    {"ge hs", kComparison, compare<Compare::kGe>},
    {"equ", kComparison, compare<Compare::kEq, true>},
    {"neu", kComparison, compare<Compare::kNe, true>},
    {"ltu", kComparison, compare<Compare::kLt, true>},
    {"leu", kComparison, compare<Compare::kLe, true>},
    {"gtu", kComparison, compare<Compare::kGt, true>},
    {"geu", kComparison, compare<Compare::kGe, true>},
    {"num", kComparison, compare<Compare::kNumber>},
    {"nan", kComparison, compare<Compare::kNan>},
    {"and", kComparison, [](Instruction& in, Word) { in.comparison.combine = '&'; }},
    {"or", kComparison, [](Instruction& in, Word) { in.comparison.combine = '|'; }},
    {"xor", kComparison, [](Instruction& in, Word) { in.comparison.combine = '^'; }},
    {"ftz", kComparison, [](Instruction& in, Word) { in.comparison.flushes = true; }},
    {"v2 v4 v8", kAccess,
     [](Instruction& in, Word word) { in.vector = static_cast<uint8_t>(word[1] - '0'); }},
    {"nc", bits({Family::kMemory}), [](Instruction& in, Word) { in.order.read_only = true; }},
    {"shared shared::cta", kSpaces, set<Space::kShared>},
    {"shared::cluster", kOfClusters, set<Space::kShared>},
    {"global", kSpaces, set<Space::kGlobal>},
    {"local", kSpaces, set<Space::kLocal>},
    {"const", kSpaces, set<Space::kConst>},
    {"param param::entry param::func", kSpaces, set<Space::kParam>},
    {"volatile", kOrder, [](Instruction& in, Word) { in.order.is_volatile = true; }},
    {"relaxed mmio", kOrder, [](Instruction& in, Word) { in.order.strong = true; }},
    {"acquire", kOrder, [](Instruction& in, Word) { in.order.strong = in.order.acquire = true; }},
    {"release", kOrder, [](Instruction& in, Word) { in.order.strong = in.order.release = true; }},
    {"acq_rel", kOrder,
     [](Instruction& in, Word) { in.order.strong = in.order.acquire = in.order.release = true; }},
    {"cta", kOrder, [](Instruction& in, Word) { in.order.scope = FenceScope::kBlock; }},
    {"cluster", kOrder, [](Instruction& in, Word) { in.order.scope = FenceScope::kCluster; }},
    {"gpu sys gl", kOrder, [](Instruction& in, Word) { in.order.scope = FenceScope::kDevice; }},
    {"weak", kOrder, nullptr},
    {"sc", kFence, [](Instruction& in, Word) { in.order.sequential = true; }},
    {"mbarrier_init", kFence,
     [](Instruction& in, Word) {
       in.op = Op::kProxyFence;
       in.space = Space::kShared;
       in.wide = true;
     }},
    {"ca cg cs lu cv wb wt cop L2::cache_hint unified", kHints, nullptr},
    {"add", kAtomic, set<AtomicOp::kAdd>},
    {"inc", kAtomic, set<AtomicOp::kInc>},
    {"dec", kAtomic, set<AtomicOp::kDec>},
    {"min", kAtomic, set<AtomicOp::kMin>},
    {"max", kAtomic, set<AtomicOp::kMax>},
    {"and", kAtomic, set<AtomicOp::kAnd>},
    {"or", kAtomic, set<AtomicOp::kOr>},
    {"xor", kAtomic, set<AtomicOp::kXor>},
    {"exch", kAtomic, set<AtomicOp::kExchange>},
    {"cas", kAtomic, set<AtomicOp::kCas>},
    {"noftz", kAtomic, nullptr},
    {"async", kAtomic, [](Instruction& in, Word) { reject(in, "asynchronous atomics are not modelled"); }},
    {"warp", kBarrier, [](Instruction& in, Word) { in.op = Op::kWarpBarrier; }},
    {"sync wait", kBarrier, set<BarrierOp::kSync>},
    {"arrive", kBarrier, set<BarrierOp::kArrive>},
    {"red", kBarrier, set<BarrierOp::kReduce>},
    {"aligned", kBarrier, [](Instruction& in, Word) { in.collective.aligned = true; }},
    {"cluster", kBarrier, [](Instruction& in, Word) { in.op = Op::kClusterBarrier; }},
    {"relaxed", kBarrier, [](Instruction& in, Word) { in.collective.relaxed = true; }},
    {"acquire release", kBarrier, nullptr},
    {"cta popc and or", kBarrier, nullptr},
    {"up down bfly idx", kShuffle,
     [](Instruction& in, Word word) { in.collective.shuffle = static_cast<ShuffleKind>(word[0]); }},
    {"all", kWarp, set<VoteKind::kAll>},
    {"any", kWarp, set<VoteKind::kAny>},
    {"uni", kWarp, set<VoteKind::kUniform>},
    {"ballot", kWarp, set<VoteKind::kBallot>},
    {"sync", kWarp, [](Instruction& in, Word) { in.collective.names_lanes = true; }},
    {"add min max and or xor abs NaN", kWarp, nullptr},
};

// Calls visit(word) for each of the words between spaces.
template <class Visit>
void each_word(Word words, Visit visit) {
  for (size_t begin = 0, end = 0; end < words.size(); begin = end + 1) {
    end = std::min(words.find(' ', begin), words.size());
    visit(words.substr(begin, end - begin));
  }
}

// The rows of a table by each of their words.
template <class Row, size_t kRows>
std::unordered_multimap<Word, const Row*> by_word(const Row (&rows)[kRows], Word Row::*words) {
  std::unordered_multimap<Word, const Row*> found;
  for (const Row& row : rows) each_word(row.*words, [&](Word word) { found.emplace(word, &row); });
  return found;
}

// In the order of Special.
constexpr Word kSpecials =
    "tid.x tid.y tid.z ntid.x ntid.y ntid.z ctaid.x ctaid.y ctaid.z nctaid.x nctaid.y nctaid.z "
    "laneid warpid nwarpid lanemask_eq lanemask_lt lanemask_le lanemask_gt lanemask_ge "
    "dynamic_smem_size envreg1 envreg2 "
    "clusterid.x clusterid.y clusterid.z nclusterid.x nclusterid.y nclusterid.z "
    "cluster_ctaid.x cluster_ctaid.y cluster_ctaid.z cluster_nctaid.x cluster_nctaid.y cluster_nctaid.z "
    "cluster_ctarank cluster_nctarank is_explicit_cluster";
static_assert(std::ranges::count(kSpecials, ' ') + 1 == static_cast<int>(Special::kUnknown));

}  // namespace

const OpcodeEntry* find_opcode(std::string_view name) {
  static const auto kByName = by_word(kOpcodes, &OpcodeEntry::names);
  const auto found = kByName.find(name);
  return found == kByName.end() ? nullptr : found->second;
}

OperandForm form_made_by_modifiers(Op op) {
  const auto found = std::ranges::find_if(
      kOpcodes, [&](const OpcodeEntry& row) { return row.op == op && row.names.find('.') != Word::npos; });
  return found == std::end(kOpcodes) ? OperandForm{} : found->form;
}

const Modifier* find_modifier(std::string_view word, Family family) {
  static const auto kByWord = by_word(kModifiers, &Modifier::words);
  if (word.starts_with("L1:") || word.starts_with("L2:")) word = "L2::cache_hint";
  const auto [first, last] = kByWord.equal_range(word);
  const auto found = std::find_if(first, last, [&](const auto& entry) {
    return (entry.second->families >> static_cast<unsigned>(family) & 1) != 0;
  });
  return found == last ? nullptr : found->second;
}

Special find_special(std::string_view name) {
  int place = 0, found = static_cast<int>(Special::kUnknown);
  each_word(kSpecials, [&](Word word) {
    if (word == name.substr(1)) found = place;
    ++place;
  });
  return static_cast<Special>(found);
}

}  // namespace glove::verify
