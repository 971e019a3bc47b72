// The parts of findings in words.
#pragma once

#include <string>

#include "glove_verify/finding.h"

namespace glove::verify {

// "thread 3", with the block where there are several.
std::string thread_name(const Access& access, bool name_block);

// "write by thread 3".
std::string text_of(const Access& access, bool name_block);

}  // namespace glove::verify
