// Which verdicts two blocks, or Z3, may add to, and what they say then.
#pragma once

#include <string>
#include <vector>

#include "glove_verify/verify.h"
#include "solve/two_threads.h"

namespace glove::verify {

// Whether two blocks may stand for all, and are worth it.
bool may_stand_for_all(const Setup& setup);
// Adds what a verdict assumes.
void assume(Verdict& verdict, const std::vector<std::string>& more);
// Adds a part that was proved to another.
void add_to(Verdict& sum, const Verdict& part);
// Whether nothing but races of two accesses is left to decide.
bool may_be_solved(const Verdict& verdict);
// There is no race.
void take(Verdict& verdict, const TwoThreads& solved);
// Asks the solver about races that could not be decided, or that a condition that is not known may prevent.
// Returns whether that was of use: a run that was not complete has to go on where there is no race.
bool solve(Verdict& verdict, const Kernel& sliced, const Launch& launch, const Options& options,
           Budget& budget, bool complete);
// "block 256, grid 2", and what else the launch fixes.
std::string shape_of(const Verdict& verdict, const Launch& launch, const Options& options);

// What is wrong in a block whose shape nobody gave may be right in the program's; and so may what is wrong in
// one that is not as the source lets it expect. fitted: the launch with what the kernel says of it.
void doubt_shape(Verdict& verdict, const Kernel& kernel, const Launch& launch, const Launch& fitted);

}  // namespace glove::verify
