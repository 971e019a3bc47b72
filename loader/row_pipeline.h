// From a reader to a consumer: blocks are fetched in order, decoded and derived on several threads, and
// consumed in order. Memory is bounded by a few blocks a thread.
#pragma once

#include <functional>
#include <string>

#include "base/cancel.h"
#include "base/status.h"
#include "loader/progress.h"
#include "loader/row_reader.h"
#include "model/row_transform.h"

namespace glove {

// Takes the next block of rows; false to stop reading. Called on the caller's thread.
using RowConsumer = std::function<Result<bool>(const RowBlock& rows, const DerivedRows& derived)>;

// How the rows of one file are read.
struct PipelineOptions {
  int threads = 0;  // the caller's among them; 0 = usable_cores()
  RowTransform transform;
  ProgressCallback progress;   // called after each block; may be empty
  int64_t file_bytes = 0;      // the total for `progress`
  InterruptCheck interrupted;  // may be empty
};

// `source` begins the messages about rows. The first error in file order is returned; the rows before it
// have been consumed. REQUIRES: the float environment on the calling thread.
Status run_row_pipeline(const std::string& source, RowReader& reader, const PipelineOptions& options,
                        const RowConsumer& consume);

}  // namespace glove
