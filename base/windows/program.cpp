// What only programs need, apart from the library, because it takes SHELL32.dll.
#include <csignal>
#include <string>

#include "base/file.h"
#include "base/system_calls.h"
#include "base/windows/windows.h"
// After windows.h.
#include <shellapi.h>

namespace glove::system_calls {

// Those of main() are not in UTF-8.
std::vector<std::string> program_arguments(int /*count*/, char** /*arguments*/) {
  int count = 0;
  wchar_t** const wide = CommandLineToArgvW(GetCommandLineW(), &count);
  std::vector<std::string> arguments;
  for (int i = 0; i < count; ++i) arguments.push_back(windows::narrow(wide[i]));
  LocalFree(wide);
  return arguments;
}

int terminal_columns() {
  const HANDLE terminal = GetStdHandle(STD_ERROR_HANDLE);
  CONSOLE_SCREEN_BUFFER_INFO info{};
  DWORD mode = 0;
  if (GetConsoleMode(terminal, &mode) == FALSE ||
      SetConsoleMode(terminal, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING) == FALSE ||
      GetConsoleScreenBufferInfo(terminal, &info) == FALSE)
    return 0;
  return info.srWindow.Right - info.srWindow.Left + 1;
}

void on_request_to_end(void (*stop)(int)) {
  for (const int number : {SIGINT, SIGTERM, SIGBREAK}) std::signal(number, stop);
}

Result<void*> function_beside_program(const char* name, const char* function) {
  return library_function(directory_of(library_of(GetModuleHandleW(nullptr))) + "\\" + name + ".dll",
                          function);
}

}  // namespace glove::system_calls
