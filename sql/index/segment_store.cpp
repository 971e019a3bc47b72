#include "sql/index/segment_store.h"

#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include "base/crc32.h"
#include "base/file_calls.h"
#include "base/require.h"
#include "model/limits.h"
#include "sql/index/code_reader.h"
#include "sql/index/segment_bytes.h"

namespace glove::sql {
namespace {

constexpr int64_t kMostReserved = int64_t{1} << 26;  // bytes, before the database has shown that it has them

constexpr int64_t kMostKeptBytes = int64_t{1} << 26;  // of a written segment

// Returns what tells the content of a schema from that of every other one that the process has open at the
// same time. It names the file, so the connections to one file have it in common, whatever its path. It names
// the connection for a database in memory, a temporary one, one whose path has led to another file since it
// was opened, and where the VFS cannot tell.
std::string database_place(sqlite3* db, const std::string& schema) {
  const char* const path = sqlite3_db_filename(db, schema.c_str());
  int moved = 1;  // stays so if the VFS does not know the request, as that of databases in memory
  const auto file =
      path != nullptr && *path != '\0' ? system_calls::status_of(std::string(path)) : std::nullopt;
  if (file && sqlite3_file_control(db, schema.c_str(), SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK &&
      moved == 0)
    return "file " + std::to_string(file->device) + ":" + std::to_string(file->number);
  return "connection " + std::to_string(reinterpret_cast<uintptr_t>(db)) + " " + schema;
}

// The key of the outline of a segment, beside that of the whole.
std::string outline_key(std::string key) {
  return key += " outline";
}

}  // namespace

std::string name_of(const SegmentRecord& record) {
  return "the segment " + std::to_string(record.id);
}

uint32_t checksum_of(const live::ListsPtr& lists, const CodingPtr& coding) {
  return lists == nullptr ? live::checksum_of(coding) : lists->checksum();
}

bool has_checksum(const SegmentRecord& record, uint32_t checksum) {
  return record.crc == int64_t{checksum} + SegmentRecord::flags(record.planes());
}

Error wrong_checksum(const IndexDefinition& index, const SegmentRecord& record) {
  return damaged_index(index, name_of(record), " does not have the checksum that was stored with it");
}

std::span<const int64_t> StoredSegment::row_ids() const {
  GLOVE_REQUIRE(segment != nullptr || !ids.empty());
  return segment != nullptr ? segment->ids() : std::span<const int64_t>(ids);
}

void StoredSegment::kill(int64_t row) {
  GLOVE_REQUIRE(row >= 0 && row < record.rows);
  if (is_dead(row)) return;
  const auto place = static_cast<size_t>(row);
  if (dead.empty()) dead.assign((static_cast<size_t>(record.rows) + 7) / 8, '\0');
  dead[place / 8] = static_cast<char>(static_cast<unsigned char>(dead[place / 8]) | 1U << (place % 8));
  dead_has_grown = true;
}

void StoredSegment::kill_id(int64_t id) {
  const std::span<const int64_t> all = row_ids();
  const auto found = std::lower_bound(all.begin(), all.end(), id);
  if (found != all.end() && *found == id) kill(found - all.begin());
}

void append_living(const StoredSegment& stored, std::vector<LivingRow>& living) {
  for (int64_t row = 0; row < stored.record.rows; ++row)
    if (!stored.is_dead(row)) living.push_back({stored.row_ids()[static_cast<size_t>(row)], &stored, row});
}

int64_t StoredSegment::dead_rows() const {
  int64_t count = 0;
  for (const char byte : dead) count += std::popcount(static_cast<unsigned char>(byte));
  return count;
}

Result<std::vector<StoredSegment>> SegmentStore::records() {
  GLOVE_RETURN_IF_ERROR(
      prepare(segments_, "SELECT id, uuid, rows, crc FROM " + index_.object("_segment") + " ORDER BY id"));
  OwnStatement::Run run(segments_);
  std::vector<StoredSegment> segments;
  int64_t rows = 0;
  GLOVE_RETURN_IF_ERROR(run.for_each([&]() -> Status {
    SegmentRecord& record = segments.emplace_back().record;
    const auto uuid = run.blob(1);
    record = {run.integer(0), std::string(reinterpret_cast<const char*>(uuid.data()), uuid.size()),
              run.integer(2), run.integer(3)};
    if (record.rows < 1 || record.rows > kMaxRows - rows)
      return damaged_index(index_, name_of(record), " has ", record.rows, " rows");
    if (record.id < 1 || record.id >= kMostSegmentIds - 2)  // a command makes two more
      return damaged_index(index_, "it has a segment with the number ", record.id);
    rows += record.rows;
    return {};
  }));
  return segments;
}

std::string SegmentStore::shared_key(const SegmentRecord& record, int64_t dims) const {
  std::string key;
  for (const int64_t number : {record.crc, record.rows, dims, static_cast<int64_t>(record.uuid.size())})
    key += std::to_string(number) + ":";
  return key + record.uuid + database_place(db(), index_.schema);
}

Result<std::vector<StoredSegment>> SegmentStore::list(int64_t dims) {
  GLOVE_ASSIGN_OR_RETURN(auto segments, records());
  if (dims == 0 && !segments.empty()) return damaged_index(index_, "it has segments, but no dimensions");
  for (StoredSegment& stored : segments) stored.segment = live::find_segment(shared_key(stored.record, dims));
  written_.clear();
  GLOVE_RETURN_IF_ERROR(read_dead(segments));
  return segments;
}

// True if a whole segment may be kept in memory.
Result<bool> SegmentStore::has_room(int64_t bytes) const {
  GLOVE_ASSIGN_OR_RETURN(const int64_t most, connection_.engine().settings().index_memory());
  return most == 0 || live::LoadedBytes::all() + bytes <= most;
}

Status SegmentStore::load(StoredSegment& stored, int64_t dims) {
  if (stored.segment != nullptr) return {};
  GLOVE_ASSIGN_OR_RETURN(const bool room,
                         has_room(live::segment_bytes(stored.record.rows, dims, stored.record.planes())));
  GLOVE_ASSIGN_OR_RETURN(stored.segment, read(stored.record, dims));
  if (room) stored.segment = live::share_segment(shared_key(stored.record, dims), stored.segment);
  return {};
}

void SegmentStore::find_searched(StoredSegment& stored, int64_t dims) const {
  if (stored.segment == nullptr)
    stored.segment = live::find_segment(outline_key(shared_key(stored.record, dims)));
}

Status SegmentStore::load_for_search(StoredSegment& stored, int64_t dims) {
  find_searched(stored, dims);
  if (stored.segment != nullptr) return {};
  GLOVE_ASSIGN_OR_RETURN(const bool room,
                         has_room(live::segment_bytes(stored.record.rows, dims, stored.record.planes())));
  if (room) return load(stored, dims);
  GLOVE_ASSIGN_OR_RETURN(const int64_t most, connection_.engine().settings().index_memory());
  live::ListsPtr in_lists;
  if (stored.record.in_lists()) {
    GLOVE_ASSIGN_OR_RETURN(in_lists, lists(dims));
  }
  GLOVE_ASSIGN_OR_RETURN(const CodingPtr coded, coding_of(stored.record, dims));
  GLOVE_ASSIGN_OR_RETURN(stored.segment,
                         read_outline(connection_, index_, stored.record, dims, in_lists, coded, most));
  stored.segment = live::share_segment(outline_key(shared_key(stored.record, dims)), stored.segment);
  return {};
}

Status SegmentStore::load_ids(StoredSegment& stored, int64_t dims) {
  if (stored.segment != nullptr || !stored.ids.empty()) return {};
  const SegmentRecord& record = stored.record;
  const auto [begin, end] = live::segment_id_bytes(record.rows, dims);
  GLOVE_ASSIGN_OR_RETURN(const HugePageBuffer<char> bytes, read_bytes(record, dims, begin, end));
  stored.ids.resize(static_cast<size_t>(record.rows));
  std::memcpy(stored.ids.data(), bytes.data(), bytes.size());
  return {};
}

// Returns the bytes of a segment from `begin` to `end`.
Result<HugePageBuffer<char>> SegmentStore::read_bytes(const SegmentRecord& record, int64_t dims,
                                                      int64_t begin, int64_t end) {
  SegmentBytes reader(connection_, index_, record, dims);
  HugePageBuffer<char> bytes;
  bytes.reserve(static_cast<size_t>(std::min(end - begin, kMostReserved)));
  GLOVE_RETURN_IF_ERROR(reader.append(begin, end, bytes));
  if (end == live::segment_bytes(record.rows, dims, record.planes()))
    GLOVE_RETURN_IF_ERROR(reader.expect_end());
  return bytes;
}

// Returns how a segment is coded. An error if that is not as the index says.
Result<CodingPtr> SegmentStore::coding_of(const SegmentRecord& record, int64_t dims) {
  const live::PlaneKind planes = record.in_lists() ? live::PlaneKind::kNone : record.planes();
  GLOVE_ASSIGN_OR_RETURN(CodingPtr coded, coding(dims));
  if (planes != live::kind_of(metric_of(coded)))
    return damaged_index(index_, name_of(record), " has not the codes that the metric '",
                         metric_name(index_.metric), "' needs");
  return coded;
}

Result<live::SegmentPtr> SegmentStore::read(const SegmentRecord& record, int64_t dims) {
  live::ListsPtr in_lists;
  if (record.in_lists()) {
    GLOVE_ASSIGN_OR_RETURN(in_lists, lists(dims));
  }
  GLOVE_ASSIGN_OR_RETURN(
      HugePageBuffer<char> bytes,
      read_bytes(record, dims, 0, live::segment_bytes(record.rows, dims, record.planes())));
  GLOVE_ASSIGN_OR_RETURN(const CodingPtr coded, coding_of(record, dims));
  if (!has_checksum(record, crc32_continue(checksum_of(in_lists, coded), bytes)))
    return wrong_checksum(index_, record);
  // Without what an earlier version wrote behind the planes.
  if (record.in_lists())
    bytes.resize(static_cast<size_t>(live::segment_bytes(record.rows, dims, live::PlaneKind::kPlanes)));
  auto segment = live::Segment::parse(std::move(bytes), record.rows, dims, name_of(record), in_lists, coded);
  if (!segment.ok()) return damaged_index(index_, segment.error().message);
  return segment;
}

Status SegmentStore::read_dead(std::vector<StoredSegment>& segments) {
  GLOVE_RETURN_IF_ERROR(prepare(dead_, "SELECT segment, bits FROM " + index_.object("_dead")));
  OwnStatement::Run run(dead_);
  return run.for_each([&]() -> Status {
    const int64_t id = run.integer(0);
    const auto bits = run.blob(1);
    const auto segment = std::find_if(segments.begin(), segments.end(),
                                      [id](const StoredSegment& stored) { return stored.record.id == id; });
    if (segment == segments.end())
      return damaged_index(index_, "it has a list of dead rows of the segment ", id,
                           ", which does not exist");
    const auto rows = static_cast<size_t>(segment->record.rows);
    if (bits.size() != (rows + 7) / 8 ||
        (rows % 8 != 0 && std::to_integer<unsigned>(bits.back()) >> (rows % 8) != 0))
      return damaged_index(index_, "the list of dead rows of the segment ", id, " does not fit its ", rows,
                           " rows");
    segment->dead.assign(reinterpret_cast<const char*>(bits.data()), bits.size());
    return {};
  });
}

Status SegmentStore::check_length(size_t bytes) const {
  constexpr size_t kRowBytes = 100;  // of a row beside its BLOB, at most
  const int limit = sqlite3_limit(db(), SQLITE_LIMIT_LENGTH, -1);
  if (bytes + kRowBytes <= static_cast<size_t>(limit)) return {};
  return index_error(index_, "the command must write a BLOB of ", bytes,
                     " bytes, but SQLITE_LIMIT_LENGTH of this connection is ", limit,
                     "; raise this limit, or use a connection that has a higher one");
}

Status SegmentStore::add(int64_t id, const live::SegmentPtr& segment) {
  if (segment->kind() == live::PlaneKind::kShifted) GLOVE_RETURN_IF_ERROR(keep_shift(*segment));
  SegmentRecord record{id, std::string(16, '\0'), segment->rows(),
                       segment->checksum() + SegmentRecord::flags(segment->kind())};
  sqlite3_randomness(static_cast<int>(record.uuid.size()), record.uuid.data());
  OwnStatement insert;
  GLOVE_RETURN_IF_ERROR(prepare(
      insert, "INSERT INTO " + index_.object("_segment") + "(id, uuid, rows, crc) VALUES (?, ?, ?, ?)"));
  GLOVE_RETURN_IF_ERROR(
      OwnStatement::Run(insert).bind(id).bind_blob(record.uuid).bind(record.rows).bind(record.crc).finish());
  GLOVE_RETURN_IF_ERROR(replace_blocks(id, segment->bytes()));  // those of a segment that is gone
  GLOVE_ASSIGN_OR_RETURN(const bool room, has_room(0));         // it is counted already
  if (room && static_cast<int64_t>(segment->bytes().size()) <= kMostKeptBytes)
    written_.push_back(live::share_segment(shared_key(record, segment->dims()), segment));
  return {};
}

Status SegmentStore::write_blocks(int64_t id, std::span<const char> bytes) {
  OwnStatement block;
  GLOVE_RETURN_IF_ERROR(prepare(block, "INSERT INTO " + index_.object("_block") + " VALUES (?, ?, ?)"));
  for (size_t first = 0; first < bytes.size(); first += kSegmentBlockBytes) {
    OwnStatement::Run run(block);
    run.bind(id).bind(static_cast<int64_t>(first / kSegmentBlockBytes));
    run.bind_blob(bytes.subspan(first, std::min<size_t>(kSegmentBlockBytes, bytes.size() - first)));
    GLOVE_RETURN_IF_ERROR(run.finish());
  }
  return {};
}

Result<bool> SegmentStore::read_numbered(int64_t number, size_t most, HugePageBuffer<char>& bytes) {
  OwnQuery run = query(
      "SELECT number, data FROM " + index_.object("_block") + " WHERE segment = ? ORDER BY number", number);
  int64_t blocks = 0;
  bool fits = true;
  GLOVE_RETURN_IF_ERROR(run.for_each([&] {
    const auto block = run.blob(1);
    fits = fits && run.integer(0) == blocks++ && !block.empty() && bytes.size() + block.size() <= most;
    if (!fits) return;
    const auto* const data = reinterpret_cast<const char*>(block.data());
    bytes.insert(bytes.end(), data, data + block.size());
  }));
  return fits;
}

Result<live::ListsPtr> SegmentStore::lists(int64_t dims) {
  HugePageBuffer<char> bytes;
  GLOVE_ASSIGN_OR_RETURN(
      const bool fits,
      read_numbered(kListsNumber, static_cast<size_t>(live::Lists::most_bytes(dims)), bytes));
  if (!fits) return damaged_index(index_, "its lists have a block that does not belong to them");
  if (lists_ != nullptr && lists_->dims() == dims && std::ranges::equal(lists_->bytes(), bytes))
    return lists_;
  auto lists = live::Lists::parse(std::move(bytes), dims, "its lists");
  if (!lists.ok()) return damaged_index(index_, lists.error().message);
  lists_ = lists.value();
  return lists_;
}

Result<CodingPtr> SegmentStore::coding(int64_t dims) {
  if (index_.metric == RowMetric::kCosine) return CodingPtr();
  if (index_.metric == RowMetric::kHamming)
    return CodingPtr(std::make_shared<const Coding>(Coding{index_.metric, {}}));
  HugePageBuffer<char> bytes;
  const auto most = 2 * static_cast<size_t>(dims) * sizeof(float);
  GLOVE_ASSIGN_OR_RETURN(const bool fits, read_numbered(kShiftNumber, most, bytes));
  if (fits && bytes.empty()) return CodingPtr();
  Coding coding{index_.metric, {}};
  if (fits && bytes.size() == most) {
    for (std::vector<float>* const half : {&coding.shift.mean, &coding.shift.direction}) {
      half->resize(static_cast<size_t>(dims));
      std::memcpy(half->data(), bytes.data() + (half == &coding.shift.mean ? 0 : most / 2), most / 2);
    }
  }
  if (const std::string fault = fault_of_shift(coding.shift, dims); !fault.empty())
    return damaged_index(index_, "the mean of its rows ", fault);
  if (coding_ == nullptr || coding_->shift != coding.shift)
    coding_ = std::make_shared<const Coding>(std::move(coding));
  return coding_;
}

Result<CodingPtr> SegmentStore::coding_of_log(int64_t dims) {
  GLOVE_ASSIGN_OR_RETURN(CodingPtr stored, coding(dims));
  if (stored != nullptr || index_.metric == RowMetric::kCosine) return stored;
  return CodingPtr(std::make_shared<const Coding>(Coding{index_.metric, no_shift(dims)}));
}

// Writes the shift of a segment unless it is there already.
Status SegmentStore::keep_shift(const live::Segment& segment) {
  GLOVE_ASSIGN_OR_RETURN(const CodingPtr stored, coding(segment.dims()));
  const Shift& shift = segment.coding()->shift;
  if (stored != nullptr && stored->shift == shift) return {};
  std::vector<float> both = shift.mean;
  both.insert(both.end(), shift.direction.begin(), shift.direction.end());
  return replace_blocks(kShiftNumber,
                        {reinterpret_cast<const char*>(both.data()), both.size() * sizeof(float)});
}

Status SegmentStore::replace_blocks(int64_t number, std::span<const char> bytes) {
  GLOVE_RETURN_IF_ERROR(
      execute("DELETE FROM " + index_.object("_block") + " WHERE segment = " + std::to_string(number)));
  return write_blocks(number, bytes);
}

Status SegmentStore::remove(int64_t id) {
  for (const auto& [table, column] :
       {std::pair("_block", "segment"), {"_dead", "segment"}, {"_segment", "id"}}) {
    GLOVE_RETURN_IF_ERROR(
        execute("DELETE FROM " + index_.object(table) + " WHERE " + column + " = " + std::to_string(id)));
  }
  return {};
}

Status SegmentStore::set_dead(const StoredSegment& stored) {
  OwnQuery write =
      query("INSERT OR REPLACE INTO " + index_.object("_dead") + " VALUES (?, ?)", stored.record.id);
  return write.bind_blob(stored.dead).finish();
}

Status SegmentStore::clear() {
  written_.clear();
  for (const char* const table : {"_dead", "_segment"})
    GLOVE_RETURN_IF_ERROR(execute("DELETE FROM " + index_.object(table)));
  return execute("DELETE FROM " + index_.object("_block") + " WHERE segment <> " +
                 std::to_string(kQueriesNumber));
}

}  // namespace glove::sql
