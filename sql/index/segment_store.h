// Reads and writes the segments of a live index: NAME_segment, NAME_block and NAME_dead.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/huge_pages.h"
#include "live/index_recall.h"
#include "live/segment.h"
#include "sql/index/own_work.h"

namespace glove::sql {

// The bytes of a segment are stored in blocks of this size; the last one may be shorter. A connection whose
// SQLITE_LIMIT_LENGTH is 1,000,000 can read and write them.
constexpr size_t kSegmentBlockBytes = 900'000;
// Blocks of earlier versions had this size.
constexpr size_t kEarlierSegmentBlockBytes = 1'000'000;

// The ids of segments are below this number.
constexpr int64_t kMostSegmentIds = int64_t{1} << 31;

// The number of the blocks that have the lists of the index (live::Lists), in place of a segment's id.
constexpr int64_t kListsNumber = 0;
// The same of those that have its calibration (live::IndexRecall), and of the user's queries for it, one in
// each.
constexpr int64_t kRecallNumber = -1;
constexpr int64_t kQueriesNumber = -2;
// The same of the block that has the shift of the codes, if rows are not compared by cosine: mean and
// direction (model/shifted_codes.h), float32 [2, dims].
constexpr int64_t kShiftNumber = -3;

// A row of NAME_segment.
struct SegmentRecord {
  int64_t id = 0;
  std::string uuid;
  int64_t rows = 0;
  int64_t crc = 0;  // live::Segment::checksum(), plus kInLists, and kSigned; or kShifted; or kBits

  static constexpr int64_t kInLists = int64_t{1} << 32;
  static constexpr int64_t kSigned = int64_t{1} << 33;
  static constexpr int64_t kShifted = int64_t{1} << 34;
  static constexpr int64_t kBits = int64_t{1} << 35;
  static int64_t flags(live::PlaneKind planes) {
    if (planes == live::PlaneKind::kShifted) return kShifted;
    if (planes == live::PlaneKind::kBits) return kBits;
    return (planes == live::PlaneKind::kNone ? 0 : kInLists) +
           (planes == live::PlaneKind::kSigned ? kSigned : 0);
  }
  bool in_lists() const { return (crc & kInLists) != 0; }
  live::PlaneKind planes() const {
    if ((crc & kShifted) != 0) return live::PlaneKind::kShifted;
    if ((crc & kBits) != 0) return live::PlaneKind::kBits;
    return !in_lists()            ? live::PlaneKind::kNone
           : (crc & kSigned) == 0 ? live::PlaneKind::kPlanes
                                  : live::PlaneKind::kSigned;
  }
};

// Names the segment in messages.
std::string name_of(const SegmentRecord& record);
// Returns the checksum that those of segments in these lists, or with this coding, continue.
uint32_t checksum_of(const live::ListsPtr& lists, const CodingPtr& coding);
// Whether the segment was stored with this checksum.
bool has_checksum(const SegmentRecord& record, uint32_t checksum);
// Returns the error of a segment whose bytes are not those that were stored.
Error wrong_checksum(const IndexDefinition& index, const SegmentRecord& record);

// A segment with the rows that are no longer part of the index.
struct StoredSegment {
  SegmentRecord record;
  live::SegmentPtr segment;     // null until it is loaded
  std::vector<int64_t> ids;     // those of the rows, if only they are loaded
  std::string dead;             // bit r % 8 of byte r / 8; empty: no row is dead
  bool dead_has_grown = false;  // since it was read
  bool is_new = false;          // the database does not have it yet

  // The ids of the rows, ascending. REQUIRES: the segment or its ids are loaded.
  std::span<const int64_t> row_ids() const;
  bool is_dead(int64_t row) const {
    const auto place = static_cast<size_t>(row);
    return !dead.empty() && (static_cast<unsigned char>(dead[place / 8]) >> (place % 8) & 1) != 0;
  }
  void kill(int64_t row);
  // The same for the row with this id, if there is one. REQUIRES: as row_ids().
  void kill_id(int64_t id);
  int64_t dead_rows() const;
};

// A row of a segment that is not dead.
struct LivingRow {
  int64_t id;
  const StoredSegment* stored;
  int64_t row;
};
// Appends those of a segment. REQUIRES: as StoredSegment::row_ids().
void append_living(const StoredSegment& stored, std::vector<LivingRow>& living);

// Belongs to the table object of one connection, which outlives it, like `index`.
class SegmentStore : IndexPart {
 public:
  using IndexPart::IndexPart;

  // Returns the segments, by ascending id. Those that the process has are loaded.
  Result<std::vector<StoredSegment>> list(int64_t dims);

  // Reads a segment unless it is loaded.
  Status load(StoredSegment& stored, int64_t dims);
  // The same for a search: reads only an outline of a segment that has no room in what the setting
  // "index_memory" allows.
  Status load_for_search(StoredSegment& stored, int64_t dims);
  // Finds what a search of this process has loaded, unless the segment is loaded.
  void find_searched(StoredSegment& stored, int64_t dims) const;
  // Reads the ids of its rows, and no more, unless they are loaded.
  Status load_ids(StoredSegment& stored, int64_t dims);

  // Names a segment for the whole process (live::find_segment). What a file says of its segments holds for
  // this file alone: another one may have been made to say the same of other bytes.
  std::string shared_key(const SegmentRecord& record, int64_t dims) const;

  // Whether the setting "index_memory" allows this many bytes more.
  Result<bool> has_room(int64_t bytes) const;

  // Reads the bytes of a segment from the database and checks them.
  Result<live::SegmentPtr> read(const SegmentRecord& record, int64_t dims);

  // An error if SQLITE_LIMIT_LENGTH of the connection does not allow a segment of this many bytes, or a list
  // of dead rows of this many, to be written.
  Status check_segment_length(size_t bytes) const {
    return check_length(std::min(bytes, kSegmentBlockBytes));
  }
  Status check_length(size_t bytes) const;

  // Reads the lists of the index.
  Result<live::ListsPtr> lists(int64_t dims);
  // Writes lists in place of those that there are. No segment may be in these.
  Status set_lists(const live::Lists& lists) { return replace_blocks(kListsNumber, lists.bytes()); }

  // Returns how the rows are compared and coded: null for cosine, or if no segment has been written yet.
  Result<CodingPtr> coding(int64_t dims);
  // The same for logged rows, of which there may be some before the first segment.
  Result<CodingPtr> coding_of_log(int64_t dims);

  // Returns the calibration with this checksum; null, which is logged, if it is damaged.
  Result<live::IndexRecallPtr> recall(int64_t dims, uint32_t checksum);
  // The same if the process has it; null otherwise.
  live::IndexRecallPtr find_recall(int64_t dims, uint32_t checksum) const;
  // The same, read again from the database, for this caller alone; null if it is damaged.
  Result<live::IndexRecallPtr> read_recall(int64_t dims, uint32_t checksum);
  Status set_recall(std::span<const char> bytes) { return replace_blocks(kRecallNumber, bytes); }
  // Keeps a query for the calibration, and forgets the oldest if there are more than kMostOwnQueries.
  Status add_query(std::span<const float> vector);
  Result<std::vector<Query>> queries();

  // Writes a new segment, whose id nothing else has. This connection keeps one of at most 64 MiB, if there is
  // room for it, until the next list(), so that the query after a 'sync' need not read it again.
  Status add(int64_t id, const live::SegmentPtr& segment);
  Status remove(int64_t id);
  // Writes which rows of the segment are dead.
  Status set_dead(const StoredSegment& stored);
  // Removes all segments, the lists and their calibration. The user's queries stay.
  Status clear();

 private:
  Result<std::vector<StoredSegment>> records();
  Status read_dead(std::vector<StoredSegment>& segments);
  std::string recall_key(int64_t dims, uint32_t checksum) const;
  Result<HugePageBuffer<char>> read_bytes(const SegmentRecord& record, int64_t dims, int64_t begin,
                                          int64_t end);
  Status write_blocks(int64_t id, std::span<const char> bytes);
  Status replace_blocks(int64_t number, std::span<const char> bytes);
  // Leaves the bytes of the blocks with this number in place of a segment's id in `bytes`. Returns false if
  // they are not blocks of up to `most` bytes.
  Result<bool> read_numbered(int64_t number, size_t most, HugePageBuffer<char>& bytes);
  Result<CodingPtr> coding_of(const SegmentRecord& record, int64_t dims);
  Status keep_shift(const live::Segment& segment);

  OwnStatement segments_, dead_;
  std::vector<live::SegmentPtr> written_;  // since the last list(); shared under their keys
  live::ListsPtr lists_;                   // that lists() has returned last, which segments share
  CodingPtr coding_;                       // that coding() has returned last
  live::IndexRecallPtr recall_;            // that recall() has returned last
  std::string recall_key_;
};

}  // namespace glove::sql
