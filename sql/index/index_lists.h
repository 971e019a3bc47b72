// What a command does about the lists of an index (live/list_maker.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "sql/index/index_store.h"
#include "sql/index/own_work.h"

namespace glove::sql {

// The analysis of the CPU's backend, the last one, which computes the same as any other.
Result<Analysis*> cpu_analysis(Connection& connection);

// Lasts for one command. References outlive it.
class IndexLists : IndexPart {
 public:
  // `config` has the dimensions that the index has after the command. How many lists there are then is
  // written to it.
  IndexLists(Connection& connection, const IndexDefinition& index, SegmentStore& store, IndexConfig& config)
      : IndexPart(connection, index), store_(store), config_(config) {}

  // Decides whether the command trains lists, given the rows that the index has after it. `joins_all`: it
  // makes one segment of all rows anyway, so that lists of another number can replace those that there are.
  void plan(int64_t rows, bool joins_all);

  // True if the command trains lists: the first segment of put() must then have all rows.
  bool are_due() const { return are_due_; }

  // Puts a new segment in lists, if it is large enough for them. Trains them first if they are due; otherwise
  // adapts them to the segment if that has the rows of all.
  Status put(live::SegmentPtr& segment);

  // Calibrates the lists by the largest segment in them, if put() has not, and writes that. REQUIRES: after
  // write().
  Status calibrate_again(std::vector<StoredSegment>& segments);

  // Writes what was trained and calibrated.
  Status write();
  size_t bytes_to_write() const { return std::max(trained_ ? lists_->bytes().size() : 0, recall_.size()); }

 private:
  Status train(const live::Segment& segment);
  Status calibrate(const live::SegmentPtr& segment);

  SegmentStore& store_;
  IndexConfig& config_;
  bool are_due_ = false;
  bool joins_all_ = false;  // segments that are in lists
  bool trained_ = false;
  HugePageBuffer<char> recall_;
  live::ListsPtr lists_;
};

}  // namespace glove::sql
