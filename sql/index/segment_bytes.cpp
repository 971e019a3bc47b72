#include "sql/index/segment_bytes.h"

#include <algorithm>
#include <memory>

namespace glove::sql {

SegmentBytes::SegmentBytes(Connection& connection, const IndexDefinition& index, const SegmentRecord& record,
                           int64_t dims)
    : IndexPart(connection, index),
      record_(record),
      total_(live::segment_bytes(record.rows, dims, record.planes())) {}

Status SegmentBytes::find_block_size() {
  if (block_bytes_ > 0) return {};
  OwnQuery run =
      query("SELECT length(data) FROM " + index_.object("_block") + " WHERE segment = ? AND number = 0",
            record_.id);
  GLOVE_ASSIGN_OR_RETURN(const int64_t first_block, run.next_integer());
  const int64_t earlier{kEarlierSegmentBlockBytes};
  block_bytes_ = first_block == std::min(total_, earlier) ? earlier : int64_t{kSegmentBlockBytes};
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
    run_.emplace(db(), index_.name,
                 "SELECT number, data FROM " + index_.object("_block") +
                     " WHERE segment = ? AND number >= ? ORDER BY number",
                 record_.id, number);
  number_ = number;
  Result<bool> more = run_->next();
  Status status = more.status();
  if (more.ok())
    status = more.value() ? check_block()
                          : damaged_index(index_, name_of(record_), " has no block number ", number);
  if (!status.ok()) run_.reset();
  return status;
}

int64_t SegmentBytes::size_of(int64_t number) const {
  return std::clamp<int64_t>(total_ - number * block_bytes_, 0, block_bytes_);
}

Error SegmentBytes::wrong_block(int64_t number) const {
  return damaged_index(index_, name_of(record_), " has a block that does not belong to it, number ", number);
}

Status SegmentBytes::check_block() {
  const int64_t size = size_of(number_);
  if (run_->integer(0) == number_ && size > 0 && static_cast<int64_t>(run_->blob(1).size()) == size)
    return {};
  return wrong_block(run_->integer(0));
}

Status SegmentBytes::append_piece(int64_t begin, int64_t end, HugePageBuffer<char>& bytes) {
  if (sqlite3_api->blob_open == nullptr) return append(begin, end, bytes);  // SQLITE_OMIT_INCRBLOB
  GLOVE_RETURN_IF_ERROR(find_block_size());
  for (int64_t at = begin; at < end;) {
    const int64_t number = at / block_bytes_;
    OwnQuery place =
        query("SELECT rowid FROM " + index_.object("_block") + " WHERE segment = ? AND number = ?",
              record_.id, number);
    GLOVE_ASSIGN_OR_RETURN(const bool found, place.next());
    if (!found) return wrong_block(number);
    sqlite3_blob* opened = nullptr;
    int code = sqlite3_blob_open(db(), index_.schema.c_str(), (index_.name + "_block").c_str(), "data",
                                 place.integer(0), 0, &opened);
    const std::unique_ptr<sqlite3_blob, int (*)(sqlite3_blob*)> blob(opened, sqlite3_blob_close);
    if (code != SQLITE_OK) return database_error(db(), code, index_.name);
    if (sqlite3_blob_bytes(blob.get()) != size_of(number)) return wrong_block(number);
    const int64_t last = std::min(end, number * block_bytes_ + size_of(number));
    if (last <= at) return wrong_block(number);
    const size_t before = bytes.size();
    bytes.resize(before + static_cast<size_t>(last - at));
    code = sqlite3_blob_read(blob.get(), bytes.data() + before, static_cast<int>(last - at),
                             static_cast<int>(at - number * block_bytes_));
    if (code != SQLITE_OK) return database_error(db(), code, index_.name);
    at = last;
  }
  return {};
}

}  // namespace glove::sql
