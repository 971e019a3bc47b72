// Keeps the host's signal handlers off the library's threads.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <initializer_list>

namespace glove {

// Hold one while starting a thread, which inherits the mask. Signals that a thread raises by its own actions
// stay unblocked: a blocked SIGBUS would end the process before its handler (model/mapped_file.h) could run.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int own : {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) sigdelset(&blocked, own);
    pthread_sigmask(SIG_SETMASK, &blocked, &saved_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &saved_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t saved_;
};

}  // namespace glove
