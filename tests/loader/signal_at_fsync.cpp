// Preloaded into a program, this sends it the signal $GLOVE_TEST_SIGNAL during its n-th call of fsync, where
// n is $GLOVE_TEST_FSYNC (1 = the first call).
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

extern "C" __attribute__((visibility("default"))) int fsync(int descriptor) {
  static int calls = 0;
  const char* const number = std::getenv("GLOVE_TEST_SIGNAL");
  const char* const call = std::getenv("GLOVE_TEST_FSYNC");
  if (number != nullptr && call != nullptr && ++calls == std::atoi(call)) std::raise(std::atoi(number));
  return static_cast<int>(::syscall(SYS_fsync, descriptor));
}
