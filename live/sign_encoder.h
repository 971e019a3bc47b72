// Makes the sign plane of a segment in lists (lists/sign_plane.h).
#pragma once

#include <cstdint>

#include "analysis/analysis.h"
#include "base/cancel.h"
#include "base/status.h"
#include "live/segment.h"

namespace glove::live {

// The codes of a row as the vector of a multiple of what they stand for, whose products are exact.
void read_codes(const Segment& segment, int64_t row, float* vector);

// Returns an upper bound of the sine of the angle between a row's vector and its codes, whose D(x, x) is
// given; 1 or more: there is none.
double sine_of_codes(const Segment& segment, int64_t row, double norm_squared);

// Fills the signs and their bounds, which are zero, at the places of PlaneArrayPlaces in the bytes `out` of
// the planes. Errors: an interrupt. REQUIRES: the float environment; lists with a rotation.
Status encode_segment_signs(Analysis& analysis, const Segment& segment, const Lists& lists,
                            const ListOrder& order, char* out, const InterruptCheck& interrupted);

}  // namespace glove::live
