// Makes the sign plane of rows that are in lists.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/cancel.h"
#include "base/status.h"
#include "lists/plane_arrays.h"

namespace glove {

// Sets out[i, o] = D(rotation row o, rows[i]), rounded to float, for `count` rows.
using RotateRows =
    std::function<Status(std::span<const float> rows, int64_t count, std::span<float> rotated)>;

// Fills the rotation, the signs and their bounds of planes that make_planes() made of the same vectors, on up
// to `threads` threads (0 = the cores that this process may use). `rotate` applies `rotation`, [dims, dims],
// and is called on the calling thread. Errors: those of `rotate`, and kInterrupted. REQUIRES: the float
// environment; can_rotate(dims).
Status add_signs(std::span<const float> vectors, std::span<const double> norms_squared, int64_t dims,
                 PlaneArrays& planes, std::vector<float> rotation, const RotateRows& rotate, int threads,
                 const InterruptCheck& interrupted = {});

}  // namespace glove
