// What every part of a run refers to.
#pragma once

#include "run/bundles.h"
#include "run/reporter.h"

namespace glove::verify {

struct Basics {
  const Setup& setup;
  Learned& learned;
  Reporter& report;
  OpenBranches& open;
};

}  // namespace glove::verify
