#include "state/reporter.h"

namespace glove::verify {

Finding* Reporter::find(FindingKind kind, bool definite, const Instruction& in, const Instruction* other,
                        std::string message, const BlockState* state) {
  if (ended()) return nullptr;
  Finding finding;
  finding.kind = kind;
  finding.definite = definite;
  finding.message = std::move(message);
  finding.site = setup_.kernel.sites[in.site];
  if (other != nullptr) finding.other = setup_.kernel.sites[other->site];
  // Copies of a line that the compiler made count once.
  const auto place = [](const Site& site) {
    if (site.chain.empty()) return std::to_string(site.ptx_line);
    std::string name;
    for (const SourceLine& line : site.chain)
      name += line.file + ":" + std::to_string(line.line) + ":" + std::to_string(line.column) + " ";
    return name;
  };
  std::string a = place(finding.site), b = place(finding.other);
  if (b < a) std::swap(a, b);
  if (!found_.insert(std::to_string(static_cast<int>(kind)) + ":" + a + ":" + b).second) return nullptr;
  if (state != nullptr && state->path != nullptr) {
    std::string conditions;
    int shown = 0;
    for (const Path* path = state->path.get(); path != nullptr && shown < 8;
         path = path->parent.get(), ++shown) {
      const Site& site = setup_.kernel.sites[setup_.kernel.code[path->site].site];
      conditions += (shown > 0 ? ", " : "") +
                    (site.chain.empty() ? "PTX line " + std::to_string(site.ptx_line)
                                        : site.chain[0].file + ":" + std::to_string(site.chain[0].line));
    }
    finding.explanation.push_back("on a path that is decided at " + conditions);
  }
  findings_.push_back(std::move(finding));
  if (findings_.size() >= setup_.options.most_findings) ended_ = Ended::kRun;
  return &findings_.back();
}

void Reporter::end_path(bool covered) {
  if (!ended()) ended_ = covered ? Ended::kCovered : Ended::kPath;
}

void Reporter::begin_again() {
  if (!ended()) ended_ = Ended::kAgain;
}

void Reporter::assume(const std::string& what) {
  if (!ended()) assumptions_.insert(what);
}

void Reporter::unsupported(const Instruction& in, const std::string& reason) {
  find(FindingKind::kUnsupported, true, in, nullptr, "'" + in.text + "': " + reason, nullptr);
  ended_ = Ended::kRun;
}

void Reporter::unproved(const Instruction& in, const std::string& reason, const BlockState* state) {
  find(FindingKind::kUnproved, false, in, nullptr, reason, state);
  end_path();
}

bool Reporter::tick() {
  if (ended()) return false;
  const bool in_steps = ++effort_.steps < setup_.options.most_steps;
  if (in_steps && ((effort_.steps & 0xf) != 0 || std::chrono::steady_clock::now() < setup_.deadline))
    return true;
  out_of_time_ = true;
  Finding finding;
  finding.kind = FindingKind::kUnproved;
  finding.message = std::string(in_steps ? "the time limit" : "the limit of steps") +
                    " ended the search after " + std::to_string(effort_.steps) + " warp instructions";
  findings_.push_back(finding);
  ended_ = Ended::kRun;
  return false;
}

// Memory and synchronising instructions that were not reached, but for copies of a source line (of an
// unrolled loop, say) of which another was.
void Reporter::add_uncovered(Verdict& verdict) const {
  const auto name = [&](const Instruction& in) {
    std::string text = in.text;
    for (const SourceLine& line : setup_.kernel.sites[in.site].chain)
      text += " " + line.file + ":" + std::to_string(line.line) + ":" + std::to_string(line.column);
    return setup_.kernel.sites[in.site].chain.empty() ? "" : text;
  };
  std::set<std::string> reached;
  for (size_t i = 0; i < effort_.executed.size(); ++i)
    if (effort_.executed[i]) reached.insert(name(setup_.kernel.code[i]));
  reached.erase("");
  for (size_t i = 0; i < effort_.executed.size(); ++i) {
    const Instruction& in = setup_.kernel.code[i];
    const bool matters = is_block_barrier(in) || is_warp_synchronisation(in) || in.op == Op::kStore ||
                         in.op == Op::kAtomic || in.op == Op::kCopy ||
                         (in.op == Op::kLoad && in.space != Space::kParam);
    if (matters && !effort_.executed[i] && reached.count(name(in)) == 0)
      verdict.uncovered.push_back(in.text + " at PTX line " +
                                  std::to_string(setup_.kernel.sites[in.site].ptx_line) + ", " +
                                  setup_.source_line(in));
  }
}

Verdict Reporter::verdict() const {
  Verdict verdict;
  verdict.findings = findings_;
  verdict.assumptions.assign(assumptions_.begin(), assumptions_.end());
  verdict.out_of_time = out_of_time_;
  verdict.paths = effort_.paths;
  verdict.steps = effort_.steps;
  add_uncovered(verdict);
  return verdict;
}

}  // namespace glove::verify
