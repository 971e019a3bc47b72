#include "base/io_thread.h"

#include <exception>
#include <utility>

#include "base/float_environment.h"
#include "base/require.h"
#include "base/system_calls.h"

namespace glove {

bool IoThread::start(const char* name, std::function<void()> body) noexcept try {
  GLOVE_REQUIRE(!started());
  const BlockedSignals blocked;
  thread_ = std::thread([work = std::move(body)] {
    const ScopedFloatEnvironment environment;
    work();
  });
  system_calls::name_thread(thread_, name);
  return true;
} catch (const std::exception&) {
  return false;
}

void IoThread::join() {
  if (thread_.joinable()) thread_.join();
}

}  // namespace glove
