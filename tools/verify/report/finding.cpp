#include "report/finding_text.h"

namespace glove::verify {

std::string_view name_of(FindingKind kind) {
  switch (kind) {
    case FindingKind::kRace:
      return "race";
    case FindingKind::kSameValueRace:
      return "race of equal values";
    case FindingKind::kDeadlock:
      return "deadlock";
    case FindingKind::kCount:
      return "barrier count";
    case FindingKind::kRecycling:
      return "unsafe recycling";
    case FindingKind::kArriveOnly:
      return "nobody waits";
    case FindingKind::kDivergence:
      return "divergence";
    case FindingKind::kUndefinedRead:
      return "undefined read";
    case FindingKind::kBounds:
      return "out of bounds";
    case FindingKind::kUnproved:
      return "not proved";
    case FindingKind::kUnsupported:
      return "unsupported";
  }
  return "?";
}

bool is_defect(FindingKind kind) {
  return kind != FindingKind::kUnproved && kind != FindingKind::kUnsupported;
}

std::string_view name_of_exit_code(int code) {
  static constexpr std::string_view kNames[] = {"proved", "DEFECT", "could not prove", "unsupported"};
  return kNames[static_cast<size_t>(code)];
}

std::string thread_name(const Access& access, bool name_block) {
  return "thread " + std::to_string(access.thread) +
         (name_block ? " of block " + std::to_string(access.block) : "");
}

std::string text_of(const Access& access, bool name_block) {
  return std::string(access.asynchronous ? "asynchronous " : "") +
         (access.kind == AccessKind::kRead    ? "read"
          : access.kind == AccessKind::kWrite ? "write"
                                              : "atomic operation") +
         " by " + thread_name(access, name_block);
}

std::string_view Verdict::name() const {
  const int code = exit_code();
  return code == 0 && sampled ? "no defect found" : name_of_exit_code(code);
}

int Verdict::exit_code() const {
  bool unproved = false, unsupported = false;
  for (const Finding& finding : findings) {
    if (is_defect(finding.kind)) return 1;
    unproved |= finding.kind == FindingKind::kUnproved;
    unsupported |= finding.kind == FindingKind::kUnsupported;
  }
  return unsupported ? 3 : unproved ? 2 : 0;
}

}  // namespace glove::verify
