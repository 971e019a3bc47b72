#include "cpu/cpu_backend.h"
#include "base/cores.h"

#include <cstdlib>
#include <utility>

#include "base/thread_pool.h"
#include "cpu/kernels.h"
#include "cpu/row_access.h"
#include "cpu/scan.h"
#include "search/settings.h"

namespace glove {
namespace {

using cpu::Kernels;

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(const CpuBackendOptions& options)
      : kernels_(cpu::choose_kernels(options.target)),
        threads_(options.threads),
        settings_(options.settings) {}

  std::string_view name() const override { return "cpu"; }
  Status available() override { return kernels_.status(); }
  Status prepare(const ModelPtr&, const InterruptCheck&) override { return kernels_.status(); }

  Result<std::vector<Candidates>> propose(const ModelPtr& model, std::span<const Query> queries, int64_t k,
                                          const InterruptCheck& interrupted, ScanCost& cost) override {
    GLOVE_RETURN_IF_ERROR(kernels_);
    GLOVE_ASSIGN_OR_RETURN(const int threads, thread_count());
    row_access_.expect(*model, cpu::RowAccess::Pattern::kScattered);
    return cpu::propose({*kernels_.value(), *model, threads, interrupted}, queries, k, cost);
  }

  Status score_all(const ModelPtr& model, const Query& query, std::span<double> dots,
                   const InterruptCheck& interrupted, ScanCost& cost) override {
    GLOVE_RETURN_IF_ERROR(kernels_);
    GLOVE_ASSIGN_OR_RETURN(const int threads, thread_count());
    row_access_.expect(*model, cpu::RowAccess::Pattern::kSequential);
    return cpu::score_all({*kernels_.value(), *model, threads, interrupted}, query, dots, cost);
  }

  Residency residency(const Model&) const override {
    if (!kernels_.ok()) return {.state = "failed: " + kernels_.error().message, .device = "CPU"};
    const Result<int> threads = thread_count();
    return {.state = "mapped",
            .device = processor_ + ", " + std::to_string(threads.ok() ? threads.value() : 1) + " threads, " +
                      std::string(kernels_.value()->name)};
  }

  void release(const Model& model) override { row_access_.forget(model); }

  std::string_view target() const { return kernels_.ok() ? kernels_.value()->name : std::string_view(); }

 private:
  Result<int> thread_count() const {
    if (threads_ > 0) return threads_;
    int threads = 0;
    if (settings_ != nullptr) {
      GLOVE_ASSIGN_OR_RETURN(threads, settings_->threads());
    }
    return threads > 0 ? threads : usable_cores();
  }

  Result<const Kernels*> kernels_;
  int threads_;
  Settings* settings_;
  cpu::RowAccess row_access_;
  std::string processor_ = cpu::processor_name();
};

}  // namespace

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
