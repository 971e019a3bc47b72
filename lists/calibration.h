// How many rows a search may ask for so that reading planes pays, decided from the rows themselves.
#pragma once

#include <cstdint>

#include "base/cancel.h"
#include "base/status.h"
#include "model/model_part.h"

namespace glove {

// Reading a row's plane two, where each plane has `row_bytes` per row, takes as long as reading this many
// bytes in order, by measurement at 100 and 300 dimensions.
constexpr int64_t second_read_bytes(int64_t row_bytes) {
  return 200 + 3 * row_bytes;
}

// Returns the largest k, at most kMostPlanesK, for which a search for the k rows nearest to one of the part's
// rows is expected to read less by the part's planes than by codes of 4 bits; 0 if there is none. Asks for
// kCalibrationRows of the rows and is the same on every machine and with every number of threads. The only
// error is kInterrupted. REQUIRES: the float environment; the part has planes.
Result<int64_t> most_planes_k(const ModelPart& part, int threads, const InterruptCheck& interrupted);

// The same for a search that otherwise reads so many bytes per row.
Result<int64_t> most_planes_k(const ModelPart& part, int64_t row_bytes, int threads,
                              const InterruptCheck& interrupted);

constexpr int64_t kMostPlanesK = 1000;
constexpr int64_t kCalibrationRows = 256;

}  // namespace glove
