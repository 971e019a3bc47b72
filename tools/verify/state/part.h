// What every part of a run refers to: what it has learned, what it reports, and the operands of instructions.
#pragma once

#include <array>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "flow/flow.h"
#include "glove_verify/launch.h"
#include "state/block_pair.h"
#include "state/bundles.h"

namespace glove::verify {

// How blocks form clusters. Each of these is run as if it were one block.
struct ClusterShape {
  std::array<uint32_t, 3> size = {1, 1, 1};
  uint32_t blocks = 1;   // of a cluster
  uint32_t count = 1;    // of clusters in the grid
  uint32_t warps = 0;    // of a block
  uint32_t threads = 0;  // of a cluster; each block's last warp counts as full if there are several
  bool used = false;     // there are several blocks, or the kernel has instructions or registers of clusters
  Windows windows;

  bool several() const { return blocks > 1; }
  uint32_t rank_of(uint32_t warp) const { return warp / warps; }
  // The place of a thread in its block.
  uint32_t in_block(uint32_t thread) const { return thread % (warps * 32); }
};

// What a run is about: one kernel, one launch, and what is asked. Nothing of it changes.
struct Setup {
  // REQUIRES: the kernel outlives it; it may be sliced.
  Setup(const Kernel& code, const Launch& how, const Options& asked);

  // "file.cu:12", or the PTX line where there is no source.
  std::string source_line(const Instruction& in) const { return name_of(kernel.sites[in.site]); }
  // Whether a line of the source, the innermost or one that it was inlined into, is that of the instruction.
  bool comes_from(const Instruction& in, const std::string& file, int line) const;
  // The cell of a granule of shared memory in its table, and the address of a cell.
  size_t cell_of(uint64_t number) const {
    return static_cast<size_t>(cluster.windows.compact(number * granule) / granule);
  }
  uint64_t address_of_cell(size_t cell) const { return cluster.windows.expand(cell * granule); }
  // Where shared memory ends; if the launch does not say, as far as it can end at all.
  uint64_t shared_end() const;
  // The place of a block in the grid, by its cluster and its rank there.
  std::array<uint32_t, 3> block_index(uint32_t unit, uint32_t rank) const;
  uint32_t block_number(const std::array<uint32_t, 3>& index) const {
    return index[0] + launch.grid[0] * (index[1] + launch.grid[1] * index[2]);
  }
  // "thread 3 of block 1", or "thread (3, 0) of block (1, 0)" if the launch has several dimensions; the
  // block, by its number, if it is to be named.
  std::string name_of_thread(uint32_t thread, std::optional<uint32_t> in) const;
  // The same, with the block where there are clusters.
  std::string name_of_thread(const BlockState& state, uint32_t thread) const;
  std::string name_of_thread(const BlockState& state, const Warp& warp, int lane) const {
    return name_of_thread(state, warp.thread(lane));
  }
  // "shared memory at 16", with the block where there are clusters; with_place: "at 16", too.
  std::string shared_at(const BlockState& state, uint64_t address, bool with_place = true) const;
  // The nearest number that may be an address of shared memory, for the bounds of what is not known.
  uint64_t near_shared(Wide address) const {
    const Wide end = cluster.several() ? Wide{cluster.blocks} * Windows::kSize : Wide{kMostShared};
    return static_cast<uint64_t>(std::clamp<Wide>(address, 0, end));
  }
  // The number of a thread in the grid, from 1 on.
  uint32_t owner_of(const BlockState& state, const Warp& warp, int lane) const {
    return state.block * cluster.threads + warp.thread(lane) + 1;
  }
  unsigned register_bits(const PtxOperand& operand) const;
  bool is_predicate(const PtxOperand& operand) const;
  uint32_t number_of(const Instruction& in) const { return static_cast<uint32_t>(&in - kernel.code.data()); }

  // "parameter 3 (offset 24)".
  std::string parameter_at(uint64_t offset) const;
  // "parameter 0+24 (offset 24, u64) and parameter 2 (offset 40, u32)", by offset and bits.
  std::string open_parameters(const std::map<uint64_t, unsigned>& parameters) const;

  const Kernel& kernel;
  const Launch launch;
  const Options options;
  const Flow flow;
  const Waits waits{kernel, flow};
  uint32_t threads = 0;  // of a block
  uint32_t blocks = 1;
  ClusterShape cluster;
  bool arrives_relaxed = false;  // at the barrier of its cluster
  bool uses_flags = false;  // has fences or the like, and loads by which what other blocks do may be seen
  unsigned granule = 4;     // bytes of a cell
  bool check_global = true;
  bool has_named_barriers = false;
  bool acquires = false;      // has fences or the like, and blocks that may acquire something
  bool has_products = false;  // of matrices, by wgmma; or bulk copies
  bool has_mbarriers = false;
  bool fences_shared_alone = false;  // some fence between the proxies leaves global memory out
};

// How much was done, in all attempts.
struct Effort {
  size_t paths = 0;
  size_t steps = 0;              // warp instructions
  std::vector<bool> executed;    // instructions
  bool stops_when_open = false;  // soon after a finding that parameters decide which the launch does not give
  bool stopped = false;          // there
  Budget budget = {};
};

// What a run that begins again keeps: what it has been wrong about, and the names of values. All else is made
// anew. Owned by the caller of the attempts; each attempt changes it.
struct Learned {
  SymbolTable table;
  std::optional<BlockPair> pair;  // two blocks in place of all; none: the launch's are run
  Effort effort;
  // Buffers that some thread writes; at addresses that are not known, and words of four bytes.
  std::unordered_set<SymbolId> written_objects, written_anywhere;
  PlaceSet written_words;
  std::unordered_set<SymbolId> pointers;  // that were converted to global addresses
  // Where the results of additions may repeat; of objects, 0: shared memory.
  std::unordered_set<GlobalPlace, GlobalPlaceHash> tickets_spoiled;
  std::unordered_set<SymbolId> ticket_objects_spoiled;
  std::unordered_set<SymbolId> ticket_objects_touched;  // of which a known place was spoiled
  // What plain stores write: places, and objects at places that are not known.
  PlaceSet plainly_written;
  std::unordered_set<SymbolId> somewhere_written;
  std::map<std::pair<SymbolId, uint64_t>, uint64_t> distinct_samples;  // by object and offset
  std::map<std::pair<SymbolId, uint64_t>, uint32_t> sampled_words;     // the same: random data
  uint32_t next_location = 1;  // symbols of an attempt before have named those below
};

// What a run finds and assumes, and when it ends.
// Why no more instructions are run. Whoever calls what may end looks at it first.
enum class Ended : uint8_t {
  kNot,
  kPath,     // with a defect, or unproved
  kCovered,  // the path goes on as another one did
  kRun,      // nothing more can be said about the kernel
  kAgain,    // what was taken to be so turned out not to be: the run begins again
};

// "w >= 32, as the launch declares"
inline std::string as_assumption(const Relation& relation) {
  return relation.text + ", as the launch declares";
}

// The table learns what the launch declares of parameters and of the grid.
void declare_relations(const Setup& setup, Learned& learned);

// Collects findings and assumptions. After the end, nothing is added.
class Reporter {
 public:
  Reporter(const Setup& setup, Effort& effort) : setup_(setup), effort_(effort) {}

  // Adds a finding, once per kind and places. state: whose path decides it; null: none does. Returns the
  // finding, or null if it is known. The run ends with the last one that is asked for.
  Finding* find(FindingKind kind, bool definite, const Instruction& in, const Instruction* other,
                std::string message, const BlockState* state);
  // Ends the path, or the run.
  void unproved(const Instruction& in, const std::string& reason, const BlockState* state);
  void unsupported(const Instruction& in, const std::string& reason);
  void end_path(bool covered = false);
  void begin_again();
  // One more step of the search. Returns false if it has ended, or ends here for want of time.
  bool tick();
  Ended why_ended() const { return ended_; }
  bool ended() const { return ended_ != Ended::kNot; }
  // The search ends for want of time or memory, wherever it is.
  void give_up(const std::string& limit);
  // The next path begins.
  void go_on() { ended_ = Ended::kNot; }

  // A finding depends on parameters that the launch does not give.
  void note_open() {
    if (open_until_ == SIZE_MAX && effort_.stops_when_open) open_until_ = effort_.steps + kMostOpenSteps;
  }

  void assume(const std::string& what);
  // What the instruction reads from shared memory was written.
  void assume_written(const Instruction& in);
  bool assumes_written(const Instruction& in) const;
  void reach(int pc) { effort_.executed[pc] = true; }
  // The verdict so far.
  Verdict verdict() const;

 private:
  void add_uncovered(Verdict& verdict) const;

  static constexpr size_t kMostOpenSteps = 16384;

  const Setup& setup_;
  Effort& effort_;
  size_t open_until_ = SIZE_MAX;  // steps
  Ended ended_ = Ended::kNot;
  bool out_of_time_ = false;
  std::vector<Finding> findings_;
  std::set<std::string> found_;  // to say each thing once
  std::set<std::string> assumptions_;
  std::vector<bool> assumed_written_;  // by site
};

// Stands for the offset of a parameter: where the blocks of a cooperative launch meet.
constexpr uint32_t kWorkspace = 0x7fffffffu;

// Which lanes execute an instruction.
struct Guarded {
  Lanes certain = 0;
  Lanes possible = 0;  // the guard is not known
  std::array<PredicateId, 32> condition{};
};

// A base of the parts, which reads and writes the operands of instructions for them. REQUIRES: what it refers
// to outlives it.
struct Part {
  Part(const Setup& setup, Learned& learned, Reporter& report, OpenBranches& open)
      : setup_(setup), learned_(learned), table_(learned.table), report_(report), open_(open) {}

  // The value that a lane sees. Reading a register without a name gives it one.
  Value read(const BlockState& state, const Warp& warp, const PtxOperand& operand, int lane);
  // condition: under which the lane writes; 0: it does.
  void write(const BlockState& state, Warp& warp, const PtxOperand& result, int lane, Value value,
             PredicateId condition);
  // Nothing is known of what an instruction returns to a lane.
  void write_unknown(const BlockState& state, Warp& warp, const Instruction& in, int lane);
  Guarded guard_of(const BlockState& state, const Warp& warp, Lanes lanes, const Instruction& in);
  // What decides whether the lane, of the running bundle, is here, and the condition holds if there is one;
  // nullopt: it is not known.
  std::optional<Value> comes_if(const Warp& warp, int lane, PredicateId condition);

  // A defect of threads of the warp, certain if no condition that is not known has led there. Ends the path.
  void defect(FindingKind kind, const BlockState& state, const Warp& warp, const Instruction& in,
              std::string message, const Instruction* other = nullptr) {
    report_.find(kind, !open_.under_conditions(state, warp), in, other, std::move(message), &state);
    report_.end_path();
  }
  // The same, unless a parameter that the launch does not give decides that one of these lanes comes here:
  // then it is not proved.
  void defect_on_ways(FindingKind kind, const BlockState& state, const Warp& warp,
                      std::initializer_list<int> lanes, const Instruction& in, std::string message,
                      const Instruction* other = nullptr) {
    std::map<uint64_t, unsigned> open;
    for (const int lane : lanes) add_parameters_on_way(position(state, warp, lane), open);
    if (open.empty()) return defect(kind, state, warp, in, std::move(message), other);
    report_.find(FindingKind::kUnproved, false, in, other, message + ", " + depends_on(open), &state);
    report_.end_path();
  }

  // Whether a read of shared memory is to be reported because nothing was written there. If something was,
  // but not for certain, the proof assumes it.
  bool undefined(BlockState& state, const Instruction& in, uint64_t address, unsigned bytes = 4) {
    if (setup_.options.allow_undefined) return false;
    for (uint64_t word = address / 4 * 4; word < address + bytes; word += 4)
      if (state.shared.at(word).known == Known::kNothingWritten) return true;
    if (!state.shared.defined(address, address + bytes)) report_.assume_written(in);
    return false;
  }
  // Reports that the warp reads shared memory where nothing was written; certain: if it comes there at all.
  void undefined_read(const BlockState& state, const Warp& warp, const Instruction& in, bool certain,
                      int lane, const std::string& what) {
    const Position way = position(state, warp, lane);
    std::map<uint64_t, unsigned> parameters;
    add_parameters_on_way(way, parameters);
    const bool open = !certain && !data_decide(way);
    report_.find(parameters.empty() && !open ? FindingKind::kUndefinedRead : FindingKind::kUnproved,
                 certain && !open_.under_conditions(state, warp), in, nullptr,
                 what + ", where nothing has been written" +
                     (!parameters.empty() ? ", " + depends_on(parameters)
                      : open              ? ", under a condition that is not known"
                                          : ""),
                 &state);
  }

  // Adds the parameters that the launch does not give and from which the value, or the predicate, is
  // computed: their bits by their offsets.
  void add_parameters(Value value, bool predicate, std::map<uint64_t, unsigned>& parameters) const;
  // The same of the conditions that hold at a position.
  void add_parameters_on_way(Position position, std::map<uint64_t, unsigned>& parameters) const;
  // What a finding says of these, which it needs to know.
  std::string depends_on(const std::map<uint64_t, unsigned>& parameters) const {
    report_.note_open();
    return "which depends on " + setup_.open_parameters(parameters) + "; give that";
  }
  // Whether no more than data, which may be anything, decide the conditions that hold at a position.
  bool data_decide(Position position) const;

  const Setup& setup_;
  Learned& learned_;
  SymbolTable& table_;
  Reporter& report_;
  OpenBranches& open_;

 private:
  uint64_t special(const BlockState& state, const Warp& warp, Special special, int lane) const;
  uint64_t special_of_cluster(const BlockState& state, const Warp& warp, Special name) const;
  Value workspace();
};

}  // namespace glove::verify
