#include "verify/run/verify.h"

#include "verify/flow/slice.h"
#include "verify/run/kernel_run.h"

namespace glove::verify {
namespace {

std::string dimensions(const std::array<uint32_t, 3>& size) {
  std::string text = std::to_string(size[0]);
  if (size[1] * size[2] > 1) text += "x" + std::to_string(size[1]);
  if (size[2] > 1) text += "x" + std::to_string(size[2]);
  return text;
}

}  // namespace

Verdict verify(const Kernel& kernel, const Launch& launch, const Options& options) {
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                             std::chrono::duration<double>(options.time_limit));
  const auto run = [&](bool keep_data) {
    const Kernel sliced = slice(kernel, keep_data, nullptr);
    Options exact = options;
    exact.name_all_data = keep_data;
    return KernelRun(sliced, launch, exact, deadline).run();
  };
  Verdict verdict = run(false);
  // Whether two writes store the same needs the data that were sliced away.
  for (const Finding& finding : verdict.findings)
    if (finding.kind == FindingKind::kRace && finding.message.find("write by") == 0) {
      Verdict with_data = run(true);
      if (with_data.exit_code() == 1) verdict = std::move(with_data);
      break;
    }
  verdict.kernel = kernel.name;
  verdict.shape = "block " + dimensions(launch.block) + ", grid " + dimensions(launch.grid) +
                  (options.shared_only ? ", shared memory only" : "") +
                  (launch.name.empty() ? "" : ", " + launch.name);
  return verdict;
}

}  // namespace glove::verify
