// Where bundles of lanes meet behind a branch whose condition is not known: what their registers hold.
#pragma once

#include "state/part.h"

namespace glove::verify {

// Joins what the sides of a branch have come to.
class BundleJoin : private Part {
 public:
  explicit BundleJoin(const Part& run) : Part(run) {}

  // All bundles at the join: what the lanes hold and know from here on.
  void join_bundles(BlockState& state, Warp& warp, Context& context, const std::vector<Bundle>& finished,
                    Lanes before);
  // Two bundles of the same lanes on the way, if they are at the same place.
  bool merge_into(Context& context, Bundle& into, const Bundle& other, const BlockState& state);

 private:
  // Two of a lane's bundles, by their places among those that are left, and what the first of them knows and
  // the second one denies.
  struct Meeting {
    size_t into, from;
    PredicateId condition;
  };
  static std::vector<Meeting> meetings_of(const std::vector<const Bundle*>& bundles, int lane);
  Value joined(const std::vector<const Bundle*>& bundles, size_t i, const std::vector<Meeting>& meetings,
               PredicateId condition, Type type, int lane, const BlockState& state);
  Value join_values(const std::vector<std::pair<const Bundle*, Value>>& values, Type type,
                    PredicateId condition, int lane, const BlockState& state);
  Value join_integers(const std::vector<std::pair<const Bundle*, Value>>& values, unsigned bits, int lane,
                      const BlockState& state);
};

}  // namespace glove::verify
