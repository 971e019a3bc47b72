// Ballots of a warp, and how many of their votes a number counts.
#pragma once

#include <vector>

#include "value/symbols.h"

namespace glove::verify {

// The part of a linear form that counts votes of ballots, vote by vote: the votes below two lanes differ by
// those between them, however many there are below.
class VoteSum {
 public:
  // Takes a term that counts votes; returns false, and takes nothing, if it does not.
  bool add(const LinearTerm& term, const SymbolTable& table);
  bool empty() const { return ballots_.empty(); }
  // The range of the sum where all of these conditions hold.
  Interval range(std::vector<PredicateId> facts, const SymbolTable& table) const;

 private:
  struct Ballot {
    SymbolId symbol;
    std::array<int64_t, 32> factors{};  // of its votes
  };
  std::vector<Ballot> ballots_;
};

}  // namespace glove::verify
