// The processor's name.
#pragma once

#include <string>

namespace glove::cpu {

// What the processor calls itself ("AMD EPYC 9654 96-Core Processor"), or "CPU".
std::string processor_name();

}  // namespace glove::cpu
