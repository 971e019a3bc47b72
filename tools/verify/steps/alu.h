// Results of arithmetic: of numbers exactly, of unknowns as far as addresses and branches need it.
#pragma once

#include "ptx/program.h"
#include "value/reason.h"

namespace glove::verify {

// The result of an instruction on numbers; nullopt for operations that are not computed.
std::optional<uint64_t> compute(const Instruction& in, const uint64_t* arguments);

// The result for one thread of which some argument is unknown. REQUIRES: in.op is arithmetic, kMove to kPure.
Value evaluate(const Instruction& in, const Value* arguments, size_t count, SymbolTable& table,
               const Reasoner& reasoner);

}  // namespace glove::verify
