#include "cpu/cpu_backend.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/system_calls.h"
#include "base/thread_pool.h"
#include "cpu/cpu_analysis.h"
#include "cpu/kernels/kernels.h"
#include "cpu/search/longest_rows.h"
#include "cpu/search/scan.h"
#include "model/quantize.h"
#include "search/combining_searcher.h"
#include "search/settings.h"

namespace glove {
namespace {

// Models with fewer bytes of codes stay in the cores' caches, where as many searches as there are cores do
// not slow each other down.
constexpr int64_t kWorthCombining = int64_t{16} << 20;

using cpu::Kernels;

// Returns the processor's own name ("AMD EPYC 9654 96-Core Processor"), or "CPU".
std::string processor_name() {
#if defined(__x86_64__)
  unsigned registers[12];
  for (unsigned leaf = 0; leaf < 3; ++leaf) {
    unsigned* four = registers + 4 * leaf;
    if (__get_cpuid(0x80000002U + leaf, &four[0], &four[1], &four[2], &four[3]) == 0) return "CPU";
  }
  char text[sizeof(registers) + 1] = {};
  std::memcpy(text, registers, sizeof(registers));
  std::string name = text;
  name.erase(0, name.find_first_not_of(' '));
  name.erase(name.find_last_not_of(' ') + 1);
  return name.empty() ? "CPU" : name;
#else
  return "CPU";
#endif
}

// With $GLOVE_CPU_FIRST_LEVEL in place of a level that is left open.
CpuBackendOptions with_environment(CpuBackendOptions options) {
  const char* const name = std::getenv("GLOVE_CPU_FIRST_LEVEL");
  if (options.first_level != FirstLevel::kFastest || name == nullptr) return options;
  if (std::string_view(name) == "coarsest") options.first_level = FirstLevel::kCoarsest;
  if (std::string_view(name) == "codes8") options.first_level = FirstLevel::kCodes8;
  return options;
}

// State shared by the backend and its searchers.
struct Cpu {
  explicit Cpu(const CpuBackendOptions& chosen)
      : kernels(cpu::choose_kernels(chosen.target)), options(chosen) {}

  SearcherInfo info() const {
    if (!kernels.ok()) return {.state = "failed: " + kernels.error().message, .device = "CPU"};
    const Result<int> count = options.thread_count();
    return {.state = "mapped",
            .device = processor + ", " + std::to_string(count.ok() ? count.value() : 1) + " threads, " +
                      std::string(kernels.value()->name)};
  }

  const Result<const Kernels*> kernels;
  const CpuBackendOptions options;
  const std::string processor = processor_name();
};

class CpuSearcher final : public Searcher {
 public:
  // REQUIRES: cpu->kernels.ok()
  CpuSearcher(std::shared_ptr<const Cpu> cpu, ModelPtr model)
      : cpu_(std::move(cpu)), model_(std::move(model)) {}

  Status search(std::span<SearchRequest> requests) override {
    GLOVE_ASSIGN_OR_RETURN(const int threads, cpu_->options.thread_count());
    expect(system_calls::Access::kScattered);
    return cpu::search({*cpu_->kernels.value(), *model_, threads, cpu_->options.first_level, &longest_},
                       requests);
  }

  Status score_all(const Query& query, std::span<double> dots, const InterruptCheck& interrupted,
                   ScanCost& cost) override {
    GLOVE_ASSIGN_OR_RETURN(const int threads, cpu_->options.thread_count());
    expect(system_calls::Access::kNormal);
    return cpu::score_all({*cpu_->kernels.value(), *model_, threads}, query, dots, interrupted, cost);
  }

  SearcherInfo info() const override { return cpu_->info(); }

 private:
  // Tells the operating system how rows that are mapped from a file will be read. A scan reads a few
  // scattered rows, and read-ahead for them would evict the codes if memory holds little more than those; a
  // full pass benefits from read-ahead.
  void expect(system_calls::Access access) {
    if (model_->source().maps.empty() || access_.load(std::memory_order_relaxed) == access) return;
    access_.store(access, std::memory_order_relaxed);
    for (const ModelPart& part : model_->parts())
      if (model_->place_in_file(std::as_bytes(part.vectors)))
        system_calls::advise_access(part.vectors.data(), part.vectors.size_bytes(), access);
  }

  const std::shared_ptr<const Cpu> cpu_;
  const ModelPtr model_;
  std::atomic<system_calls::Access> access_ = system_calls::Access::kNormal;
  cpu::LongestRows longest_;
};

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(const CpuBackendOptions& options)
      : cpu_(std::make_shared<Cpu>(options)), analysis_(make_cpu_analysis(options)) {}

  std::string_view name() const override { return "cpu"; }
  Status available() override { return cpu_->kernels.status(); }

  Result<std::shared_ptr<Searcher>> open(const ModelPtr& model, const InterruptCheck&) override {
    GLOVE_RETURN_IF_ERROR(cpu_->kernels);
    std::shared_ptr<Searcher> searcher = std::make_shared<CpuSearcher>(cpu_, model);
    if (code_bytes(model->words(), model->dims()) >= kWorthCombining)
      searcher = std::make_shared<CombiningSearcher>(std::move(searcher));
    return searcher;
  }

  Analysis* analysis() override { return analysis_.ok() ? analysis_.value().get() : nullptr; }

  SearcherInfo info() const override { return cpu_->info(); }

 private:
  const std::shared_ptr<const Cpu> cpu_;
  const Result<std::unique_ptr<Analysis>> analysis_;
};

}  // namespace

Result<int> CpuBackendOptions::thread_count() const {
  if (threads > 0) return threads;
  int set = 0;
  if (settings != nullptr) {
    GLOVE_ASSIGN_OR_RETURN(set, settings->threads());
  }
  return glove::thread_count(set);
}

std::unique_ptr<Backend> make_cpu_backend(const CpuBackendOptions& options) {
  return std::make_unique<CpuBackend>(with_environment(options));
}

std::vector<std::string_view> cpu_targets() {
  std::vector<std::string_view> names;
  for (const Kernels* kernels : cpu::usable_kernels()) names.push_back(kernels->name);
  return names;
}

}  // namespace glove
