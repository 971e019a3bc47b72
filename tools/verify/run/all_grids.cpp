// Which verdicts two blocks, or Z3, may add to, and what they say then.
#include "run/all_grids.h"

#include <algorithm>
#include <set>

namespace glove::verify {
namespace {

std::string dimensions(const std::array<uint32_t, 3>& size) {
  std::string text = std::to_string(size[0]);
  if (size[1] * size[2] > 1) text += "x" + std::to_string(size[1]);
  if (size[2] > 1) text += "x" + std::to_string(size[2]);
  return text;
}

}  // namespace

constexpr uint32_t kManyBlocks = 32;  // from here on, two blocks in place of all are tried first

// Whether two blocks may stand for all: no block waits for another, and indices are read as they are.
bool may_stand_for_all(const Setup& setup) {
  const bool many = setup.blocks >= kManyBlocks || (setup.options.every_grid && setup.blocks > 1);
  if (!many || setup.options.data_seed || setup.cluster.used) return false;
  if (setup.check_global && !setup.waits.empty()) return false;
  return std::ranges::none_of(setup.kernel.code, [](const Instruction& in) {
    const bool narrow =
        bits_of(in.op == Op::kConvert || in.op == Op::kSetPredicate ? in.from : in.type) != 32;
    return narrow && std::ranges::any_of(in.operands, [](const PtxOperand& operand) {
             return operand.kind == OperandKind::kSpecial && operand.special < Special::kLaneId &&
                    static_cast<size_t>(operand.special) >= BlockPair::kFirst;
           });
  });
}

void assume(Verdict& verdict, const std::vector<std::string>& more) {
  std::set<std::string> assumptions(verdict.assumptions.begin(), verdict.assumptions.end());
  assumptions.insert(more.begin(), more.end());
  verdict.assumptions.assign(assumptions.begin(), assumptions.end());
}

void add_to(Verdict& sum, const Verdict& part) {
  assume(sum, part.assumptions);
  std::erase_if(sum.uncovered, [&](const std::string& place) {
    return std::ranges::find(part.uncovered, place) == part.uncovered.end();
  });
  sum.paths += part.paths;
  sum.steps += part.steps;
}

// Whether nothing but races of two accesses is left to decide.
bool may_be_solved(const Verdict& verdict) {
  return !verdict.out_of_time && std::ranges::all_of(verdict.findings, [](const Finding& finding) {
    return finding.accesses.size() == 2 && !finding.definite;
  });
}

// There is no race.
void take(Verdict& verdict, const TwoThreads& solved) {
  verdict.findings.clear();
  assume(verdict, solved.assumptions);
}

// Asks the solver about races that could not be decided, or that a condition that is not known may prevent.
void solve(Verdict& verdict, const Kernel& sliced, const Launch& launch, const Options& options,
           Budget& budget) {
  if (verdict.findings.empty() || verdict.findings.size() >= options.most_findings || !may_be_solved(verdict))
    return;
  const TwoThreads solved = decide_two_threads(Setup(sliced, launch, options), false, budget);
  if (solved.answer == TwoThreads::Answer::kNever) return take(verdict, solved);
  if (solved.answer != TwoThreads::Answer::kWitness) {
    for (Finding& finding : verdict.findings)
      finding.explanation.push_back("Z3 does not decide it: " + solved.text);
    return;
  }
  const std::set<int> lines = {sliced.sites[sliced.code[solved.first].site].ptx_line,
                               sliced.sites[sliced.code[solved.second].site].ptx_line};
  for (Finding& finding : verdict.findings)
    if (std::set<int>{finding.site.ptx_line, finding.other.ptx_line} == lines)
      finding.message += ": " + solved.text, finding.has_example = true;
}

std::string shape_of(const Verdict& verdict, const Launch& launch, const Options& options) {
  std::string grid = "grid " + dimensions(launch.grid);
  if (verdict.every_grid) {
    std::string axes;
    for (size_t axis = 0; axis < 3; ++axis)
      if (launch.grid[axis] > 1) axes += (axes.empty() ? "" : ", ") + std::string(1, "xyz"[axis]);
    grid = "for all grids along " + axes;
  }
  const bool has_clusters = launch.cluster[0] * launch.cluster[1] * launch.cluster[2] > 1;
  return "block " + dimensions(launch.block) + ", " + grid +
         (has_clusters ? ", cluster " + dimensions(launch.cluster) : "") +
         (options.shared_only ? ", shared memory only" : "") +
         (launch.name.empty() ? "" : ", " + launch.name);
}

}  // namespace glove::verify
