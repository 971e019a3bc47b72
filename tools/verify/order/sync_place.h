// Places in global memory by which blocks synchronise, what is done there, and what is seen of it.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "state/state.h"

namespace glove::verify {

// Kinds of the fences around counters and flags: a bit for each release, or for each sight.
struct FenceKinds {
  uint32_t needs_sequential = 0;         // releases by a fence.sc before a barrier
  uint32_t seen_without_sequential = 0;  // sights behind which some fence is not a fence.sc
  uint32_t light_releases = 0;           // releases by something else than a fence.sc
  uint32_t seen_elsewhere = 0;           // sights behind which another thread has the fence
};

// What a thread has seen of a counter or flag: that it is so much at least, or exactly. Clocks number them.
struct Sight {
  uint32_t location = 0;
  uint64_t least = 0;
  bool exactly = false;
  bool operator==(const Sight&) const = default;
};

// A block's addition to a place, or store.
struct Change {
  uint64_t number = 0;
  uint64_t least = 0;    // an addition comes when the place holds so much
  uint32_t release = 0;  // bits of releases that come before; 0: no fence does
  uint32_t carries = 0;  // the sights of its thread before the fence
};

// A store to a counter by who has seen others' additions.
struct SetBack {
  uint32_t block = 0;
  uint32_t arrived = 0;  // the block's own releases before
  uint32_t seen = 0;
};

// A place by which blocks synchronise.
struct SyncPlace {
  GlobalPlace key;
  bool adds = false, stores = false;
  bool wraps = false;                                       // it is a counter of atomicInc
  bool spoiled = false;                                     // something else writes it, or without a fence
  std::map<std::pair<uint64_t, uint32_t>, Change> changes;  // by round or number stored, and block
  std::vector<SetBack> set_back;
};

}  // namespace glove::verify
