// Errors as values. Every function below sql/ that can fail returns a Status or a Result<T>, and only
// sql/adapter/boundary.h converts them to SQLite codes. Nothing below sql/ throws deliberately: only
// std::bad_alloc may propagate, which the boundary maps to SQLITE_NOMEM. One of the errors is that the caller
// has stopped the work, by an InterruptCheck.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <variant>

#include "base/require.h"
#include "base/timer.h"

namespace glove {

enum class ErrorCode {
  kInvalidArgument,  // the caller's value is wrong; the message names it
  kNotFound,         // a file, model or backend of that name does not exist
  kIo,               // the operating system reported an error; the message has its reason
  kCorrupt,          // a file's content violates its format; the message has the place
  kOutOfMemory,      // host or device memory
  kUnavailable,      // a backend cannot be used here and now (no driver, no device, device lost)
  kInterrupted,      // the caller asked to stop
};

// One sentence that names the value, the file and the place, and says what to do.
struct Error {
  ErrorCode code;
  std::string message;
};

// An error on its way to the caller, or none. It is one pointer, and all that is done with an error is out of
// line and cold, so that functions which can fail stay small.
class Failure {
 public:
  Failure() = default;  // none
  [[gnu::cold]] explicit Failure(Error&& error);
  [[gnu::cold]] Failure(ErrorCode code, std::string&& message);
  Failure(const Failure& other) : error_(other.error_ == nullptr ? nullptr : copy(*other.error_)) {}
  Failure(Failure&& other) noexcept : error_(std::exchange(other.error_, nullptr)) {}
  Failure& operator=(Failure other) noexcept {
    std::swap(error_, other.error_);
    return *this;
  }
  ~Failure() {
    if (error_ != nullptr) destroy(error_);
  }

  bool none() const { return error_ == nullptr; }
  // REQUIRES: !none()
  const Error& error() const {
    GLOVE_REQUIRE(!none());
    return *error_;
  }

 private:
  [[gnu::cold]] static Error* copy(const Error& error);
  [[gnu::cold]] static void destroy(Error* error) noexcept;

  Error* error_ = nullptr;  // owned
};

// Success, or an Error.
class [[nodiscard]] Status {
 public:
  Status() = default;  // success
  Status(Error error) : failure_(std::move(error)) {}
  Status(ErrorCode code, std::string message) : failure_(code, std::move(message)) {}
  Status(Failure failure) : failure_(std::move(failure)) {}

  bool ok() const { return failure_.none(); }
  // REQUIRES: !ok()
  const Error& error() const { return failure_.error(); }
  const Failure& failure() const& { return failure_; }
  Failure&& failure() && { return std::move(failure_); }

 private:
  Failure failure_;
};

// A value, or the Error that prevented it.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}
  Result(ErrorCode code, std::string message) : state_(std::in_place_index<1>, code, std::move(message)) {}
  // REQUIRES: !failure.none()
  Result(Failure failure) : state_(std::in_place_index<1>, std::move(failure)) {
    GLOVE_REQUIRE(!std::get_if<1>(&state_)->none());
  }

  bool ok() const { return state_.index() == 0; }
  // REQUIRES: ok()
  T& value() & {
    GLOVE_REQUIRE(ok());
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    GLOVE_REQUIRE(ok());
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    GLOVE_REQUIRE(ok());
    return std::move(*std::get_if<0>(&state_));
  }
  // REQUIRES: !ok()
  const Error& error() const { return failure().error(); }
  const Failure& failure() const& {
    GLOVE_REQUIRE(!ok());
    return *std::get_if<1>(&state_);
  }
  Failure&& failure() && {
    GLOVE_REQUIRE(!ok());
    return std::move(*std::get_if<1>(&state_));
  }
  Status status() const { return ok() ? Status() : Status(failure()); }

 private:
  std::variant<T, Failure> state_;
};

// Returns true to stop the work, which then fails with interrupted_error(). It is called only on the thread
// that called the function it was passed to, at least every 10 ms of work, and never while a lock is held,
// because it may run the host's code, which may call back into the library. If empty, the work is never
// stopped.
using InterruptCheck = std::function<bool()>;

// The error of every function that was stopped.
inline Error interrupted_error() {
  return {ErrorCode::kInterrupted, "interrupted"};
}

// Returns interrupted_error() if `interrupted` says so.
inline Status check_interrupt(const InterruptCheck& interrupted) {
  if (interrupted && interrupted()) return interrupted_error();
  return {};
}

// Calls an InterruptCheck at the first stop(), and then only when its last answer is at least 2 ms old.
// stop() costs about 25 ns, so a loop may call it in every iteration. Once true, it stays true.
class InterruptPoll {
 public:
  static constexpr std::chrono::milliseconds kInterval{2};

  // `interrupted` must outlive the poll.
  explicit InterruptPoll(const InterruptCheck& interrupted) : interrupted_(interrupted) {}

  // Returns true if the work must stop.
  bool stop() {
    if (stopped_ || !interrupted_) return stopped_;
    if (asked_ && since_asked_.microseconds() < 1e3 * kInterval.count()) return false;
    asked_ = true;
    stopped_ = interrupted_();
    since_asked_.lap();
    return stopped_;
  }

  // Returns true if stop() has returned true. Does not call the check.
  bool stopped() const { return stopped_; }

  // Returns interrupted_error() if the work must stop.
  Status check() {
    if (stop()) return interrupted_error();
    return {};
  }

 private:
  const InterruptCheck& interrupted_;
  Timer since_asked_;
  bool asked_ = false;
  bool stopped_ = false;
};

}  // namespace glove

// Returns the error of `expression` (a Status or a Result) from the enclosing function.
#define GLOVE_RETURN_IF_ERROR(expression)                                    \
  do {                                                                       \
    if (auto&& glove_status_ = (expression); !glove_status_.ok())            \
      return std::forward<decltype(glove_status_)>(glove_status_).failure(); \
  } while (false)

#define GLOVE_CONCAT_INNER(a, b) a##b
#define GLOVE_CONCAT(a, b) GLOVE_CONCAT_INNER(a, b)

// GLOVE_ASSIGN_OR_RETURN(auto x, f()) sets x to the Result's value, or returns its error.
#define GLOVE_ASSIGN_OR_RETURN(declaration, expression) \
  GLOVE_ASSIGN_OR_RETURN_INNER(GLOVE_CONCAT(glove_result_, __LINE__), declaration, expression)
#define GLOVE_ASSIGN_OR_RETURN_INNER(result, declaration, expression) \
  auto result = (expression);                                         \
  if (!result.ok()) return std::move(result).failure();               \
  declaration = std::move(result).value()
