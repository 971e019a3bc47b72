// How a race comes about: each thread's way to its access, and why no barrier orders the two.
#include <functional>

#include "verify/run/kernel_run.h"

namespace glove::verify {
namespace {

constexpr int kMostConditions = 8;

// The places where a path was decided, the last first.
void add_conditions(const Path* path, int lane, const std::function<std::string(uint32_t)>& line_of,
                    std::string& text, int& shown) {
  for (; path != nullptr && shown < kMostConditions; path = path->parent.get()) {
    if (lane >= 0 && path->of(lane) == 0) continue;
    text += (shown++ > 0 ? ", " : "") + line_of(path->site);
  }
}

}  // namespace

void KernelRun::explain_race(const AccessRecord& a, int lane_a, const AccessRecord& b, int lane_b,
                             Finding& finding) const {
  const auto line_of = [&](uint32_t instruction) { return source_line(kernel_.code[instruction]); };
  const auto way = [&](const AccessRecord& record, int lane) {
    std::string conditions;
    int shown = 0;
    add_conditions(record.warp_path.get(), lane, line_of, conditions, shown);
    add_conditions(record.block_path.get(), -1, line_of, conditions, shown);
    return thread_name(record, lane) + " comes to " + line_of(record.instruction) +
           (record.last_barrier == 0
                ? " from the kernel's beginning, through no barrier"
                : " from the barrier at " + line_of(static_cast<uint32_t>(record.last_barrier) - 1)) +
           (shown == 0 ? "" : ", under conditions decided at " + conditions);
  };
  finding.explanation.push_back(way(b, lane_b));
  finding.explanation.push_back(way(a, lane_a));
  std::string why;
  if (a.block != b.block)
    why = "the threads are in different blocks, and no grid barrier lies between the accesses";
  else if (a.warp == b.warp)
    why = "the threads are lanes of one warp, and neither __syncwarp nor a barrier lies between the accesses";
  else if (a.last_barrier == 0 && b.last_barrier == 0)
    why = "no barrier lies between the accesses: neither thread has come through one";
  else if (a.last_barrier == b.last_barrier)
    why = "no barrier lies between the accesses: both come after the same one";
  else
    why = "no barrier that the one thread leaves is one at which the other has arrived after its access";
  finding.explanation.push_back(why);
}

}  // namespace glove::verify
