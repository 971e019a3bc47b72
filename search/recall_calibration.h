// Learns how many rows an approximate search of a model must read.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "lists/recall_table.h"
#include "model/model.h"
#include "search/searcher.h"

namespace glove {

constexpr int64_t kCalibrationQueries = 1536;

// The rows in lists that a calibration is of. Any thread may call its functions.
class CalibrationRows {
 public:
  virtual ~CalibrationRows() = default;
  // They have planes; vectors only if those of a model.
  virtual const ModelPart& part() const = 0;
  int64_t rows() const { return part().rows; }
  int64_t dims() const { return part().dims; }
  const PlaneLevel& level() const { return *part().planes; }
  // Leaves a row's direction, of any length, in `vector`, which has dims() components. Returns false if it
  // has none.
  virtual bool read(int64_t row, float* vector) const = 0;
  // Sets the similarities by which an approximate search of these rows knows what a query is like; those of
  // zero rows to kNoScore.
  virtual void score(const Query& query, std::span<Neighbor> rows) const = 0;
  // Returns at least the difference between a similarity of score() and the upper bound of search().
  virtual double largest_error(const Query& query) const = 0;
  // Answers the requests exactly, or nearly so. REQUIRES: one thread calls it.
  virtual Status search(std::span<SearchRequest> requests) = 0;
};

// Asks for the rows nearest to queries that are made of rows, drawn with a fixed seed, and to `own` queries.
// The result is the same on every machine and with any number of threads (0 = the cores that this process may
// use). Errors are those of search(), and an interrupt. REQUIRES: the float environment; there is a row that
// is not zero.
Result<RecallArrays> calibrate_recall(CalibrationRows& rows, std::span<const Query> own, int threads,
                                      const InterruptCheck& interrupted);

// The same for a model. REQUIRES: it has one part, with planes; `searcher` is of the model.
Result<RecallArrays> calibrate_recall(const ModelPtr& model, Searcher& searcher, int threads,
                                      const InterruptCheck& interrupted);

// Whether the model's file has a calibration that is damaged, so that its searches are exact.
bool has_damaged_calibration(const Model& model);

}  // namespace glove
