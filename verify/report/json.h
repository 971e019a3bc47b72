// Verdicts for programs: JSON, and SARIF 2.1.0 for viewers of code reviews.
#pragma once

#include <string>
#include <vector>

#include "verify/report/finding.h"

namespace glove::verify {

// {"verdicts": [{"kernel", "verdict", "exit_code", "shape", "seconds", "warp_instructions", "paths",
// "findings", "assumptions", "not_reached"}]}; docs/verify.md describes the fields.
std::string json_of(const std::vector<Verdict>& verdicts);
// A log with one run, and one result per finding.
std::string sarif_of(const std::vector<Verdict>& verdicts);

}  // namespace glove::verify
