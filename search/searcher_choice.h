// Which searcher answers: the rules of 'auto'.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/cancel.h"
#include "base/status.h"
#include "search/backend.h"
#include "search/model_searchers.h"

namespace glove {

// The searchers of a model that may answer one question, one after another:
//
//   requested = a registered name: that backend's, or an error with its reason.
//   requested = "auto" (or empty): that of the backend that the setting 'backend' names; if that is 'auto'
//   too, of
//     each registered backend that is available and can hold the model, until one succeeds.
//
//   SearcherChoice choice(searchers, requested, interrupted);
//   Status status;
//   do {
//     GLOVE_ASSIGN_OR_RETURN(Searcher* const searcher, choice.next());
//     status = searcher->search(...);
//   } while (!choice.settled_by(status));
//
// Under 'auto' a failure is logged once and remembered, so that the backend is not tried again until a
// setting changes or a model is loaded or unloaded. A backend that is not available is asked again each time,
// and its reason logged once per engine. An interrupt and an invalid argument are the caller's, not the
// backend's. One thread at a time.
class SearcherChoice {
 public:
  // All outlive this object.
  SearcherChoice(ModelSearchers& searchers, std::string_view requested, const InterruptCheck& interrupted)
      : searchers_(searchers), requested_(requested), interrupted_(interrupted) {}

  // The next searcher, opened; it lives as long as `searchers`. An error says why none is left.
  Result<Searcher*> next();

  // Whether this is the answer, rather than a reason to try the next searcher. Names the backend in the error
  // of one that was asked for by name.
  bool settled_by(Status& status);

  // The backend of the last next().
  std::string_view backend() const;

 private:
  Status choose_backend();
  Result<Searcher*> next_that_opens();
  Error named_error(const Error& error) const;
  void pass_over(const std::string& reason);

  ModelSearchers& searchers_;
  std::string_view requested_;
  const InterruptCheck& interrupted_;
  bool chosen_ = false;     // choose_backend() was called
  bool automatic_ = false;  // several backends may serve
  size_t backend_ = 0;      // the position in Backends::all()
  std::string reasons_;     // why the backends before it did not serve
  ErrorCode code_ = ErrorCode::kUnavailable;
};

}  // namespace glove
