#include "search/model_searchers.h"

#include "base/concat.h"
#include "base/scope_exit.h"
#include "search/engine.h"

namespace glove {

Result<Searcher*> ModelSearchers::open(size_t backend, const InterruptCheck& interrupted) {
  Slot& slot = slots_[backend];
  if (Searcher* const open = slot.searcher.load(std::memory_order_acquire)) return open;
  GLOVE_RETURN_IF_ERROR(slot.opening.enter(
      interrupted,
      invalid_argument(
          "this thread is opening the model on the backend, and cannot search it until that has ended")));
  const ScopeExit leaving([&slot] { slot.opening.leave(); });
  if (Searcher* const open = slot.searcher.load(std::memory_order_acquire)) return open;
  auto opened = engine_.backends().all()[backend]->open(model_, interrupted);
  const Lock lock(mutex_);
  Outcome& outcome = outcomes_[backend];
  if (!opened.ok()) {
    if (opened.error().code != ErrorCode::kInterrupted) outcome.open_error = opened.error();
    return opened.error();
  }
  outcome.open_error.reset();
  outcome.owner = std::move(opened).value();
  slot.searcher.store(outcome.owner.get(), std::memory_order_release);
  return outcome.owner.get();
}

SearcherInfo ModelSearchers::info(size_t backend) const {
  const Slot& slot = slots_[backend];
  if (const Searcher* const open = slot.searcher.load(std::memory_order_acquire)) return open->info();
  SearcherInfo info = engine_.backends().all()[backend]->info();
  if (info.state != "not loaded") return info;
  if (slot.opening.occupied()) {
    info.state = "uploading";
    return info;
  }
  const Lock lock(mutex_);
  if (const auto& error = outcomes_[backend].open_error) info.state = "failed: " + error->message;
  return info;
}

void ModelSearchers::remember_failure(size_t backend, std::string reason) {
  Failure failure{std::move(reason), engine_.settings().generation(), engine_.catalog().generation()};
  const Lock lock(mutex_);
  outcomes_[backend].failure = std::move(failure);
  slots_[backend].has_failed.store(true, std::memory_order_release);
}

std::optional<std::string> ModelSearchers::remembered_failure(size_t backend) const {
  if (!slots_[backend].has_failed.load(std::memory_order_acquire)) return std::nullopt;
  const uint64_t settings = engine_.settings().generation();
  const uint64_t catalog = engine_.catalog().generation();
  const Lock lock(mutex_);
  const Failure& failure = *outcomes_[backend].failure;
  if (failure.settings_generation != settings || failure.catalog_generation != catalog) return std::nullopt;
  return failure.reason;
}

}  // namespace glove
