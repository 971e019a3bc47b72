// Moves rows from a reader to a consumer: blocks are fetched in order, decoded and derived on several
// threads, and consumed in order. Memory is limited to a few blocks per thread.
#pragma once

#include <functional>
#include <string>

#include "base/cancel.h"
#include "base/status.h"
#include "loader/read_options.h"
#include "loader/row_reader.h"
#include "loader/row_transform.h"

namespace glove {

// Takes the next block of rows and returns false to stop reading. Called on the caller's thread.
using RowConsumer = std::function<Result<bool>(const RowBlock& rows, const DerivedRows& derived)>;

// How to read the rows of one file.
struct PipelineOptions {
  int threads = 0;  // including the calling thread; 0 = usable_cores()
  RowTransform transform;
  ProgressCallback progress;   // called after each block; may be empty
  int64_t file_bytes = 0;      // the total passed to `progress`
  InterruptCheck interrupted;  // may be empty
};

// `source` begins the messages about rows. Returns the first error in file order; the rows before it have
// been consumed. REQUIRES: the float environment on the calling thread.
Status run_row_pipeline(const std::string& source, RowReader& reader, const PipelineOptions& options,
                        const RowConsumer& consume);

}  // namespace glove
