#include "sql/index/segment_bytes.h"

#include <algorithm>
#include <string>

namespace glove::sql {

SegmentBytes::SegmentBytes(Connection& connection, const IndexDefinition& index, const SegmentRecord& record,
                           int64_t dims)
    : connection_(connection),
      index_(index),
      record_(record),
      total_(live::segment_bytes(record.rows, dims, record.planes())) {}

Status SegmentBytes::find_block_size() {
  if (block_bytes_ > 0) return {};
  OwnQuery run(connection_.db(), index_.name,
               "SELECT length(data) FROM " + index_.object("_block") + " WHERE segment = ? AND number = 0",
               record_.id);
  GLOVE_RETURN_IF_ERROR(run.next());
  const int64_t earlier{kEarlierSegmentBlockBytes};
  block_bytes_ = run.integer(0) == std::min(total_, earlier) ? earlier : int64_t{kSegmentBlockBytes};
  return {};
}

Status SegmentBytes::append(int64_t begin, int64_t end, HugePageBuffer<char>& bytes) {
  GLOVE_RETURN_IF_ERROR(find_block_size());
  for (int64_t at = begin; at < end;) {
    const int64_t number = at / block_bytes_;
    GLOVE_RETURN_IF_ERROR(go_to(number));
    const auto block = run_->blob(1);
    const auto* const data = reinterpret_cast<const char*>(block.data());
    const int64_t first = number * block_bytes_;
    const int64_t last = std::min(end, first + static_cast<int64_t>(block.size()));
    bytes.insert(bytes.end(), data + (at - first), data + (last - first));
    at = last;
  }
  return {};
}

Status SegmentBytes::expect_end() {
  GLOVE_ASSIGN_OR_RETURN(const bool more, run_->next());
  ++number_;
  return more ? check_block() : Status();
}

// Moves to a block, which is then complete.
Status SegmentBytes::go_to(int64_t number) {
  if (run_ && number == number_) return {};
  if (!run_ || number != number_ + 1)
    run_.emplace(connection_.db(), index_.name,
                 "SELECT number, data FROM " + index_.object("_block") +
                     " WHERE segment = ? AND number >= ? ORDER BY number",
                 record_.id, number);
  number_ = number;
  Result<bool> more = run_->next();
  Status status = more.status();
  if (more.ok())
    status = more.value()
                 ? check_block()
                 : damaged_index(index_, name_of(record_) + " has no block number " + std::to_string(number));
  if (!status.ok()) run_.reset();
  return status;
}

Status SegmentBytes::check_block() {
  const int64_t size = std::clamp<int64_t>(total_ - number_ * block_bytes_, 0, block_bytes_);
  if (run_->integer(0) == number_ && size > 0 && static_cast<int64_t>(run_->blob(1).size()) == size)
    return {};
  return damaged_index(index_, name_of(record_) + " has a block that does not belong to it, number " +
                                   std::to_string(run_->integer(0)));
}

}  // namespace glove::sql
