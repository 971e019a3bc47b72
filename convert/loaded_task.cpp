// run_task() of the program that lies beside a glove.so, and so need not contain the library a second time.
#include <string>

#include "base/system_calls.h"
#include "convert/task.h"

namespace glove {

bool run_task(const ConvertTask& task) {
  const auto entry = system_calls::function_beside_program("glove", kTaskEntry);
  if (entry.ok()) return reinterpret_cast<TaskEntry*>(entry.value())()(task);
  const std::string& message = entry.error().message;
  task.text(task.context, ConvertTask::Text::kError, message.data(), message.size());
  return false;
}

}  // namespace glove
