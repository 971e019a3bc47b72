#include "cpu/cpu_backend.h"

#include <utility>

#include "base/cores.h"
#include "cpu/cpu_analysis.h"
#include "cpu/kernels/kernels.h"
#include "cpu/processor_name.h"
#include "cpu/search/row_access.h"
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
  const std::string processor = cpu::processor_name();
};

class CpuSearcher final : public Searcher {
 public:
  // REQUIRES: cpu->kernels.ok()
  CpuSearcher(std::shared_ptr<const Cpu> cpu, ModelPtr model)
      : cpu_(std::move(cpu)), model_(std::move(model)) {}

  Status search(std::span<SearchRequest> requests) override {
    GLOVE_ASSIGN_OR_RETURN(const int threads, cpu_->options.thread_count());
    row_access_.expect(*model_, cpu::RowAccess::Pattern::kScattered);
    return cpu::search({*cpu_->kernels.value(), *model_, threads, cpu_->options.scan_bits}, requests);
  }

  Status score_all(const Query& query, std::span<double> dots, const InterruptCheck& interrupted,
                   ScanCost& cost) override {
    GLOVE_ASSIGN_OR_RETURN(const int threads, cpu_->options.thread_count());
    row_access_.expect(*model_, cpu::RowAccess::Pattern::kSequential);
    return cpu::score_all({*cpu_->kernels.value(), *model_, threads}, query, dots, interrupted, cost);
  }

  SearcherInfo info() const override { return cpu_->info(); }

 private:
  const std::shared_ptr<const Cpu> cpu_;
  const ModelPtr model_;
  cpu::RowAccess row_access_;
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

  std::string_view target() const {
    return cpu_->kernels.ok() ? cpu_->kernels.value()->name : std::string_view();
  }

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
  return std::make_unique<CpuBackend>(options);
}

std::vector<std::string_view> cpu_targets() {
  std::vector<std::string_view> names;
  for (const Kernels* kernels : cpu::usable_kernels()) names.push_back(kernels->name);
  return names;
}

std::string_view cpu_target_of(const Backend& backend) {
  return static_cast<const CpuBackend&>(backend).target();
}

}  // namespace glove
