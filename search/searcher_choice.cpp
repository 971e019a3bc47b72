#include "search/searcher_choice.h"

#include <algorithm>
#include <optional>

#include "base/concat.h"
#include "search/engine.h"

namespace glove {
namespace {

// Whether only the CPU searches the model: bits, or codes that are not all in memory (live/segment.h).
bool is_for_cpu(const Model& model) {
  return model.metric() == RowMetric::kHamming ||
         std::ranges::any_of(model.parts(), [](const ModelPart& part) {
           return part.has_level(8) && part.level(8).codes.empty();
         });
}

// True for errors that every other backend would return as well.
bool is_the_callers(const Error& error) {
  return error.code == ErrorCode::kInterrupted || error.code == ErrorCode::kInvalidArgument;
}

}  // namespace

std::string_view SearcherChoice::backend() const {
  return searchers_.engine().backends().all()[backend_]->name();
}

// Determines which backend to begin with.
Status SearcherChoice::choose_backend() {
  Engine& engine = searchers_.engine();
  const auto backends = engine.backends().all();
  const bool only_last = is_for_cpu(*searchers_.model());
  const Backend* named = nullptr;
  if (requested_.empty() || requested_ == "auto") {
    GLOVE_ASSIGN_OR_RETURN(named, engine.settings().backend());
    if (only_last) named = nullptr;
    automatic_ = named == nullptr;
    if (automatic_ && (last_first_ || only_last) && !backends.empty()) backend_ = backends.size() - 1;
  } else {
    named = engine.backends().find(requested_);
    if (named == nullptr)
      return Status(ErrorCode::kInvalidArgument, "there is no backend " + quoted_value(requested_) +
                                                     "; the backends are: " + engine.backends().choices());
    if (only_last && named != backends.back().get())
      return invalid_argument(
          "an index of bits, or one whose codes are not all in memory, is searched by the CPU; use the "
          "backend 'auto' or '",
          backends.back()->name(), "' instead of '", requested_, "'");
  }
  if (named != nullptr)
    while (backends[backend_].get() != named) ++backend_;
  chosen_ = true;
  return {};
}

Result<Searcher*> SearcherChoice::next() {
  if (!chosen_) GLOVE_RETURN_IF_ERROR(choose_backend());
  if (automatic_) return next_that_opens();
  if (const Status status = searchers_.engine().backends().all()[backend_]->available(); !status.ok())
    return Error{status.error().code,
                 "backend '" + std::string(backend()) + "' is not available: " + status.error().message};
  auto opened = searchers_.open(backend_, interrupted_);
  return opened.ok() ? std::move(opened) : named_error(opened.error());
}

Result<Searcher*> SearcherChoice::next_that_opens() {
  const auto backends = searchers_.engine().backends().all();
  while (backend_ < backends.size()) {
    if (const auto remembered = searchers_.remembered_failure(backend_)) {
      pass_over(*remembered);
    } else if (const Status available = backends[backend_]->available(); !available.ok()) {
      // Without a device every search would log the same message.
      const std::string name(backend());
      searchers_.engine().log().write_once(
          name, "backend '" + name + "' is not available: " + available.error().message);
      pass_over(available.error().message);
    } else {
      auto opened = searchers_.open(backend_, interrupted_);
      if (opened.ok()) return opened;
      Status status = opened.error();
      if (settled_by(status)) return opened;
    }
  }
  if (reasons_.empty()) reasons_ = "none is registered";
  return Error{code_,
               "no backend can search the model " + searchers_.model()->path() + " (" + reasons_ + ")"};
}

bool SearcherChoice::settled_by(Status& status) {
  if (status.ok()) return true;
  if (!automatic_) {
    status = named_error(status.error());
    return true;
  }
  if (is_the_callers(status.error())) return true;
  const std::string reason = status.error().message;
  code_ = status.error().code;
  searchers_.remember_failure(backend_, reason);
  searchers_.engine().log().write("backend '" + std::string(backend()) + "' cannot search the model " +
                                  searchers_.model()->path() + ": " + reason);
  pass_over(reason);
  return false;
}

Error SearcherChoice::named_error(const Error& error) const {
  if (error.code == ErrorCode::kInterrupted) return error;
  // For want of memory SQLite would roll the caller's transaction back, and what a device lacks is not that.
  const bool full = error.code == ErrorCode::kOutOfMemory;
  return {full ? ErrorCode::kUnavailable : error.code,
          "backend '" + std::string(backend()) + "': " + error.message};
}

LikelyBackend likely_backend(Engine& engine, const ModelSearchers* searchers) {
  LikelyBackend choice;
  const auto add = [](std::string& reasons, const Backend& backend, const std::string& reason) {
    reasons += (reasons.empty() ? "" : "; ");
    reasons += std::string(backend.name()) + ": " + reason;
  };
  const auto backends = engine.backends().all();
  const bool only_last = searchers != nullptr && is_for_cpu(*searchers->model());
  for (size_t i = only_last && !backends.empty() ? backends.size() - 1 : 0; i < backends.size(); ++i) {
    std::optional<std::string> reason;
    if (searchers != nullptr) reason = searchers->remembered_failure(i);
    if (reason) add(choice.failed, *backends[i], *reason);
    if (const Status available = backends[i]->available(); !reason && !available.ok())
      reason = available.error().message;
    if (reason) {
      add(choice.passed_over, *backends[i], *reason);
      continue;
    }
    SearcherInfo info = searchers != nullptr ? searchers->info(i) : backends[i]->info();
    const bool holds = info.state != "not loaded";
    if (choice.backend == nullptr || holds) {
      choice.backend = backends[i].get();
      choice.info = std::move(info);
    }
    if (holds) break;
  }
  return choice;
}

void SearcherChoice::pass_over(const std::string& reason) {
  reasons_ += (reasons_.empty() ? "" : "; ") + std::string(backend()) + ": " + reason;
  ++backend_;
}

}  // namespace glove
