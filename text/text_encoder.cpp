#include "text/text_encoder.h"

#include <cmath>

namespace glove {
namespace {

// Doubles with a magnitude of at least this much round to an infinite float.
constexpr double kFloatLimit = 0x1.ffffffp127;

}  // namespace

Result<bool> TextEncoder::round_sum(Scratch& scratch) {
  bool zero = true;
  for (size_t j = 0; j < scratch.sum.size(); ++j) {
    if (!(std::fabs(scratch.sum[j]) < kFloatLimit))
      return Error{ErrorCode::kInvalidArgument, "component " + std::to_string(j + 1) +
                                                    " of the vector of the text overflows float32, because "
                                                    "the model's vectors are too long"};
    scratch.vector[j] = static_cast<float>(scratch.sum[j]);
    zero = zero && scratch.vector[j] == 0;
  }
  return !zero;
}

}  // namespace glove
