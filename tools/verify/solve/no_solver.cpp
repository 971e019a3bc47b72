// In a build without Z3.
#include "solve/two_threads.h"

namespace glove::verify {

bool has_solver() {
  return false;
}

TwoThreads decide_two_threads(const Setup& /*setup*/, bool /*every_grid*/, Budget& /*budget*/) {
  return {.text = "this build has no Z3"};
}

}  // namespace glove::verify
