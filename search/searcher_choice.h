// Chooses the searcher that answers: the rules of 'auto'.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"
#include "search/backend.h"
#include "search/model_searchers.h"

namespace glove {

// The searchers of a model that may answer a request, one after another:
//
//   requested = a registered name: that backend's searcher, or an error with its reason.
//   A model or an index that no GPU can search: the CPU's searcher; naming another backend is an error.
//   requested = "auto" (or empty): the searcher of the backend that the setting 'backend' names. If that is
//   'auto' too: the searchers of all registered backends that are available and can hold the model, until
//   one succeeds.
//
//   SearcherChoice choice(searchers, requested, interrupted);
//   Status status;
//   do {
//     GLOVE_ASSIGN_OR_RETURN(Searcher* const searcher, choice.next());
//     status = searcher->search(...);
//   } while (!choice.settled_by(status));
//
// Under 'auto' a failure is logged once and remembered, so that the backend is not tried again until a
// setting changes or a model is loaded or unloaded. A backend that is not available is checked again each
// time, and its reason is logged once per engine. An interrupt and an invalid argument are the caller's
// errors, not the backend's. One thread at a time may use it.
class SearcherChoice {
 public:
  // All arguments must outlive this object.
  //   last_first  begin with the last of several backends, the CPU's
  SearcherChoice(ModelSearchers& searchers, std::string_view requested, const InterruptCheck& interrupted,
                 bool last_first = false)
      : searchers_(searchers), requested_(requested), interrupted_(interrupted), last_first_(last_first) {}

  // Returns the next searcher, opened. It lives as long as `searchers`. An error says why none is left.
  Result<Searcher*> next();

  // Returns true if `status` is the answer, and false if it is a reason to try the next searcher. Adds the
  // backend's name to the error of a backend that was requested by name.
  bool settled_by(Status& status);

  // Returns the name of the backend of the last next().
  std::string_view backend() const;

 private:
  Status choose_backend();
  Result<Searcher*> next_that_opens();
  Error named_error(const Error& error) const;
  void pass_over(const std::string& reason);  // records the reason and moves to the next backend

  ModelSearchers& searchers_;
  std::string_view requested_;
  const InterruptCheck& interrupted_;
  const bool last_first_;
  bool chosen_ = false;     // choose_backend() has been called
  bool automatic_ = false;  // several backends may answer
  size_t backend_ = 0;      // position in Backends::all()
  std::string reasons_;     // why the earlier backends did not answer
  ErrorCode code_ = ErrorCode::kUnavailable;
};

// The backend that 'auto' would use, and why it would not use those before it.
struct LikelyBackend {
  Backend* backend = nullptr;  // null: none is available
  SearcherInfo info;
  std::string passed_over;  // "cuda: <reason>", separated by "; "; empty if none
  std::string failed;       // the same, only of those that were available and failed for the model
};

// Returns the first usable backend that holds the model or, if none does, the first usable one. `searchers`
// may be null: the model is not open anywhere. Opens nothing.
LikelyBackend likely_backend(Engine& engine, const ModelSearchers* searchers);

}  // namespace glove
