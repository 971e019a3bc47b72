// What every part of a run refers to.
#pragma once

#include "state/bundles.h"
#include "state/reporter.h"

namespace glove::verify {

// A base of the parts. REQUIRES: what it refers to outlives it.
struct Part {
  Part(const Setup& setup, Learned& learned, Reporter& report, OpenBranches& open)
      : setup_(setup), learned_(learned), table_(learned.table), report_(report), open_(open) {}

  const Setup& setup_;
  Learned& learned_;
  SymbolTable& table_;
  Reporter& report_;
  OpenBranches& open_;
};

}  // namespace glove::verify
