// The public functions, over the parts of the verifier.
#include "glove_verify/verify.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include "launch/launch_file.h"
#include "ptx/parser.h"
#include "run/run.h"

namespace glove::verify {
namespace {

// A run and what it refers to.
struct HeldRun {
  HeldRun(Kernel code, const Launch& launch, const Options& options,
          std::chrono::steady_clock::time_point deadline)
      : sliced(std::move(code)), setup(sliced, launch, options, deadline) {}

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

std::string dimensions(const std::array<uint32_t, 3>& size) {
  std::string text = std::to_string(size[0]);
  if (size[1] * size[2] > 1) text += "x" + std::to_string(size[1]);
  if (size[2] > 1) text += "x" + std::to_string(size[2]);
  return text;
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

// One kernel, one launch, one verdict. REQUIRES: launch.block is set.
Verdict verify_kernel(const Kernel& kernel, const Launch& launch, const Options& options) {
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                             std::chrono::duration<double>(options.time_limit));
  const auto run = [&](const std::set<int>& keep_data) {
    Options exact = options;
    exact.name_all_data = !keep_data.empty();
    auto held =
        std::make_unique<HeldRun>(slice(kernel, {keep_data, options.shared_only}), launch, exact, deadline);
    const auto begin = std::chrono::steady_clock::now();
    do {
      held->run.reset();
      held->run = std::make_unique<Run>(held->setup, held->learned);
    } while (!held->run->once());
    Verdict found = held->run->verdict();
    found.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (std::chrono::steady_clock::now() >= deadline) end_aside(std::move(held));
    return found;
  };
  Verdict verdict = run({});
  // Whether two writes store the same needs the data that were sliced away.
  const std::set<int> stores = racing_stores(verdict);
  if (!stores.empty()) {
    Verdict with_data = run(stores);
    if (with_data.exit_code() == 1 && !with_data.out_of_time) verdict = std::move(with_data);
  }
  verdict.kernel = kernel.name;
  verdict.sampled = options.data_seed.has_value();
  verdict.shape = "block " + dimensions(launch.block) + ", grid " + dimensions(launch.grid) +
                  (options.shared_only ? ", shared memory only" : "") +
                  (launch.name.empty() ? "" : ", " + launch.name);
  return verdict;
}

}  // namespace

Module::Module(Program program) : program_(std::make_shared<const Program>(std::move(program))) {
  for (const Kernel& kernel : program_->kernels)
    kernels_.push_back(
        {kernel.name, kernel.max_threads, kernel.exact_threads, kernel.shared_bytes, kernel.code.size()});
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
  Launch with_block = launch;
  if (launch.block[0] == 0) with_block.block = code.max_threads;
  if (const Status status = check_launch(launch, with_block.block, code); !status.ok()) return status.error();
  return verify_kernel(code, with_block, options);
}

}  // namespace glove::verify
