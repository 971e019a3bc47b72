// Where the program glove-convert of a package finds the library's part of its work (convert/task.h). Takes
// no argument, so that nothing happens if an application names it to SQLite as an entry point by mistake.
#include "convert/task.h"

extern "C" __attribute__((visibility("default"))) glove::RunTask* glove_convert_entry() {
  return &glove::run_task;
}
