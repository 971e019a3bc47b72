// Learns how many rows an approximate search of a model must read.
#pragma once

#include "base/cancel.h"
#include "base/status.h"
#include "lists/recall_table.h"
#include "model/model.h"
#include "search/searcher.h"

namespace glove {

constexpr int64_t kCalibrationQueries = 1536;

// Asks for the rows nearest to rows of the model, and to sums and differences of two to five of them, drawn
// with a fixed seed. The result is the same on every machine and with any number of threads (0 = the cores
// that this process may use). Errors are those of the searcher, and an interrupt. REQUIRES: the float
// environment; the model has one part, with planes, and a row that is not zero; `searcher` is of the model.
Result<RecallArrays> calibrate_recall(const ModelPtr& model, Searcher& searcher, int threads,
                                      const InterruptCheck& interrupted);

// Whether the model's file has a calibration that is damaged, so that its searches are exact.
bool has_damaged_calibration(const Model& model);

}  // namespace glove
