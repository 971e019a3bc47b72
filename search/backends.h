// The backends that this process can search with.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "search/backend.h"

namespace glove {

// The backends in the order in which 'auto' tries them. extension/ adds those that were compiled in; "cpu" is
// always present, and last. Thread-safe. Backends are never removed, so pointers and spans stay valid as long
// as this object.
class Backends {
 public:
  static constexpr size_t kMost = 8;

  // Ignores a backend whose name is already present, and any backend beyond kMost.
  void add(std::unique_ptr<Backend> backend);

  std::span<const std::unique_ptr<Backend>> all() const;

  // Returns nullptr if there is no backend of that name.
  Backend* find(std::string_view name) const;

  // What the build leaves out, for glove_version(); "" if nothing. `text` is a literal. Set before others use
  // this object.
  void set_omission(std::string_view text) { omission_ = text; }
  std::string_view omission() const { return omission_; }

  // Returns the names that a user may specify, for messages: "auto, cuda, cpu".
  std::string choices() const;

 private:
  ForkSafeMutex adding_;
  std::array<std::unique_ptr<Backend>, kMost> slots_;  // a slot never changes once it is used
  std::atomic<size_t> used_ = 0;
  std::string_view omission_;
};

}  // namespace glove
