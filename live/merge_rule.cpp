#include "live/merge_rule.h"

#include <algorithm>
#include <numeric>

namespace glove::live {
namespace {

constexpr int64_t kGrowth = 2;
constexpr int64_t kMostDead = 4;  // one row of this many

}  // namespace

std::vector<size_t> segments_to_join(std::span<const SegmentSize> segments) {
  const auto living = [&](size_t i) { return segments[i].rows - segments[i].dead; };
  std::vector<size_t> order(segments.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return living(a) < living(b); });
  // The first `joined` of this order become one: through the last that is not large enough to stay.
  size_t joined = 0;
  int64_t smaller = 0;  // living rows of those before
  for (size_t i = 0; i < order.size(); ++i) {
    const bool too_small = i > 0 && living(order[i]) <= kGrowth * smaller;
    const SegmentSize& size = segments[order[i]];
    if (too_small || size.dead > size.rows / kMostDead) joined = i + 1;
    smaller += living(order[i]);
  }
  order.resize(joined);
  std::sort(order.begin(), order.end());
  return order;
}

}  // namespace glove::live
