#include "sql/index/vector_store.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/require.h"
#include "sql/index/segment_store.h"

namespace glove::sql {
namespace {

constexpr int64_t kBlockBytes = 16'384;

constexpr int64_t first_block_of(int64_t segment) {
  return segment << 32;
}
static_assert(first_block_of(kMostSegmentIds - 1) > 0);

// Returns the condition of the ids of a segment's blocks, after "id" or "id NOT".
std::string blocks_of(int64_t segment) {
  return "BETWEEN " + std::to_string(first_block_of(segment)) + " AND " +
         std::to_string(first_block_of(segment + 1) - 1);
}

}  // namespace

std::array<float, kDigestComponents> stored_digest(const Digest128& digest) {
  std::array<float, kDigestComponents> stored;
  static_assert(sizeof(stored) == sizeof(digest));
  std::memcpy(stored.data(), digest.data(), digest.size());
  return stored;
}

Digest128 digest_of(std::span<const float> stored) {
  GLOVE_REQUIRE(std::ssize(stored) == kDigestComponents);
  Digest128 digest;
  std::memcpy(digest.data(), stored.data(), digest.size());
  return digest;
}

int64_t VectorStore::rows_per_block(int64_t dims) {
  return std::max<int64_t>(1, kBlockBytes / (dims * static_cast<int64_t>(sizeof(float))));
}

Status VectorStore::write(int64_t segment, int64_t block, std::span<const float> vectors) {
  GLOVE_REQUIRE(index_.is_text && segment >= 1 && segment <= kMostSegmentIds);
  GLOVE_RETURN_IF_ERROR(
      prepare(write_, "INSERT OR REPLACE INTO " + index_.object("_vector") + " VALUES (?, ?)"));
  OwnStatement::Run run(write_);
  run.bind(first_block_of(segment) + block);
  return run.bind_blob({reinterpret_cast<const char*>(vectors.data()), vectors.size_bytes()}).finish();
}

Status VectorStore::read(int64_t segment, int64_t block, std::vector<float>& vectors) {
  GLOVE_REQUIRE(index_.is_text && segment >= 1 && segment <= kMostSegmentIds);
  vectors.clear();
  GLOVE_RETURN_IF_ERROR(prepare(read_, "SELECT vectors FROM " + index_.object("_vector") + " WHERE id = ?"));
  OwnStatement::Run run(read_);
  run.bind(first_block_of(segment) + block);
  GLOVE_ASSIGN_OR_RETURN(const bool found, run.next());
  if (!found) return {};
  const auto bytes = run.blob(0);
  vectors.resize(bytes.size() / sizeof(float));
  if (!vectors.empty()) std::memcpy(vectors.data(), bytes.data(), vectors.size() * sizeof(float));
  return {};
}

Status VectorStore::remove(const std::string& condition) {
  return execute("DELETE FROM " + index_.object("_vector") + " WHERE id " + condition);
}

Status VectorStore::remove(int64_t segment) {
  return remove(blocks_of(segment));
}

Status VectorStore::remove_others(int64_t segment) {
  return remove("NOT " + blocks_of(segment));
}

Result<int64_t> VectorStore::unused_segment() {
  GLOVE_ASSIGN_OR_RETURN(int64_t segment,
                         query("SELECT max(id) >> 32 FROM " + index_.object("_vector")).next_integer());
  segment = std::max<int64_t>(segment, 0) + 1;
  if (segment < kMostSegmentIds - 3) return segment;
  for (segment = 1;; ++segment) {  // ends, because each id that is taken has a row of its own
    OwnQuery row =
        query("SELECT 1 FROM " + index_.object("_vector") + " WHERE id " + blocks_of(segment) + " LIMIT 1");
    GLOVE_ASSIGN_OR_RETURN(const bool taken, row.next());
    if (!taken) return segment;
  }
}

Status VectorWriter::add(std::span<const float> vector) {
  vectors_.insert(vectors_.end(), vector.begin(), vector.end());
  if (++rows_ < VectorStore::rows_per_block(static_cast<int64_t>(vector.size()))) return {};
  return finish();
}

Status VectorWriter::finish() {
  if (rows_ == 0) return {};
  GLOVE_RETURN_IF_ERROR(store_.write(segment_, block_++, vectors_));
  vectors_.clear();
  rows_ = 0;
  return {};
}

Result<std::span<const float>> VectorReader::read(int64_t segment, int64_t row) {
  const int64_t rows = VectorStore::rows_per_block(dims_);
  const int64_t block = first_block_ + row / rows;
  if (segment != segment_ || block != block_) {
    block_ = -1;
    GLOVE_RETURN_IF_ERROR(store_.read(segment, block, vectors_));
    segment_ = segment;
    block_ = block;
  }
  const auto first = static_cast<size_t>(row % rows * dims_);
  const auto length = static_cast<size_t>(dims_);
  if (vectors_.size() < first + length) return std::span<const float>();
  return std::span<const float>(vectors_).subspan(first, length);
}

}  // namespace glove::sql
