// The mbarriers of a block: objects in shared memory at which threads and copies arrive, phase by phase.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sync/clocks.h"

namespace glove::verify {

// Every arrival and copy must belong to one phase in all schedules: who arrives knows that the phase before
// has ended; who waits has looked before the phase behind can end; and bytes are expected by threads that
// arrive themselves behind that. Faults are sentences; a fault leaves the mbarrier as it was.
class Mbarriers {
 public:
  using Index = uint32_t;

  // window: how many addresses the shared memory of each block of a cluster has; 0: there are no clusters.
  explicit Mbarriers(uint64_t window = 0) : window_(window) {}

  // "" if it is initialised now.
  std::string init(uint64_t address, uint32_t count, uint32_t thread);
  // "" if nobody arrives, copies or waits there any more.
  std::string invalidate(Index at, uint32_t thread, const Clocks& clocks);
  // The mbarrier at the address, or one that shares bytes from there on; Clocks::kMbarriers if there is none.
  Index find(uint64_t address, uint64_t bytes = 1) const;
  // The thread shows what it initialised to the asynchronous proxy.
  void show(uint32_t thread, const Clocks& clocks);
  // Whether that came before what another does now.
  bool shown(Index at, uint32_t thread, const Clocks& clocks) const {
    return all_[at].shown != 0 && clocks.before(all_[at].owner, all_[at].shown, thread);
  }

  uint32_t generation(Index at) const { return all_[at].generation; }
  // The thread expects `bytes` more, and arrives `times` times.
  std::string arrive(Index at, uint32_t thread, uint32_t times, uint64_t bytes, Clocks& clocks);
  // The thread begins a copy of so many bytes, which arrive in this phase.
  std::string copy(Index at, uint32_t thread, uint64_t bytes, const Clocks& clocks);
  // The thread waits for the end of a phase. Whether it has ended; then the thread knows what all that
  // arrived had done.
  bool wait(Index at, uint32_t thread, uint32_t phase, Clocks& clocks, std::string* fault);
  // The phase whose end a wait for a parity is about.
  uint32_t phase_of_parity(Index at, uint32_t thread, uint64_t parity, const Clocks& clocks) const;

  // The copies that begin from now on arrive in the mbarrier's present phase; flight() stands for that.
  void begin_flight(Index at) { flight_ = at << 24 | all_[at].generation; }
  uint32_t flight() const { return flight_; }
  // Whether the thread knows that copies of a flight have arrived.
  static bool over(uint32_t flight, uint32_t thread, const Clocks& clocks) {
    return clocks.phases_ended(thread, flight >> 24) > (flight & 0xffffff);
  }

  // What comes of an attempt to end a phase: who waited for it, and what is wrong.
  struct End {
    bool ended = false;
    std::vector<uint32_t> released = {};
    std::string missed = {};    // another thread may miss the end of the phase before
    std::string unproved = {};  // whether it ends behind all bytes
  };
  // Ends the phase if all have arrived.
  End end_phase(Index at, Clocks& clocks);
  // A thread that waits, and at which mbarrier; its phase does not end.
  struct Stuck {
    uint32_t thread = 0;
    std::string text;
  };
  std::vector<Stuck> stuck(const Clocks& clocks) const;
  // Whether a thread of the warp waits.
  bool waits(uint32_t warp) const;
  // Whether nobody has waited for the phase of some copy.
  bool unawaited(const Clocks& clocks) const;

 private:
  struct Mbarrier {
    uint64_t address = 0;
    uint32_t count = 0;       // arrivals of a phase; 0: it is no mbarrier any more
    uint32_t pending = 0;     // of them, to come
    uint32_t generation = 0;  // phases that have ended
    int64_t bytes = 0;        // expected and not copied
    uint64_t expected = 0;    // bytes of this phase
    uint32_t owner = 0;       // who initialised it
    uint32_t shown = 0;       // the owner's epoch then
    uint32_t copied = 0;      // so many phases have ended behind the last copy
    // What those of this phase know, and those of the last one knew.
    ClockPointer arrived = nullptr, before = nullptr;
    std::vector<uint32_t> waiting = {}, expecting = {};
    std::vector<std::pair<uint32_t, uint32_t>> looked = {};  // threads, and when, in this phase
  };

  std::string place(uint64_t address) const;
  std::string early(Index at, uint32_t thread, const Clocks& clocks, const std::string& does) const;

  uint64_t window_;
  std::vector<Mbarrier> all_;
  uint32_t flight_ = 0;
};

}  // namespace glove::verify
