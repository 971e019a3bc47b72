#include "sync/mbarriers.h"

#include <algorithm>

namespace glove::verify {
namespace {

constexpr uint64_t kMostExpected = (1 << 20) - 1;  // bytes in a phase

}  // namespace

std::string Mbarriers::place(uint64_t address) const {
  if (window_ == 0) return "the mbarrier at " + std::to_string(address);
  return "the mbarrier at " + std::to_string(address % window_) + " of the cluster's block " +
         std::to_string(address / window_);
}

std::string Mbarriers::init(uint64_t address, uint32_t count, uint32_t thread) {
  if (find(address, 8) != Clocks::kMbarriers) return place(address) + " is initialised once more";
  if (all_.size() == Clocks::kMbarriers)
    return "a block has more than " + std::to_string(Clocks::kMbarriers) + " mbarriers";
  all_.push_back({.address = address, .count = count, .pending = count, .owner = thread});
  return "";
}

std::string Mbarriers::invalidate(Index at, uint32_t thread, const Clocks& clocks) {
  Mbarrier& one = all_[at];
  if (one.pending != one.count || one.bytes != 0 || !one.waiting.empty() ||
      clocks.phases_ended(thread, at) < one.generation)
    return clocks.name(thread) + " invalidates " + place(one.address) +
           " before its phase is known to have ended";
  one.count = 0;
  return "";
}

Mbarriers::Index Mbarriers::find(uint64_t address, uint64_t bytes) const {
  const auto found = std::ranges::find_if(all_, [&](const Mbarrier& one) {
    return one.count != 0 && address < one.address + 8 && one.address < address + bytes;
  });
  return found == all_.end() ? Clocks::kMbarriers : static_cast<Index>(found - all_.begin());
}

void Mbarriers::show(uint32_t thread, const Clocks& clocks) {
  for (Mbarrier& one : all_)
    if (one.owner == thread && one.shown == 0) one.shown = clocks.epoch(thread);
}

// In another schedule this could belong to the phase before.
std::string Mbarriers::early(Index at, uint32_t thread, const Clocks& clocks, const std::string& does) const {
  if (clocks.phases_ended(thread, at) >= all_[at].generation) return "";
  return clocks.name(thread) + " " + does + " " + place(all_[at].address) +
         " without having waited for the end of the phase before";
}

std::string Mbarriers::arrive(Index at, uint32_t thread, uint32_t times, uint64_t bytes, Clocks& clocks) {
  Mbarrier& one = all_[at];
  if (const std::string fault = early(at, thread, clocks, "arrives at"); !fault.empty()) return fault;
  if (times > one.pending)
    return clocks.name(thread) + " arrives at " + place(one.address) + " after all " +
           std::to_string(one.count) + " arrivals of the phase";
  if (bytes > kMostExpected || one.expected + bytes > kMostExpected)
    return clocks.name(thread) + " expects more bytes than a phase of " + place(one.address) + " can count";
  one.bytes += static_cast<int64_t>(bytes);
  one.expected += bytes;
  if (times == 0) {
    one.expecting.push_back(thread);
    return "";
  }
  std::erase(one.expecting, thread);
  one.pending -= times;
  const auto clock = clocks.join({thread});
  if (one.arrived != nullptr)
    for (size_t k = 0; k < clock->size(); ++k) (*clock)[k] = std::max((*clock)[k], (*one.arrived)[k]);
  one.arrived = clock;
  clocks.advance({thread});
  return "";
}

std::string Mbarriers::copy(Index at, uint32_t thread, uint64_t bytes, const Clocks& clocks) {
  if (const std::string fault = early(at, thread, clocks, "copies for"); !fault.empty()) return fault;
  all_[at].bytes -= static_cast<int64_t>(bytes);
  all_[at].copied = all_[at].generation + 1;
  return "";
}

uint32_t Mbarriers::phase_of_parity(Index at, uint32_t thread, uint64_t parity, const Clocks& clocks) const {
  const uint32_t known = clocks.phases_ended(thread, at);
  return (known & 1) == parity ? known : known - 1;  // the first has the parity 0; all before it have ended
}

bool Mbarriers::wait(Index at, uint32_t thread, uint32_t phase, Clocks& clocks, std::string* fault) {
  Mbarrier& one = all_[at];
  const uint32_t ended = phase + 1;
  if (ended > one.generation) {
    one.waiting.push_back(thread);
    return false;
  }
  one.looked.emplace_back(thread, clocks.epoch(thread));
  if (ended < one.generation)
    *fault = clocks.name(thread) + " waits at " + place(one.address) +
             " for a phase behind which another one can end before";
  if (clocks.phases_ended(thread, at) < ended) clocks.acquire({thread}, one.before);
  return true;
}

Mbarriers::End Mbarriers::end_phase(Index at, Clocks& clocks) {
  Mbarrier& one = all_[at];
  End end;
  end.ended = one.pending == 0 && one.bytes == 0;
  if (!end.ended) return end;
  if (!one.expecting.empty())
    end.unproved = clocks.name(one.expecting[0]) + " expects bytes at " + place(one.address) +
                   ", and others can end the phase before";
  for (const auto& [thread, epoch] : one.looked)
    if ((*one.arrived)[thread] < epoch)
      end.missed = "a phase of " + place(one.address) + " can end before " + clocks.name(thread) +
                   " looks for the end of the one before";
  end.released = std::move(one.waiting);
  one.waiting.clear();
  one.looked.clear();
  for (const uint32_t thread : end.released) one.looked.emplace_back(thread, clocks.epoch(thread));
  ++one.generation;
  const auto clock = std::make_shared<Clock>(*one.arrived);
  clocks.set_phases_ended(*clock, at, one.generation);
  one.before = clock;
  one.arrived = nullptr;
  one.pending = one.count;
  one.expected = 0;
  clocks.acquire(end.released, one.before);
  return end;
}

bool Mbarriers::waits(uint32_t warp) const {
  return std::ranges::any_of(all_, [&](const Mbarrier& one) {
    return std::ranges::any_of(one.waiting, [&](uint32_t thread) { return thread / 32 == warp; });
  });
}

bool Mbarriers::unawaited(const Clocks& clocks) const {
  for (Index at = 0; at < all_.size(); ++at) {
    bool known = all_[at].copied == 0;
    for (uint32_t thread = 0; !known && thread < clocks.threads(); ++thread)
      known = clocks.phases_ended(thread, at) >= all_[at].copied;
    if (!known) return true;
  }
  return false;
}

std::vector<Mbarriers::Stuck> Mbarriers::stuck(const Clocks& clocks) const {
  std::vector<Stuck> list;
  for (const Mbarrier& one : all_) {
    if (one.waiting.empty()) continue;
    const std::string bytes =
        one.bytes == 0  ? ""
        : one.bytes > 0 ? ", and " + std::to_string(one.bytes) + " bytes are expected and not copied"
                        : ", and " + std::to_string(-one.bytes) + " bytes are copied and not expected";
    list.push_back({one.waiting[0], clocks.name(one.waiting[0]) + " waits for ever at " + place(one.address) +
                                        ": " + std::to_string(one.count - one.pending) + " of " +
                                        std::to_string(one.count) + " arrivals come" + bytes});
  }
  return list;
}

}  // namespace glove::verify
