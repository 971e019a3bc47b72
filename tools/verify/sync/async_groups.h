// Asynchronous operations of a warp, in the groups that its threads wait for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace glove::verify {

// Copies (cp.async) or products of matrices (wgmma). Each thread closes groups of the operations that it has
// begun, and waits until all but its last groups are complete; nothing else completes an operation. What a
// warp begins between two commits is a batch, whose number stands in the place of an epoch in the records of
// its accesses. Masks have a bit per lane.
class AsyncGroups {
 public:
  static constexpr uint32_t kInFlight = ~0u;
  static constexpr uint32_t kElsewhere = 0;  // epochs begin with 1

  // The lanes begin operations, which belong to the batch current() until the next commit or wait.
  void begin(uint32_t lanes);
  uint32_t current() const { return batches_.empty() ? 0 : batches_.back().number; }

  void commit(uint32_t lanes);
  // The lane's groups are complete but for the last `pending` ones; `epoch` is its thread's.
  void wait(int lane, uint32_t pending, uint32_t epoch);
  // As commit() and wait() for all groups.
  void wait_all(int lane, uint32_t epoch);

  // The epoch in which the lane has waited for the batch's operations, kInFlight, or kElsewhere if it has not
  // begun them on its way to the present state.
  uint32_t completed(uint32_t batch, int lane) const;
  // How many groups the lane has closed since it began the batch.
  uint32_t age(uint32_t batch, int lane) const;
  // The ages of all batches in flight of the lanes, as a list that tells such states apart.
  std::vector<uint32_t> ages(uint32_t lanes) const;
  // How many batches the lanes have in flight.
  size_t batches(uint32_t lanes) const;
  // Drops the batches that no lane has in flight. REQUIRES: no record names them.
  void forget_completed();

  // The lanes' operations are those of `other`, which was copied from this before.
  void assign(uint32_t lanes, const AsyncGroups& other);
  // The lanes have left the kernel in the state of `other`: nobody waits for what they have in flight.
  void abandon(uint32_t lanes, const AsyncGroups& other);
  // Each lane has come here in the state of this or of `other`: only what is complete in both is.
  void merge(uint32_t lanes, const AsyncGroups& other);

 private:
  struct Batch {
    uint32_t number = 0;
    uint32_t begun = 0;
    uint32_t in_flight = 0;
    uint32_t abandoned = 0;
    // By lane: the groups that it had closed before, or after completion the epoch of the wait.
    std::array<uint32_t, 32> mark{};
  };

  const Batch* find(uint32_t number) const;
  uint32_t closed(int lane) const { return closed_.empty() ? 0 : closed_[lane]; }

  std::vector<Batch> batches_;    // in the order of their numbers
  std::vector<uint32_t> closed_;  // groups, by lane; empty until the first
  size_t settled_ = 0;            // so many batches at the front are complete
  uint32_t last_ = 0;
  bool open_ = false;  // whether the last batch may grow
};

}  // namespace glove::verify
