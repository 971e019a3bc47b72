// Verdicts as text for people.
#pragma once

#include <string>

#include "report/finding.h"

namespace glove::verify {

std::string text_of(const Verdict& verdict, bool explain);

}  // namespace glove::verify
