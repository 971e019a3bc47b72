// Errors as values. Every function below sql/ that can fail returns a Status or a Result<T>, and only
// sql/adapter/boundary.h converts them to SQLite codes. Nothing below sql/ throws deliberately: only
// std::bad_alloc may propagate, which the boundary maps to SQLITE_NOMEM.
#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <utility>
#include <variant>

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

// Success, or an Error.
class [[nodiscard]] Status {
 public:
  Status() = default;  // success
  Status(Error error) : error_(std::move(error)) {}
  Status(ErrorCode code, std::string message) : error_(Error{code, std::move(message)}) {}

  bool ok() const { return !error_.has_value(); }
  // REQUIRES: !ok()
  const Error& error() const {
    assert(!ok());
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

// A value, or the Error that prevented it.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}
  Result(ErrorCode code, std::string message)
      : state_(std::in_place_index<1>, Error{code, std::move(message)}) {}

  bool ok() const { return state_.index() == 0; }
  // REQUIRES: ok()
  T& value() & {
    assert(ok());
    return std::get<0>(state_);
  }
  const T& value() const& {
    assert(ok());
    return std::get<0>(state_);
  }
  T&& value() && {
    assert(ok());
    return std::get<0>(std::move(state_));
  }
  // REQUIRES: !ok()
  const Error& error() const {
    assert(!ok());
    return std::get<1>(state_);
  }
  Status status() const { return ok() ? Status() : Status(error()); }

 private:
  std::variant<T, Error> state_;
};

}  // namespace glove

// Returns the error of `expression` (a Status or a Result) from the enclosing function.
#define GLOVE_RETURN_IF_ERROR(expression)                                                            \
  do {                                                                                               \
    if (const auto& glove_status_ = (expression); !glove_status_.ok()) return glove_status_.error(); \
  } while (false)

#define GLOVE_CONCAT_INNER(a, b) a##b
#define GLOVE_CONCAT(a, b) GLOVE_CONCAT_INNER(a, b)

// GLOVE_ASSIGN_OR_RETURN(auto x, f()) sets x to the Result's value, or returns its error.
#define GLOVE_ASSIGN_OR_RETURN(declaration, expression) \
  GLOVE_ASSIGN_OR_RETURN_INNER(GLOVE_CONCAT(glove_result_, __LINE__), declaration, expression)
#define GLOVE_ASSIGN_OR_RETURN_INNER(result, declaration, expression) \
  auto result = (expression);                                         \
  if (!result.ok()) return result.error();                            \
  declaration = std::move(result).value()
