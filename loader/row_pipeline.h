// Moves rows from a reader to a consumer: blocks are fetched in order, decoded and derived on several
// threads, and consumed in order. Memory is limited to a few blocks per thread.
#pragma once

#include <functional>
#include <string>

#include "base/status.h"
#include "loader/read_options.h"
#include "loader/row_reader.h"
#include "loader/row_transform.h"

namespace glove {

// Takes the next block of rows and returns false to stop reading. Called on the caller's thread.
using RowConsumer = std::function<Result<bool>(const RowBlock& rows, const DerivedRows& derived)>;

// How to read the rows of one file. prepare_pipeline() sets what follows from the file and from ReadOptions.
struct PipelineOptions {
  int threads = 0;  // including the calling thread; 0 = usable_cores()
  RowTransform transform;
  ProgressCallback progress;    // called after each block; may be empty
  int64_t file_bytes = 0;       // the total passed to `progress`
  InterruptCheck interrupted;   // may be empty
  LeftOut* left_out = nullptr;  // receives what the blocks have left out; not owned
};

// Returns an error if the options, and keeping only the first `top` words (0: all), do not fit the reader.
Status prepare_pipeline(const std::string& source, const RowReader& reader, const ReadOptions& read,
                        int64_t top, PipelineOptions& options);

// Returns what has become of the rows of a file and is not as most would expect, in sentences that
// `separator` separates. `warning`: RowReader::warning().
std::string describe_rows(const std::string& warning, const LeftOut& left_out, const RowCounts& counts,
                          InvalidUtf8 invalid_utf8, const char* separator);

// `source` begins the messages about rows. Returns the first error in file order; the rows before it have
// been consumed. REQUIRES: the float environment on the calling thread.
Status run_row_pipeline(const std::string& source, RowReader& reader, const PipelineOptions& options,
                        const RowConsumer& consume);

}  // namespace glove
