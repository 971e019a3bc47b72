// Runs of a kernel, and the public functions.
#include "glove_verify/verify.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include "launch/launch_file.h"
#include "ptx/parser.h"
#include "run/all_grids.h"
#include "steps/steps.h"

namespace glove::verify {
namespace {

// One attempt to run a kernel: all threads with concrete indices, all data unknown. Owns the parts of a run.
// Whatever is not in Learned is made anew for the next attempt.
class Run {
 public:
  Run(const Setup& setup, Learned& learned);
  Run(const Run&) = delete;

  // Runs all blocks. Returns false if the run has to begin again.
  bool once();
  // The same; if the time or the memory is spent, the verdict says so.
  bool once_in_budget() {
    try {
      return once();
    } catch (const Spent& spent) {
      report_.give_up(spent.memory ? "the memory limit" : "the time limit");
      return true;
    }
  }
  Verdict verdict();

 private:
  void leave_unwritten(Warp& warp);
  BlockState initial_state(uint32_t block);
  void run_block(uint32_t block);
  void run_path(BlockState& state);

  const Setup& setup_;
  Learned& learned_;
  Reporter report_;
  OpenBranches open_;
  const Part part_;
  Order order_;
  Steps steps_;
};

Run::Run(const Setup& setup, Learned& learned)
    : setup_(setup),
      learned_(learned),
      report_(setup, learned.effort),
      part_(setup_, learned_, report_, open_),
      order_(part_),
      steps_(order_) {
  learned_.effort.executed.resize(setup_.kernel.code.size());
}

// Registers that some path reads before it writes them hold anything, in each lane something else.
void Run::leave_unwritten(Warp& warp) {
  for (const uint32_t r : setup_.flow.live_in(0)) {
    const Type type = setup_.kernel.registers[r].type;
    WarpRegister& target = warp.registers.change(r);
    each_lane(warp.lanes,
              [&](int lane) { target.set(lane, learned_.table.fresh_of(type, Scope::kThread, true)); });
  }
}

BlockState Run::initial_state(uint32_t block) {
  BlockState state;
  state.block = block;
  const ClusterShape& cluster = setup_.cluster;
  const uint32_t places = cluster.blocks * cluster.warps * 32;  // of threads
  state.clocks = Clocks(places, setup_.has_products, setup_.has_mbarriers, cluster.used ? cluster.blocks : 0);
  state.shared = Contents(cluster.windows);
  if (cluster.used) {
    state.barriers = NamedBarriers(cluster.blocks);
    state.cluster.barrier = ClusterBarrier(places);
    if (cluster.several()) state.mbarriers = Mbarriers(Windows::kSize);
  }
  for (uint32_t index = 0; index < places / 32; ++index) {
    const uint32_t first = index % cluster.warps * 32;
    Warp warp;
    warp.index = index;
    warp.lanes = setup_.threads - first >= 32 ? ~Lanes{0} : (Lanes{1} << (setup_.threads - first)) - 1;
    warp.alive = warp.lanes;
    warp.registers = RegisterFile(setup_.kernel.registers.size());
    leave_unwritten(warp);
    state.warps.push_back(std::move(warp));
  }
  return state;
}

bool Run::once() {
  steps_.clusters.refuse_unmodelled();
  for (uint32_t block = 0; block < setup_.cluster.count && !report_.ended(); ++block) run_block(block);
  if (setup_.check_global && setup_.blocks > 1 && !report_.ended()) order_.grid_races.compare_blocks();
  if (setup_.check_global && !report_.ended()) order_.aliases.check();
  if (order_.waits.logs() && !report_.ended()) check_progress(order_);
  if (!report_.ended()) order_.grid.add_assumptions();
  return report_.why_ended() != Ended::kAgain;
}

Verdict Run::verdict() {
  report_.go_on();
  if (!learned_.written_objects.empty() && order_.read_only.buffers().size() > 1)
    report_.assume("different pointer parameters point to different buffers");
  if (learned_.table.assumed(SymbolTable::NoWrap::kAddress))
    report_.assume("addresses do not wrap in 64 bits");
  if (learned_.table.assumed(SymbolTable::NoWrap::kIndex))
    report_.assume("index arithmetic in 32 bits does not wrap");
  for (const SymbolTable::Declared& declared : learned_.table.declared)
    if (declared.used) report_.assume(declared.text);
  return report_.verdict();
}

void Run::run_block(uint32_t block) {
  steps_.explorer.begin(initial_state(block));
  while (auto state = steps_.explorer.next()) {
    ++learned_.effort.paths;
    run_path(*state);
    const Ended why = report_.why_ended();
    if (why == Ended::kRun) steps_.explorer.put_back(std::move(*state));
    if (why == Ended::kRun || why == Ended::kAgain) return;
    if (why == Ended::kNot) order_.waits.log_end(*state);
    if (why == Ended::kPath) order_.waits.note_defect();
    open_.innermost = nullptr;
    report_.go_on();
    if (setup_.check_global) order_.grid_races.keep(*state);
  }
}

void Run::run_path(BlockState& state) {
  for (bool progress = true; progress;
       progress = progress || steps_.clusters.release(state) || steps_.barriers.release_after_exits(state)) {
    progress = false;
    for (Warp& warp : state.warps) {
      if ((warp.alive & ~warp.waiting) == 0) continue;
      progress |= steps_.scheduler.run_warp(state, warp) || state.at_full_barrier;
      if (report_.ended()) return;
      if (state.at_full_barrier) {
        state.at_full_barrier = false;
        steps_.explorer.at_full_barrier(state);
        if (report_.ended()) return;
      }
    }
  }
  for (const Warp& warp : state.warps)
    if (warp.waiting != 0 && !report_.ended()) {
      steps_.barriers.report_stuck(state);
      steps_.clusters.report_stuck(state);
      return report_.end_path();
    }
  if (report_.ended()) return;
  if (setup_.has_products) steps_.async.check_warpgroups(state);
  if (setup_.has_mbarriers) steps_.mbarriers.check_end(state);
  steps_.clusters.check_end(state);
}

// A run and what it refers to.
struct HeldRun {
  HeldRun(Kernel code, const Launch& launch, const Options& options, ThreadClock::time_point deadline)
      : sliced(std::move(code)), setup(sliced, launch, options) {
    learned.effort.budget = Budget(deadline, options.memory_limit);
    learned.table.set_budget(&learned.effort.budget);
  }

  // Runs until the run need not begin again.
  Verdict verdict() {
    declare_relations(setup, learned);
    do {
      run.reset();
      run = std::make_unique<Run>(setup, learned);
    } while (!run->once_in_budget());
    return run->verdict();
  }

  const Kernel sliced;
  const Setup setup;
  Learned learned;
  std::unique_ptr<Run> run;
};

// The end of a run that has filled gigabytes takes seconds, which the time limit does not have.
void end_aside(std::unique_ptr<HeldRun> run) {
  try {
    std::thread([run = std::move(run)] {}).detach();
  } catch (const std::system_error&) {
    // No thread could be had: it ended here.
  }
}

// The PTX lines of the stores that race with another store.
std::set<int> racing_stores(const Verdict& verdict) {
  std::set<int> lines;
  for (const Finding& finding : verdict.findings)
    if (finding.kind == FindingKind::kRace && std::ranges::all_of(finding.accesses, [](const Access& access) {
          return access.kind == AccessKind::kWrite && !access.asynchronous;
        }))
      lines.insert({finding.site.ptx_line, finding.other.ptx_line});
  return lines;
}

// Proves the kernel for every grid along the launch's axes: any two blocks, whatever their indices, and the
// grid of one block. nullopt: it could not be proved so.
std::optional<Verdict> prove_every_grid(const Kernel& sliced, const Launch& launch, const Options& options,
                                        ThreadClock::time_point deadline) {
  const Setup setup(sliced, launch, options);
  if (!may_stand_for_all(setup)) return std::nullopt;
  Budget budget(deadline, options.memory_limit);
  std::optional<TwoThreads> solved;  // if it is needed
  const auto no_race = [&] {
    if (!solved) solved = options.solver ? decide_two_threads(setup, true, budget) : TwoThreads{};
    return solved->answer == TwoThreads::Answer::kNever;
  };
  Options first = options;
  first.most_findings = 1;
  Launch one = launch;
  one.grid = {1, 1, 1};
  std::optional<Verdict> sum;
  const auto prove = [&](const Launch& how, const BlockPair::Case* axes) {
    for (const bool again : {false, true}) {
      HeldRun held(sliced, how, first, deadline);
      if (axes != nullptr) held.learned.pair.emplace(*axes, launch.block, held.learned.table);
      Verdict verdict = held.verdict();
      if (!verdict.findings.empty() && (!may_be_solved(verdict) || !no_race())) return false;
      // The run ended with its first finding: what else there is?
      if (!verdict.findings.empty() && !again) {
        first.most_findings = options.most_findings;
        continue;
      }
      if (verdict.findings.size() >= options.most_findings) return false;  // it has not seen all
      if (!verdict.findings.empty()) take(verdict, *solved);
      if (!sum)
        sum = verdict;
      else
        add_to(*sum, verdict);
      return true;
    }
    return false;
  };
  one.grid[0] = 2;  // of a pair
  for (const BlockPair::Case& axes : BlockPair::cases(launch.grid))
    if (!prove(one, &axes)) return std::nullopt;
  one.grid[0] = 1;
  if (!prove(one, nullptr)) return std::nullopt;
  sum->every_grid = true;
  if (launch.grid[0] > 1) assume(*sum, {"a grid has fewer than 2^29 threads along x"});
  return sum;
}

// Looks for data with which something goes wrong in a kernel that could not be proved, and says so in the
// finding. What is sure to happen with these data is no defect yet: the program may never have them.
void find_example(Verdict& verdict, const Kernel& kernel, const Launch& launch, const Options& options) {
  constexpr uint64_t kSeeds = 64;
  constexpr size_t kMostSteps = 300'000;  // warp instructions with all of them
  const bool has_example =
      std::ranges::any_of(verdict.findings, [](const Finding& finding) { return finding.has_example; });
  if (verdict.exit_code() != 2 || has_example || !launch.ranges.empty()) return;
  const Kernel sliced = slice(kernel, {{}, options.shared_only});
  const auto deadline = ThreadClock::in(options.time_limit / 10);
  Options sample = options;
  size_t steps = 0;
  for (uint64_t seed = 1; seed <= kSeeds && steps < kMostSteps; ++seed) {
    sample.data_seed = seed;
    sample.most_steps = kMostSteps - steps;
    const Verdict sampled = HeldRun(sliced, launch, sample, deadline).verdict();
    steps += sampled.steps;
    for (const Finding& found : sampled.findings) {
      if (!is_defect(found) || !found.definite) continue;
      Finding& open = verdict.findings.front();
      open.has_example = true;
      open.message += ". --data " + std::to_string(seed) + " shows " + name_of(found.site) + ": " +
                      std::string(name_of(found.kind)) + ": " + found.message;
      return;
    }
    if (sampled.out_of_time) return;
  }
}

// One kernel, one launch, one verdict. REQUIRES: launch.block is set.
Verdict verify_kernel(const Kernel& kernel, const Launch& launch, const Options& options) {
  const auto begin = ThreadClock::now();
  const auto deadline = ThreadClock::in(options.time_limit);
  const auto soon = ThreadClock::in(options.time_limit / 3);  // for all grids; the given one needs its own
  const auto run = [&](const std::set<int>& keep_data) {
    Options exact = options;
    exact.name_all_data = !keep_data.empty();
    Kernel sliced = slice(kernel, {keep_data, options.shared_only});
    if (keep_data.empty())
      if (const auto proved = prove_every_grid(sliced, launch, options, soon)) return *proved;
    auto held = std::make_unique<HeldRun>(std::move(sliced), launch, exact, deadline);
    held->learned.effort.stops_when_open = true;
    Verdict found = held->verdict();
    const bool solves = options.solver && !options.data_seed && !held->setup.cluster.used;
    Effort& effort = held->learned.effort;
    if (solves && !solve(found, held->sliced, launch, options, effort.budget, !effort.stopped)) {
      held = std::make_unique<HeldRun>(held->sliced, launch, exact, deadline);
      found = held->verdict();
      solve(found, held->sliced, launch, options, held->learned.effort.budget, true);
    }
    if (found.out_of_time) end_aside(std::move(held));
    return found;
  };
  Verdict verdict = run({});
  // Whether two writes store the same needs the data that were sliced away.
  const std::set<int> stores = racing_stores(verdict);
  if (!stores.empty()) {
    Verdict with_data = run(stores);
    const bool finds = std::ranges::any_of(with_data.findings,
                                           [](const Finding& finding) { return is_defect(finding.kind); });
    if (finds && !with_data.out_of_time) verdict = std::move(with_data);
  }
  if (options.solver && !options.data_seed) find_example(verdict, kernel, launch, options);
  verdict.kernel = kernel.name;
  verdict.sampled = options.data_seed.has_value();
  verdict.shape = shape_of(verdict, launch, options);
  verdict.seconds = std::chrono::duration<double>(ThreadClock::now() - begin).count();
  return verdict;
}

}  // namespace

Module::Module(Program program) : program_(std::make_shared<const Program>(std::move(program))) {
  for (const Kernel& kernel : program_->kernels) {
    const bool dynamic = std::ranges::any_of(kernel.variables, [](const Variable& variable) {
      return variable.space == Space::kShared && variable.is_extern;
    });
    kernels_.push_back({kernel.name,
                        kernel.max_threads,
                        kernel.exact_threads,
                        kernel.cluster,
                        kernel.shared_bytes,
                        dynamic,
                        {},
                        kernel.code.size()});
    for (const Parameter& parameter : kernel.parameters)
      kernels_.back().parameters.push_back(
          {parameter.offset, parameter.size, parameter.type, parameter.is_pointer});
  }
}

Result<Module> parse(std::string_view ptx, const std::string& file) {
  Result<Program> program = parse_program(ptx, file);
  if (!program.ok()) return program.error();
  program.value().path = file;
  return Module(std::move(program.value()));
}

Result<std::vector<Launch>> read_launches(const std::string& path, const Module& module) {
  Result<std::vector<Launch>> launches = read_spec(path);
  if (!launches.ok()) return launches;
  if (const Status status = check_shared_parameters(launches.value(), module.program()); !status.ok())
    return status.error();
  const Marks marks(module.program());
  for (Launch& launch : launches.value()) {
    const auto kernels = kernels_of(launch, module);
    if (!kernels.ok()) return kernels.error();
    if (kernels.value().empty()) continue;  // it is for another file
    if (const Status status = marks.place(&launch); !status.ok()) return status.error();
  }
  return launches;
}

Result<std::vector<size_t>> kernels_of(const Launch& launch, const Module& module) {
  return matching_kernels(launch, module.program());
}

Result<Verdict> verify(const Module& module, size_t kernel, const Launch& launch, const Options& options) {
  const Kernel& code = module.program().kernels[kernel];
  Launch fitted = launch;
  if (const Status status = fit_launch(&fitted, code); !status.ok()) return status.error();
  Verdict verdict = verify_kernel(code, fitted, options);
  doubt_shape(verdict, code, launch, fitted);
  return verdict;
}

}  // namespace glove::verify
