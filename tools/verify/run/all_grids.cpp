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

// Whether the kernel's threads, or its blocks, stand in rows: it reads their second index, which is the
// special register `second`. Cooperative groups read all three to number the threads, whatever the shape.
bool has_rows(const Kernel& kernel, int second) {
  const auto reads = [&](int index) {
    return std::ranges::any_of(kernel.code, [&](const Instruction& in) {
      return std::ranges::any_of(in.operands, [&](const PtxOperand& operand) {
        return operand.kind == OperandKind::kSpecial && static_cast<int>(operand.special) == index;
      });
    });
  };
  return reads(second) && !reads(second + 1);
}

}  // namespace

void doubt_shape(Verdict& verdict, const Kernel& kernel, const Launch& launch, const Launch& fitted) {
  const auto count = [](const std::array<uint32_t, 3>& size) { return size[0] * size[1] * size[2]; };
  const auto row = [](const std::array<uint32_t, 3>& size) { return size[1] * size[2] == 1; };
  constexpr int kTidY = static_cast<int>(Special::kTidY), kBlockY = kTidY + 6;
  const bool one_row = row(fitted.block) && has_rows(kernel, kTidY);
  const bool guessed = one_row && launch.block[0] == 0 && !kernel.exact_threads;
  std::string doubt;
  if (guessed)
    doubt =
        ", in a block of one row; .maxntid says only how many threads a block has, so give its shape with "
        "--block";
  else if (one_row)
    doubt = "; the block has one row, and the kernel reads threadIdx.y";
  else if (kernel.max_threads[0] != 0 && count(fitted.block) != count(kernel.max_threads))
    doubt = "; the block has " + std::to_string(count(fitted.block)) +
            " threads, and the source is compiled for up to " + std::to_string(count(kernel.max_threads));
  if (!guessed && row(fitted.grid) && has_rows(kernel, kBlockY))
    doubt += "; the grid has one row, and the kernel reads blockIdx.y";
  for (Finding& finding : verdict.findings) {
    if (!is_defect(finding.kind)) continue;
    if (guessed) finding.kind = FindingKind::kUnproved, finding.definite = false;
    finding.message += doubt;
  }
}

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

bool solve(Verdict& verdict, const Kernel& sliced, const Launch& launch, const Options& options,
           Budget& budget, bool complete) {
  if (verdict.findings.empty() || verdict.findings.size() >= options.most_findings || !may_be_solved(verdict))
    return true;
  const TwoThreads solved = decide_two_threads(Setup(sliced, launch, options), false, budget);
  if (solved.answer == TwoThreads::Answer::kNever) {
    if (complete) take(verdict, solved);
    return complete;
  }
  if (solved.answer != TwoThreads::Answer::kWitness) {
    for (Finding& finding : verdict.findings)
      finding.explanation.push_back("Z3 does not decide it: " + solved.text);
    return true;
  }
  const std::set<int> lines = {sliced.sites[sliced.code[solved.first].site].ptx_line,
                               sliced.sites[sliced.code[solved.second].site].ptx_line};
  for (Finding& finding : verdict.findings)
    if (!finding.has_example && std::set<int>{finding.site.ptx_line, finding.other.ptx_line} == lines)
      finding.message += ". Example: " + solved.text, finding.has_example = true;
  return true;
}

std::string shape_of(const Verdict& verdict, const Launch& launch, const Options& options) {
  std::string grid = "grid " + dimensions(launch.grid);
  if (verdict.every_grid) {
    std::string axes;
    for (size_t axis = 0; axis < 3; ++axis)
      if (launch.grid[axis] > 1) axes += (axes.empty() ? "" : ", ") + std::string(1, "xyz"[axis]);
    grid = "for all grids along " + axes;
  } else if (options.every_grid)
    grid += " alone, as none was found for every grid";
  const bool has_clusters = launch.cluster[0] * launch.cluster[1] * launch.cluster[2] > 1;
  return "block " + dimensions(launch.block) + ", " + grid +
         (has_clusters ? ", cluster " + dimensions(launch.cluster) : "") +
         (options.shared_only ? ", shared memory only" : "") +
         (launch.name.empty() ? "" : ", " + launch.name);
}

}  // namespace glove::verify
