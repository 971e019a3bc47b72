#include "glove_verify/verify.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

namespace glove::verify {
namespace {

std::string base_name(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);
}

std::string inlined(const Site& site, const std::string& kernel) {
  std::string text;
  if (!site.chain.empty() && own_line(site) > 0)
    text = " calls " + base_name(site.chain[0].file) + ":" + std::to_string(site.chain[0].line);
  for (size_t i = site.chain.empty() ? 1 : own_line(site) + 1, first = i; i < site.chain.size(); ++i)
    text += (i == first ? " inlined from " : ", from ") + base_name(site.chain[i].file) + ":" +
            std::to_string(site.chain[i].line);
  return "    " + name_of(site) + text + " (" + kernel + ", PTX line " + std::to_string(site.ptx_line) +
         ")\n";
}

}  // namespace

std::string name_of(const Site& site) {
  if (site.ptx_line == 0) return "";
  if (site.chain.empty()) return "PTX line " + std::to_string(site.ptx_line);
  const SourceLine& line = site.chain[own_line(site)];
  return base_name(line.file) + ":" + std::to_string(line.line);
}

size_t own_line(const Site& site) {
  const auto own = [](const SourceLine& line) {
    const std::string& file = line.file;
    for (const std::string_view library :
         {"/include/cub/", "/include/thrust/", "/include/cuda/", "/include/cooperative_groups"})
      if (file.find(library) != std::string::npos) return false;
    return file.ends_with(".cu") || file.ends_with(".cuh");
  };
  const auto found = std::ranges::find_if(site.chain, own);
  return found == site.chain.end() ? 0 : static_cast<size_t>(found - site.chain.begin());
}

std::string_view name_of(FindingKind kind) {
  static constexpr std::string_view kNames[] = {"race",          "race of equal values", "missing acquire",
                                                "deadlock",      "barrier count",        "unsafe recycling",
                                                "nobody waits",  "divergence",           "undefined read",
                                                "out of bounds", "not proved",           "unsupported"};
  static_assert(std::size(kNames) == static_cast<size_t>(FindingKind::kUnsupported) + 1);
  return kNames[static_cast<size_t>(kind)];
}

std::string rule_of(FindingKind kind) {
  std::string name(name_of(kind));
  for (char& c : name) c = c == ' ' ? '-' : c;
  return name;
}

std::optional<FindingKind> kind_of_rule(std::string_view rule) {
  for (int kind = 0; kind <= static_cast<int>(FindingKind::kUnsupported); ++kind)
    if (rule_of(static_cast<FindingKind>(kind)) == rule) return static_cast<FindingKind>(kind);
  return std::nullopt;
}

bool may_be_allowed(FindingKind kind) {
  return kind == FindingKind::kSameValueRace || kind == FindingKind::kMissingAcquire;
}

bool is_defect(FindingKind kind) {
  return kind != FindingKind::kUnproved && kind != FindingKind::kUnsupported;
}

std::string_view name_of_exit_code(int code) {
  static constexpr std::string_view kNames[] = {"proved", "DEFECT", "could not prove", "unsupported"};
  return kNames[code];
}

std::string_view Verdict::name() const {
  const int code = exit_code();
  return code == 0 && sampled ? "no defect found" : name_of_exit_code(code);
}

int Verdict::exit_code() const {
  bool unproved = false, unsupported = false;
  for (const Finding& finding : findings) {
    if (is_defect(finding)) return 1;
    unproved |= finding.kind == FindingKind::kUnproved;
    unsupported |= finding.kind == FindingKind::kUnsupported;
  }
  return unsupported ? 3 : unproved ? 2 : 0;
}

std::string text_of(const Verdict& verdict, bool explain) {
  std::string text;
  for (const Finding& finding : verdict.findings) {
    text += (finding.site.ptx_line == 0 ? verdict.kernel : name_of(finding.site)) + ": " +
            std::string(name_of(finding.kind));
    if (is_defect(finding.kind))
      text += finding.allowed ? " (allowed)" : finding.definite ? " (definite)" : " (possible)";
    text += ": " + finding.message + "\n";
    if (finding.site.ptx_line != 0) text += inlined(finding.site, verdict.kernel);
    if (finding.other.ptx_line != 0) text += inlined(finding.other, verdict.kernel);
    if (explain)
      for (const std::string& line : finding.explanation) text += "    " + line + "\n";
  }
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.3f", verdict.seconds);
  text += verdict.kernel + ": " + std::string(verdict.name()) + " (" + verdict.shape + "; " + seconds +
          " s, " + std::to_string(verdict.steps) + " warp instructions, " + std::to_string(verdict.paths) +
          " paths)\n";
  for (const std::string& line : verdict.assumptions) text += "  assumed: " + line + "\n";
  for (const std::string& line : verdict.uncovered) text += "  not reached: " + line + "\n";
  return text;
}

}  // namespace glove::verify
