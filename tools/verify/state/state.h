// A block in the middle of its run: everything that a fork copies.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <memory>
#include <vector>

#include "memory/access.h"
#include "memory/contents.h"
#include "sync/async_groups.h"
#include "sync/clocks.h"
#include "sync/cluster_barrier.h"
#include "sync/mbarriers.h"
#include "value/reason.h"

namespace glove::verify {

// Calls visit(lane) for each of the lanes.
template <class Visit>
void each_lane(Lanes lanes, Visit visit) {
  for (; lanes != 0; lanes &= lanes - 1) visit(std::countr_zero(lanes));
}

// A register of all lanes of a warp.
struct WarpRegister {
  std::array<uint64_t, 32> constant{};
  std::array<uint32_t, 32> form{};
  Lanes unknown = 0;  // lanes whose form is not 0

  Value get(int lane) const { return {constant[lane], form[lane]}; }
  void set(int lane, Value value) {
    constant[lane] = value.constant;
    form[lane] = value.form;
    const Lanes bit = 1u << lane;
    unknown = value.form == 0 ? unknown & ~bit : unknown | bit;
  }
};

// The registers of a warp, 0 until they are set. Copies share those that neither has written since, page by
// page: most registers of most copies are never looked at.
class RegisterFile {
 public:
  explicit RegisterFile(size_t count = 0) : size_(count), pages_((count + kPage - 1) / kPage) {}

  const WarpRegister& operator[](size_t index) const {
    static const WarpRegister kZero;
    const auto& page = pages_[index / kPage];
    if (page == nullptr) return kZero;
    const auto& slot = (*page)[index % kPage];
    return slot == nullptr ? kZero : *slot;
  }
  WarpRegister& change(size_t index) {
    auto& slot = own_page(index)[index % kPage];
    if (slot == nullptr)
      slot = std::make_shared<WarpRegister>();
    else if (slot.use_count() > 1)
      slot = std::make_shared<WarpRegister>(*slot);
    return *slot;
  }
  void forget(size_t index) {
    auto& page = pages_[index / kPage];
    if (page == nullptr || (*page)[index % kPage] == nullptr) return;
    Page& own = own_page(index);
    own[index % kPage].reset();
    if (std::ranges::all_of(own, [](const auto& slot) { return slot == nullptr; })) page.reset();
  }
  size_t size() const { return size_; }

 private:
  static constexpr size_t kPage = 32;
  using Page = std::array<std::shared_ptr<WarpRegister>, kPage>;

  Page& own_page(size_t index) {
    auto& page = pages_[index / kPage];
    if (page == nullptr)
      page = std::make_shared<Page>();
    else if (page.use_count() > 1)
      page = std::make_shared<Page>(*page);
    return *page;
  }

  size_t size_;
  std::vector<std::shared_ptr<Page>> pages_;
};

// What a thread's last fence covers.
struct FenceMark {
  ClockPointer clock;  // null: there was no fence
  uint32_t epoch = 0;
  uint32_t phase = 0;
  bool sequential = false;  // a fence.sc
  bool acquires = false;    // not only a release
};

// Counters of grid barriers that a lane has seen full, and flags that it has seen raised. Each group has a
// bit for each of them.
struct Observed {
  static constexpr uint64_t kOwn = 1;               // by the thread's own load: any fence acquires them
  static constexpr uint64_t kElsewhere = 1u << 12;  // by a load of another thread before: a fence.sc does
  static constexpr uint64_t kAcquired = 1u << 24;   // and acquired
  static constexpr uint64_t kFenced = 1ull << 36;   // and acquired by a fence.sc of the thread that loaded
  static constexpr uint64_t kFencedElsewhere = 1ull << 48;  // and acquired by a fence.sc of another thread
  static constexpr uint64_t kAll = kElsewhere - 1;
  static_assert(Clocks::kCounters == 12);
};

// Where the conditions that hold were last searched for counters and flags.
struct NotedFacts {
  PathPointer path, block_path;
  std::array<uint32_t, 32> epoch{};  // by lane
};

// An access to the shared memory of another block of the cluster.
struct RemoteUse {
  uint32_t epoch = 0;
  uint32_t instruction = 0;
};

// What a cluster has that a block has not.
struct ClusterState {
  ClusterBarrier barrier;
  // By block and thread of the cluster: the thread's last access to that block's shared memory.
  std::map<std::pair<uint32_t, uint32_t>, RemoteUse> remote;
};

// How a lane has come where it is.
struct Trail {
  int jumped_from = 0;  // its last branch, and where that led
  int jumped_to = 0;
  int left_in = 0;  // 1 plus the last block of code that did more than return; 0: not known
};

// 32 threads with their registers; the last warp of a block may have fewer.
struct Warp {
  uint32_t index = 0;
  Lanes lanes = 0;  // that exist
  Lanes alive = 0;
  Lanes waiting = 0;  // at a barrier of the block
  std::array<int, 32> pc{};
  std::array<uint64_t, 32> observed{};  // bits of Observed
  std::array<FenceMark, 32> fence;
  Lanes unfenced_loads = 0;  // no fence of their own follows what they saw last by strong loads or atomics
  Lanes exchanged = 0;       // have been in a loop around an atomic exchange, as in a lock's
  NotedFacts noted;
  AsyncGroups copies;                   // cp.async
  AsyncGroups products;                 // wgmma
  AsyncGroups bulk_reads, bulk_writes;  // cp.async.bulk to global memory
  uint32_t product_count = 0;           // products so far
  uint32_t last_product = 0;            // its instruction
  mutable RegisterFile registers;       // reading an unnamed value names it
  std::vector<Contents> local;          // by lane; empty until it is used
  PathPointer path;
  std::array<int, 32> last_barrier{};  // 1 plus the instruction; 0: none
  std::array<Trail, 32> trails{};      // by lane

  // Its place in the block or, with clusters, in the cluster.
  uint32_t thread(int lane) const { return index * 32 + static_cast<uint32_t>(lane); }
};

struct BlockSnapshot;

// The states of a block at one place, in their order.
struct Lineage {
  std::vector<std::shared_ptr<const BlockSnapshot>> states;
  uint32_t forks = 0;  // of the block until the last of them
};

// How often conditions have forked a block.
struct ForkCount {
  uint32_t all = 0;
  uint32_t of_phase = 0;  // since the last full barrier
};

// A block between two instructions; of a launch with clusters a cluster, whose warps are those of all its
// blocks, one block behind the other. Copies share paths, clocks and snapshots, which are immutable.
struct BlockState {
  uint32_t block = 0;  // or the cluster
  std::vector<Warp> warps;
  Clocks clocks{1};
  NamedBarriers barriers;
  ClusterState cluster;
  Mbarriers mbarriers;
  Contents shared;
  Shadow shadow;
  PathPointer path;  // what all warps know
  ForkCount forks;
  uint32_t generalisations = 0;  // how often it became a general one
  uint32_t arrived = 0;          // counters of grid barriers to which the block has added
  uint32_t arrived_before = 0;   // in phases before
  uint32_t unfenced_phase =
      0;  // the last one with accesses to global memory that no fence of their thread follows
  std::map<uint32_t, std::pair<uint32_t, FenceMark>> releases;  // counter -> who added to it, and its fence
  std::map<uint32_t, SymbolId> arrived_at;  // counter that changes its top bit -> what its addition returned
  uint32_t progress = 0;                    // its last event in the log of progress; 0: none
  uint32_t blurred = 0;                     // how often a slot of shared memory began to vary
  bool at_full_barrier = false;
  std::map<uint64_t, Lineage> lineages;  // by place
};

// What a lane knows.
inline Position position(const BlockState& state, const Warp& warp, int lane) {
  return {warp.path.get(), state.path.get(), lane};
}

// The numbers of a warp's threads in the block.
inline std::vector<uint32_t> threads_of(const Warp& warp, Lanes lanes) {
  std::vector<uint32_t> threads;
  each_lane(lanes, [&](int lane) { threads.push_back(warp.thread(lane)); });
  return threads;
}

// The place of a state in the program, its registers and contents, at a full barrier.
struct BlockSnapshot {
  std::vector<Warp> warps;
  Contents shared;
  PathPointer path;
  SymbolId iteration = 0;             // of a widened state
  uint32_t generalisations = 0;       // of the block until then
  std::vector<SymbolId> anything;     // symbols that stand for any value
  std::vector<uint64_t> flights;      // tells apart what is in flight
  uint32_t progress = 0;              // the block's last event
  SymbolId end = 0;                   // the number of symbols at the time
  std::map<SymbolId, Value> tickets;  // of the state before it became general, and what they became
};

}  // namespace glove::verify
