// What the processor calls itself.
#pragma once

#include <string>

namespace glove::cpu {

// Returns the processor's own name ("AMD EPYC 9654 96-Core Processor"), or "CPU".
std::string processor_name();

}  // namespace glove::cpu
