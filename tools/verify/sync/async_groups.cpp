#include "sync/async_groups.h"

#include <algorithm>
#include <bit>

namespace glove::verify {
namespace {

template <class Visit>
void each(uint32_t lanes, Visit visit) {
  for (; lanes != 0; lanes &= lanes - 1) visit(static_cast<size_t>(std::countr_zero(lanes)));
}

}  // namespace

void AsyncGroups::begin(uint32_t lanes) {
  if (!open_) {
    batches_.emplace_back();
    batches_.back().number = ++last_;
    open_ = true;
  }
  Batch& batch = batches_.back();
  batch.begun |= lanes;
  batch.in_flight |= lanes;
  each(lanes, [&](size_t lane) { batch.mark[lane] = closed(static_cast<int>(lane)); });
}

void AsyncGroups::commit(uint32_t lanes) {
  if (batches_.empty()) return;  // nobody can tell how many empty groups there were
  if (closed_.empty()) closed_.resize(32, 0);
  each(lanes, [&](size_t lane) { ++closed_[lane]; });
  open_ = false;
}

void AsyncGroups::wait(int lane, uint32_t pending, uint32_t epoch) {
  const uint32_t bit = 1u << lane;
  while (settled_ < batches_.size() && batches_[settled_].in_flight == 0) ++settled_;
  for (size_t i = settled_; i < batches_.size(); ++i) {
    Batch& batch = batches_[i];
    uint32_t& mark = batch.mark[lane];
    if ((batch.in_flight & bit) == 0 || closed(lane) - mark <= pending) continue;
    batch.in_flight &= ~bit;
    mark = epoch;
  }
  open_ = false;
}

void AsyncGroups::wait_all(int lane, uint32_t epoch) {
  commit(1u << lane);
  wait(lane, 0, epoch);
}

const AsyncGroups::Batch* AsyncGroups::find(uint32_t number) const {
  const auto found =
      std::lower_bound(batches_.begin(), batches_.end(), number,
                       [](const Batch& batch, uint32_t wanted) { return batch.number < wanted; });
  return found == batches_.end() || found->number != number ? nullptr : &*found;
}

uint32_t AsyncGroups::completed(uint32_t number, int lane) const {
  const Batch* const batch = find(number);
  const uint32_t bit = 1u << lane;
  if (batch == nullptr || ((batch->in_flight | batch->abandoned) & bit) != 0) return kInFlight;
  return (batch->begun & bit) != 0 ? batch->mark[lane] : kElsewhere;
}

uint32_t AsyncGroups::age(uint32_t number, int lane) const {
  const Batch* const batch = find(number);
  const bool in_flight = batch != nullptr && (batch->in_flight & 1u << lane) != 0;
  return in_flight ? closed(lane) - batch->mark[lane] : 0;
}

std::vector<uint32_t> AsyncGroups::ages(uint32_t lanes) const {
  std::vector<uint32_t> list;
  for (const Batch& batch : batches_)
    each(batch.in_flight & lanes, [&](size_t lane) {
      list.push_back(static_cast<uint32_t>(lane));
      list.push_back(closed(static_cast<int>(lane)) - batch.mark[lane]);
    });
  return list;
}

size_t AsyncGroups::batches(uint32_t lanes) const {
  return static_cast<size_t>(
      std::ranges::count_if(batches_, [&](const Batch& batch) { return (batch.in_flight & lanes) != 0; }));
}

void AsyncGroups::forget_completed() {
  std::erase_if(batches_, [](const Batch& batch) { return (batch.in_flight | batch.abandoned) == 0; });
  settled_ = 0;
  open_ = false;
}

void AsyncGroups::assign(uint32_t lanes, const AsyncGroups& other) {
  if (batches_.empty() && other.batches_.empty()) return;
  if (closed_.empty()) closed_.resize(32, 0);
  each(lanes, [&](size_t lane) { closed_[lane] = other.closed(static_cast<int>(lane)); });
  for (Batch& batch : batches_) {
    static const Batch kNone;
    const Batch* const from = other.find(batch.number);
    const Batch& state = from == nullptr ? kNone : *from;
    batch.begun = (batch.begun & ~lanes) | (state.begun & lanes);
    batch.in_flight = (batch.in_flight & ~lanes) | (state.in_flight & lanes);
    each(lanes & state.begun, [&](size_t lane) { batch.mark[lane] = state.mark[lane]; });
  }
  settled_ = 0;
  open_ = false;
}

void AsyncGroups::abandon(uint32_t lanes, const AsyncGroups& other) {
  for (Batch& batch : batches_)
    if (const Batch* const from = other.find(batch.number)) batch.abandoned |= from->in_flight & lanes;
}

void AsyncGroups::merge(uint32_t lanes, const AsyncGroups& other) {
  if (batches_.empty() && other.batches_.empty()) return;
  if (closed_.empty()) closed_.resize(32, 0);
  for (const Batch& batch : other.batches_) {
    if (find(batch.number) != nullptr) continue;
    const auto after =
        std::ranges::find_if(batches_, [&](const Batch& at) { return at.number > batch.number; });
    Batch added;
    added.number = batch.number;
    batches_.insert(after, added);
  }
  last_ = std::max(last_, other.last_);
  each(lanes, [&](size_t lane) {
    const uint32_t bit = 1u << lane;
    const uint32_t theirs = other.closed(static_cast<int>(lane));
    const uint32_t closed = std::max(closed_[lane], theirs);
    for (Batch& batch : batches_) {
      const Batch* const from = other.find(batch.number);
      const bool had = (batch.begun & bit) != 0, has = from != nullptr && (from->begun & bit) != 0;
      const bool was_flying = (batch.in_flight & bit) != 0, is_flying = has && (from->in_flight & bit) != 0;
      uint32_t& mark = batch.mark[lane];
      if (was_flying || is_flying) {
        const uint32_t least = std::min(was_flying ? closed_[lane] - mark : AsyncGroups::kInFlight,
                                        is_flying ? theirs - from->mark[lane] : AsyncGroups::kInFlight);
        mark = closed - least;
        batch.in_flight |= bit;
      } else if (has) {
        mark = had ? std::max(mark, from->mark[lane]) : from->mark[lane];
      }
      if (has) batch.begun |= bit;
    }
    closed_[lane] = closed;
  });
  settled_ = 0;
  open_ = false;
}

}  // namespace glove::verify
