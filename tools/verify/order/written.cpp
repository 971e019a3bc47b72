// Whether what a thread reads from shared memory at a place that is not known was written.
#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <string>

#include "order/order.h"

namespace glove::verify {

void OrderPart::check_written(BlockState& state, const Warp& warp, const Instruction& in, const Place& place,
                              unsigned bytes, int lane, bool certain) {
  const uint64_t end = setup_.shared_end();
  if (place.space != Space::kShared || place.kind == Place::kNumber || setup_.options.allow_undefined ||
      report_.assumes_written(in))
    return;
  if (setup_.cluster.blocks > 1) return report_.assume_written(in);  // of any of its blocks
  if (state.shared.defined(0, end)) return;
  const Interval range = Reasoner(table_, position(state, warp, lane)).exact_range(place.address);
  uint64_t stride = 0;
  Wide residue = static_cast<int64_t>(place.address.constant);
  for (const LinearTerm& term : table_.terms(place.address.form)) {
    const Symbol& symbol = table_.symbol(term.symbol);
    stride = std::gcd(stride, static_cast<uint64_t>(std::llabs(term.factor)) * symbol.stride);
    residue += Wide{term.factor} * symbol.residue;
  }
  const Wide step = std::max<Wide>(static_cast<Wide>(stride), 1);
  const Wide first = residue + ceil_divide(std::max<Wide>(range.lo, 0) - residue, step) * step;
  const Wide last = std::min<Wide>(range.hi, static_cast<Wide>(end) - bytes);
  const auto defined = [&](Wide from, Wide to) {
    return state.shared.defined(static_cast<uint64_t>(from), static_cast<uint64_t>(to) + bytes);
  };
  if (first > last || defined(first, last)) return;
  // Each place is possible if nothing is known of the data that decide it.
  certain = certain && !open_.under_conditions(state, warp);
  const bool each = certain && setup_.launch.ranges.empty() && range.lo >= 0 && range.hi == last &&
                    takes_every_value(place.address, table_);
  bool all = true, any = false;
  std::optional<Wide> gap;
  for (Wide at = first; at <= last && (each || all || !any); at += step) {
    all = all && defined(at, at);
    bool here = false;
    for (Wide word = at / 4 * 4; word < at + bytes; word += 4)
      here |= state.shared.at(static_cast<uint64_t>(word)).known != Known::kNothingWritten;
    any |= here;
    if (!here && !gap) gap = at;
  }
  if (all) return;
  if (any && !(each && gap)) return report_.assume_written(in);
  undefined_read(state, warp, in, certain && !any, lane,
                 "thread " + std::to_string(warp.thread(lane)) + (any ? " may read" : " reads") +
                     " shared memory at " + std::to_string(static_cast<int64_t>(*gap)) +
                     (any || first == last ? "" : " or behind"));
}

}  // namespace glove::verify
