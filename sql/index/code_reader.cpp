#include "sql/index/code_reader.h"

#include <algorithm>
#include <utility>

#include "base/crc32.h"

namespace glove::sql {
namespace {

constexpr int64_t kMostBlockBytes = int64_t{4} << 20;
// A block is at most this part of the cache.
constexpr int64_t kBlocksInCache = 16;

// Returns what the index has of the segment of an outline, but for the uuid.
SegmentRecord record_of(const live::Segment& segment, int64_t id) {
  return {id, {}, segment.rows(), segment.blocks().checksum + SegmentRecord::flags(segment.blocks().planes)};
}

}  // namespace

// Whether the index has this segment.
SegmentBytes& CodeReader::bytes_of(const live::Segment& segment, int64_t id) {
  if (!bytes_ || bytes_->record().id != id)
    bytes_.emplace(connection_, index_, record_of(segment, id), segment.dims());
  return *bytes_;
}

// Returns whether the bytes of a segment were read, or false if it is not stored any more.
Result<bool> CodeReader::found(const live::Segment& segment, int64_t id, const Status& status) {
  if (status.ok()) return true;
  if (status.error().code != ErrorCode::kCorrupt) return status.error();
  bytes_.reset();
  OwnQuery row =
      query("SELECT 1 FROM " + index_.object("_segment") + " WHERE id = ? AND rows = ? AND crc = ?", id,
            segment.rows(), record_of(segment, id).crc);
  GLOVE_ASSIGN_OR_RETURN(const bool stored, row.next());
  if (stored) return status.error();
  return false;
}

Result<bool> CodeReader::read_codes(const live::Segment& segment, int64_t id, int64_t number,
                                    HugePageBuffer<char>& codes) {
  SegmentBytes& bytes = bytes_of(segment, id);
  const int64_t block = code_bytes(segment.blocks().tiles * kTileRows, segment.dims());
  const int64_t end = std::min((number + 1) * block, code_bytes(segment.rows(), segment.dims()));
  codes.clear();
  codes.reserve(static_cast<size_t>(end - number * block));
  Status status = bytes.append(number * block, end, codes);
  if (status.ok() && crc32_continue(0, codes) != segment.blocks().checksums[static_cast<size_t>(number)])
    status = wrong_checksum(index_, bytes.record());
  return found(segment, id, status);
}

Result<bool> CodeReader::read_planes(const live::Segment& segment, int64_t id, int64_t first, int64_t last,
                                     HugePageBuffer<char>& bytes) {
  SegmentBytes& stored = bytes_of(segment, id);
  const int64_t dims = segment.dims();
  const live::PlaneArrayPlaces places(segment.rows(), dims);
  const int64_t begin = live::segment_bytes(segment.rows(), dims) + places.plane1;
  const int64_t block = live::plane_block_bytes(dims);
  const int64_t end = std::min(last * block, places.plane2 - places.plane1);
  bytes.clear();
  Status status = stored.append_piece(begin + first * block, begin + end, bytes);
  for (int64_t number = first; status.ok() && number < last; ++number) {
    const auto at = static_cast<size_t>((number - first) * block);
    const auto piece =
        std::span<const char>(bytes).subspan(at, std::min(static_cast<size_t>(block), bytes.size() - at));
    if (crc32_continue(0, piece) != segment.blocks().plane_checksums[static_cast<size_t>(number)])
      status = wrong_checksum(index_, stored.record());
  }
  return found(segment, id, status);
}

Result<live::SegmentPtr> read_outline(Connection& connection, const IndexDefinition& index,
                                      const SegmentRecord& record, int64_t dims, const live::ListsPtr& lists,
                                      const CodingPtr& coding, int64_t most) {
  const int64_t codes = code_bytes(record.rows, dims);
  live::CodeBlocks blocks;
  blocks.tiles =
      std::max<int64_t>(1, std::min(most / kBlocksInCache, kMostBlockBytes) / code_bytes(kTileRows, dims));
  const int64_t block = code_bytes(blocks.tiles * kTileRows, dims);
  SegmentBytes reader(connection, index, record, dims);
  HugePageBuffer<char> bytes;
  uint32_t checksum = checksum_of(lists, coding);
  for (int64_t first = 0; first < codes; first += block) {
    bytes.clear();
    GLOVE_RETURN_IF_ERROR(reader.append(first, std::min(first + block, codes), bytes));
    blocks.checksums.push_back(crc32_continue(0, bytes));
    checksum = crc32_continue(checksum, bytes);
  }
  HugePageBuffer<char> rest;
  const live::PlaneArrayPlaces places(record.rows, dims);
  int64_t at = live::segment_bytes(record.rows, dims, live::kind_of(metric_of(coding))) +
               (record.in_lists() ? places.plane1 : 0);
  GLOVE_RETURN_IF_ERROR(reader.append(codes, at, rest));
  checksum = crc32_continue(checksum, rest);
  if (record.in_lists()) {
    const int64_t plane_block = live::plane_block_bytes(dims);
    const int64_t plane2 = at + places.plane2 - places.plane1;
    const int64_t end = live::segment_bytes(record.rows, dims, record.planes());
    while (at < end) {
      const int64_t next =
          at < plane2 ? std::min(at + plane_block, plane2) : std::min(at + kMostBlockBytes, end);
      bytes.clear();
      GLOVE_RETURN_IF_ERROR(reader.append(at, next, bytes));
      if (at < plane2) blocks.plane_checksums.push_back(crc32_continue(0, bytes));
      checksum = crc32_continue(checksum, bytes);
      at = next;
    }
  }
  GLOVE_RETURN_IF_ERROR(reader.expect_end());
  blocks.checksum = checksum;
  blocks.planes = record.planes();
  if (!has_checksum(record, checksum)) return wrong_checksum(index, record);
  auto outline = live::Segment::parse(std::move(rest), record.rows, dims, name_of(record), lists, coding,
                                      std::move(blocks));
  if (!outline.ok()) return damaged_index(index, outline.error().message);
  return outline;
}

}  // namespace glove::sql
