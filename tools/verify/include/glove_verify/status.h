// Errors as values: one sentence that names the value, the file and the place, and says what to do.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace glove::verify {

enum class ErrorCode {
  kPtx,         // text that is no PTX; the message has the file and the line
  kLaunchFile,  // a launch file, or a parameter that it gives; the message has the file and the line
  kLaunch,      // a kernel that cannot be launched so
};

// Why there is no result.
struct Error {
  ErrorCode code;
  std::string message;
};

// A value, or the Error that prevented it.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  // REQUIRES: ok()
  T& value() { return std::get<0>(state_); }
  const T& value() const { return std::get<0>(state_); }
  // REQUIRES: !ok()
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

// Success, or an Error.
class [[nodiscard]] Status : public Result<std::monostate> {
 public:
  Status() : Result(std::monostate()) {}
  Status(Error error) : Result(std::move(error)) {}
};

}  // namespace glove::verify
