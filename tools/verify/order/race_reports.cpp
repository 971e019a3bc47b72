#include "order/race_reports.h"

#include <algorithm>
#include <functional>

#include "report/finding_text.h"

namespace glove::verify {
namespace {

constexpr uint32_t kMostAttempts = 100;  // of two instructions that could not be told apart
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

void RaceReports::compare(uint32_t id, int lane, Value address, uint32_t other, int other_lane,
                          Value other_address, unsigned other_bytes) {
  const AccessRecord& a = records_[id];
  const AccessRecord& b = records_[other];
  if (already_reported(a, b)) return;
  const Side left = {address, a.bytes, {a.warp_path.get(), a.block_path.get(), lane}};
  const Side right = {other_address, other_bytes, {b.warp_path.get(), b.block_path.get(), other_lane}};
  const Overlap overlap = compare_addresses(left, right, table_);
  if (overlap == Overlap::kNever || exclude_each_other(left.position, right.position, table_)) return;
  report(a, lane, b, other_lane, "an address that is not known", false, overlap, false);
}

bool RaceReports::already_reported(const AccessRecord& a, const AccessRecord& b) const {
  const auto found = reported_.find(std::minmax(a.instruction, b.instruction));
  return found != reported_.end() && found->second >= kMostAttempts;
}

void RaceReports::explain(const AccessRecord& a, int lane_a, const AccessRecord& b, int lane_b,
                          Finding& finding) const {
  const auto line_of = [&](uint32_t instruction) {
    return setup_.source_line(setup_.kernel.code[instruction]);
  };
  const auto way = [&](const AccessRecord& record, int lane) {
    std::string conditions;
    int shown = 0;
    add_conditions(record.warp_path.get(), lane, line_of, conditions, shown);
    add_conditions(record.block_path.get(), -1, line_of, conditions, shown);
    return thread_name(public_access(record, lane), setup_.blocks > 1) + " comes to " +
           line_of(record.instruction) +
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
  const auto flies = [&](Flight flight) { return a.flight == flight || b.flight == flight; };
  if (flies(Flight::kCopy))
    finding.explanation.push_back(
        "a copy by cp.async lasts until its own thread has waited for the group, and others need a barrier "
        "behind that");
  if (flies(Flight::kProduct))
    finding.explanation.push_back(
        "wgmma reads until its warp has waited for the group; a thread that writes what it reads must "
        "execute "
        "fence.proxy.async after the write, or after the wait for a copy, and then a barrier");
}

Access RaceReports::public_access(const AccessRecord& record, int lane) const {
  return {record.kind, record.flight != Flight::kNone, record.block,
          record.warp * 32 + static_cast<uint32_t>(lane),
          setup_.kernel.sites[setup_.kernel.code[record.instruction].site]};
}

void RaceReports::report(const AccessRecord& a, int lane_a, const AccessRecord& b, int lane_b,
                         const std::string& place, bool exact, Overlap overlap, bool same_value) {
  const Instruction& in = setup_.kernel.code[a.instruction];
  const Instruction& other = setup_.kernel.code[b.instruction];
  const auto at_lemma = [&](const Instruction& at) -> const Lemma* {
    for (const Lemma& lemma : setup_.launch.lemmas)
      if (setup_.comes_from(at, lemma.at.file, lemma.at.line)) return &lemma;
    return nullptr;
  };
  if (const Lemma* lemma = at_lemma(in); lemma != nullptr && at_lemma(other) != nullptr) {
    reported_[std::minmax(a.instruction, b.instruction)] += kMostAttempts;
    const std::string& file = lemma->at.file;
    report_.assume("lemma at " + file.substr(file.find_last_of('/') + 1) + ":" +
                   std::to_string(lemma->at.line) + ": " + lemma->reason);
    return;
  }
  const std::vector<Access> accesses = {public_access(a, lane_a), public_access(b, lane_b)};
  std::string message = text_of(accesses[0], setup_.blocks > 1) + " and " +
                        text_of(accesses[1], setup_.blocks > 1) + ", " + place;
  FindingKind kind = same_value ? FindingKind::kSameValueRace : FindingKind::kRace;
  if (!exact && overlap == Overlap::kUnproved) {
    kind = FindingKind::kUnproved;
    message = "these may touch the same bytes: " + message;
  }
  if (kind != FindingKind::kSameValueRace)
    reported_[std::minmax(a.instruction, b.instruction)] += kind == FindingKind::kRace ? kMostAttempts : 1;
  const bool locked = a.may_hold_lock && b.may_hold_lock;
  if (locked) message += ", unless both hold a lock: locks made of atomicCAS or atomicExch are not proved";
  Finding* finding =
      report_.find(kind, exact && a.certain && b.certain && !locked, in, &other, message, nullptr);
  if (finding == nullptr) return;
  finding->accesses = accesses;
  explain(a, lane_a, b, lane_b, *finding);
}

}  // namespace glove::verify
