#include "verify/ptx/opcode_table.h"

#include <unordered_map>

namespace glove::verify {
namespace {

constexpr OpcodeEntry kOpcodes[] = {
    {"mov", Op::kMove, Family::kArithmetic},
    {"add", Op::kAdd, Family::kArithmetic},
    {"sub", Op::kSub, Family::kArithmetic},
    {"mul", Op::kMul, Family::kArithmetic},
    {"mad", Op::kMad, Family::kArithmetic},
    {"fma", Op::kFma, Family::kArithmetic},
    {"div", Op::kDiv, Family::kArithmetic},
    {"rem", Op::kRem, Family::kArithmetic},
    {"min", Op::kMin, Family::kArithmetic},
    {"max", Op::kMax, Family::kArithmetic},
    {"neg", Op::kNeg, Family::kArithmetic},
    {"abs", Op::kAbs, Family::kArithmetic},
    {"and", Op::kAnd, Family::kArithmetic},
    {"or", Op::kOr, Family::kArithmetic},
    {"xor", Op::kXor, Family::kArithmetic},
    {"not", Op::kNot, Family::kArithmetic},
    {"cnot", Op::kCnot, Family::kArithmetic},
    {"shl", Op::kShl, Family::kArithmetic},
    {"shr", Op::kShr, Family::kArithmetic},
    {"shf", Op::kPure, Family::kPlain},
    {"bfe", Op::kBitExtract, Family::kArithmetic},
    {"bfi", Op::kBitInsert, Family::kArithmetic},
    {"brev", Op::kBitReverse, Family::kArithmetic},
    {"popc", Op::kPopCount, Family::kArithmetic},
    {"clz", Op::kCountLeadingZeros, Family::kArithmetic},
    {"bfind", Op::kFindBit, Family::kArithmetic},
    {"prmt", Op::kPermute, Family::kArithmetic},
    {"lop3", Op::kLogic3, Family::kArithmetic},
    {"selp", Op::kSelect, Family::kArithmetic},
    {"slct", Op::kPure, Family::kArithmetic},
    {"set", Op::kSet, Family::kComparison},
    {"setp", Op::kSetPredicate, Family::kComparison},
    {"cvt", Op::kConvert, Family::kArithmetic},
    {"cvta", Op::kConvertAddress, Family::kPlain},
    {"isspacep", Op::kIsSpace, Family::kPlain},
    {"addc", Op::kPure, Family::kArithmetic},
    {"subc", Op::kPure, Family::kArithmetic},
    {"madc", Op::kPure, Family::kArithmetic},
    {"rcp", Op::kPure, Family::kPlain},
    {"sqrt", Op::kPure, Family::kPlain},
    {"rsqrt", Op::kPure, Family::kPlain},
    {"sin", Op::kPure, Family::kPlain},
    {"cos", Op::kPure, Family::kPlain},
    {"lg2", Op::kPure, Family::kPlain},
    {"ex2", Op::kPure, Family::kPlain},
    {"tanh", Op::kPure, Family::kPlain},
    {"copysign", Op::kPure, Family::kPlain},
    {"testp", Op::kPure, Family::kPlain},
    {"sad", Op::kPure, Family::kPlain},
    {"fns", Op::kPure, Family::kPlain},
    {"dp4a", Op::kPure, Family::kPlain},
    {"dp2a", Op::kPure, Family::kPlain},
    {"mul24", Op::kPure, Family::kPlain},
    {"mad24", Op::kPure, Family::kPlain},
    {"szext", Op::kPure, Family::kPlain},
    {"bmsk", Op::kPure, Family::kPlain},
    {"tex", Op::kPure, Family::kPlain},
    {"tld4", Op::kPure, Family::kPlain},
    {"txq", Op::kPure, Family::kPlain},
    {"createpolicy", Op::kPure, Family::kPlain},
    {"vadd", Op::kPure, Family::kPlain},
    {"vsub", Op::kPure, Family::kPlain},
    {"vmin", Op::kPure, Family::kPlain},
    {"vmax", Op::kPure, Family::kPlain},
    {"vadd4", Op::kPure, Family::kPlain},
    {"vsub4", Op::kPure, Family::kPlain},
    {"vabsdiff4", Op::kPure, Family::kPlain},
    {"vset4", Op::kPure, Family::kPlain},
    {"ld", Op::kLoad, Family::kMemory},
    {"ldu", Op::kLoad, Family::kMemory},
    {"st", Op::kStore, Family::kMemory},
    {"atom", Op::kAtomic, Family::kAtomic},
    {"red", Op::kAtomic, Family::kAtomic},
    {"bar", Op::kBarrier, Family::kBarrier},
    {"barrier", Op::kBarrier, Family::kBarrier},
    {"bra", Op::kBranch, Family::kPlain},
    {"brx", Op::kBranchIndexed, Family::kPlain},
    {"ret", Op::kReturn, Family::kPlain},
    {"exit", Op::kReturn, Family::kPlain},
    {"trap", Op::kTrap, Family::kPlain},
    {"brkpt", Op::kNothing, Family::kPlain},
    {"shfl", Op::kShuffle, Family::kWarp},
    {"vote", Op::kVote, Family::kWarp},
    {"match", Op::kMatch, Family::kWarp},
    {"redux", Op::kReduce, Family::kWarp},
    {"activemask", Op::kActiveMask, Family::kPlain},
    {"elect", Op::kElect, Family::kPlain},
    {"mma", Op::kMatrix, Family::kMatrix},
    {"wmma", Op::kMatrix, Family::kMatrix},
    {"movmatrix", Op::kMatrix, Family::kMatrix},
    {"ldmatrix", Op::kMatrixLoad, Family::kMatrix},
    {"stmatrix", Op::kMatrixStore, Family::kMatrix},
    {"wgmma", Op::kWgmma, Family::kWgmma},
    {"cp", Op::kCopy, Family::kCopy},
    {"membar", Op::kFence, Family::kFence},
    {"fence", Op::kFence, Family::kFence},
    {"nanosleep", Op::kNothing, Family::kPlain},
    {"prefetch", Op::kNothing, Family::kPlain},
    {"prefetchu", Op::kNothing, Family::kPlain},
    {"pmevent", Op::kNothing, Family::kPlain},
    {"setmaxnreg", Op::kNothing, Family::kPlain},
    {"applypriority", Op::kNothing, Family::kPlain},
};

}  // namespace

const OpcodeEntry* find_opcode(std::string_view name) {
  static const auto kByName = [] {
    std::unordered_map<std::string_view, const OpcodeEntry*> by_name;
    for (const OpcodeEntry& entry : kOpcodes) by_name.emplace(entry.name, &entry);
    return by_name;
  }();
  const auto found = kByName.find(name);
  return found == kByName.end() ? nullptr : found->second;
}

Special find_special(std::string_view name) {
  static const std::unordered_map<std::string_view, Special> kSpecials = {
      {"%tid.x", Special::kTidX},
      {"%tid.y", Special::kTidY},
      {"%tid.z", Special::kTidZ},
      {"%ntid.x", Special::kNtidX},
      {"%ntid.y", Special::kNtidY},
      {"%ntid.z", Special::kNtidZ},
      {"%ctaid.x", Special::kCtaidX},
      {"%ctaid.y", Special::kCtaidY},
      {"%ctaid.z", Special::kCtaidZ},
      {"%nctaid.x", Special::kNctaidX},
      {"%nctaid.y", Special::kNctaidY},
      {"%nctaid.z", Special::kNctaidZ},
      {"%laneid", Special::kLaneId},
      {"%warpid", Special::kWarpId},
      {"%nwarpid", Special::kNwarpId},
      {"%lanemask_eq", Special::kLaneMaskEq},
      {"%lanemask_lt", Special::kLaneMaskLt},
      {"%lanemask_le", Special::kLaneMaskLe},
      {"%lanemask_gt", Special::kLaneMaskGt},
      {"%lanemask_ge", Special::kLaneMaskGe},
      {"%dynamic_smem_size", Special::kDynamicSharedSize},
      {"%envreg1", Special::kWorkspaceHigh},
      {"%envreg2", Special::kWorkspaceLow}};
  const auto found = kSpecials.find(name);
  return found == kSpecials.end() ? Special::kUnknown : found->second;
}

}  // namespace glove::verify
