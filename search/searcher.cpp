#include "search/searcher.h"

namespace glove {

void ScanCost::add(const ScanCost& other) {
  rows_scanned += other.rows_scanned;
  bytes_scanned += other.bytes_scanned;
  candidates += other.candidates;
  scan_us += other.scan_us;
  select_us += other.select_us;
  rescore_us += other.rescore_us;
  if (!other.plan.empty()) plan = other.plan;
  if (!other.unmet.empty()) unmet = other.unmet;
  lists_read += other.lists_read;
  lists += other.lists;
  approximate |= other.approximate;
}

void charge(std::span<SearchRequest> requests, const ScanCost& shared) {
  const auto count = static_cast<int64_t>(requests.size());
  // The shares of a whole number add up to that number.
  const auto share = [count](int64_t total, int64_t i) {
    return total / count + (i < total % count ? 1 : 0);
  };
  for (int64_t i = 0; i < count; ++i) {
    const auto parts = static_cast<double>(count);
    ScanCost& cost = requests[static_cast<size_t>(i)].cost;
    cost.add({share(shared.rows_scanned, i), share(shared.bytes_scanned, i), share(shared.candidates, i),
              shared.scan_us / parts, shared.select_us / parts, shared.rescore_us / parts, shared.plan,
              shared.unmet});
  }
}

SharedInterrupt::SharedInterrupt(std::span<SearchRequest> requests) : requests_(requests) {
  const InterruptCheck* first = requests.empty() ? nullptr : requests.front().terms.interrupted;
  const bool all_the_same = std::ranges::all_of(
      requests, [first](const SearchRequest& request) { return request.terms.interrupted == first; });
  if (!all_the_same) own_ = [this] { return poll(); };
  check_ = all_the_same && first != nullptr ? first : &own_;
}

bool SharedInterrupt::poll() {
  bool all = true;
  for (SearchRequest& request : requests_) {
    if (request.status.ok() && request.terms.interrupted != nullptr)
      request.status = check_interrupt(*request.terms.interrupted);
    all = all && !request.status.ok();
  }
  return all;
}

}  // namespace glove
