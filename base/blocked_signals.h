// The host's signal handlers run on the host's threads, never on ours.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <initializer_list>

namespace glove {

// Hold one while a thread is started: it inherits the mask. Signals that a thread raises by what it does
// itself stay open: a blocked SIGBUS would end the process before its handler (model/mapped_file.h)
// could help.
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
