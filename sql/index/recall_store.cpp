// The part of SegmentStore that reads and writes the calibration of an index.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/crc32.h"
#include "base/float_environment.h"
#include "sql/index/segment_store.h"

namespace glove::sql {
namespace {

// Of a calibration: 64 MiB, several times what one can have.
constexpr size_t kMostRecallBytes = size_t{64} << 20;

}  // namespace

// Names a calibration for the whole process (live::find_recall).
std::string SegmentStore::recall_key(int64_t dims, uint32_t checksum) const {
  return shared_key({kRecallNumber, "recall", 1, checksum}, dims);
}

live::IndexRecallPtr SegmentStore::find_recall(int64_t dims, uint32_t checksum) const {
  return live::find_recall(recall_key(dims, checksum));
}

Result<live::IndexRecallPtr> SegmentStore::read_recall(int64_t dims, uint32_t checksum) {
  GLOVE_ASSIGN_OR_RETURN(const live::ListsPtr in_lists, lists(dims));
  HugePageBuffer<char> bytes;
  GLOVE_ASSIGN_OR_RETURN(const bool fits, read_numbered(kRecallNumber, kMostRecallBytes, bytes));
  if (!fits || crc32_continue(0, bytes) != checksum) return live::IndexRecallPtr();
  const ScopedFloatEnvironment float_environment;
  return live::IndexRecall::parse(std::move(bytes), *in_lists,
                                  live::audit_of_recall(recall_key(dims, checksum)));
}

Result<live::IndexRecallPtr> SegmentStore::recall(int64_t dims, uint32_t checksum) {
  const std::string key = recall_key(dims, checksum);
  if (recall_ != nullptr && recall_key_ == key) return recall_;
  live::IndexRecallPtr found = live::find_recall(key);
  if (found == nullptr) {
    GLOVE_ASSIGN_OR_RETURN(found, read_recall(dims, checksum));
    if (found == nullptr) {
      connection_.engine().log().write_once(key, index_.name +
                                                     ": its calibration for approximate answers is damaged "
                                                     "or of an older version, so that all are exact; run " +
                                                     index_.command("merge"));
      return live::IndexRecallPtr();
    }
    found = live::share_recall(key, found);
  }
  recall_key_ = key;
  recall_ = found;
  return found;
}

Status SegmentStore::add_query(std::span<const float> vector) {
  const std::string blocks = index_.object("_block");
  // A number that so many queries would take is one of a table that somebody else has written to.
  constexpr int64_t kMostNumber = int64_t{1} << 53;
  OwnQuery forged = query("DELETE FROM " + blocks + " WHERE segment = ? AND number NOT BETWEEN 0 AND ?",
                          kQueriesNumber, kMostNumber);
  GLOVE_RETURN_IF_ERROR(forged.finish());
  OwnQuery last = query("SELECT max(number) FROM " + blocks + " WHERE segment = ?", kQueriesNumber);
  GLOVE_ASSIGN_OR_RETURN(const int64_t largest, last.next_integer());
  const int64_t number = largest + 1;
  OwnStatement insert;
  GLOVE_RETURN_IF_ERROR(prepare(insert, "INSERT INTO " + blocks + " VALUES (?, ?, ?)"));
  GLOVE_RETURN_IF_ERROR(OwnStatement::Run(insert)
                            .bind(kQueriesNumber)
                            .bind(number)
                            .bind_blob({reinterpret_cast<const char*>(vector.data()), vector.size_bytes()})
                            .finish());
  return query("DELETE FROM " + blocks + " WHERE segment = ? AND number <= ?", kQueriesNumber,
               number - static_cast<int64_t>(live::kMostOwnQueries))
      .finish();
}

Result<std::vector<Query>> SegmentStore::queries() {
  std::vector<Query> queries;
  OwnQuery run =
      query("SELECT data FROM " + index_.object("_block") + " WHERE segment = ? ORDER BY number LIMIT ?",
            kQueriesNumber, static_cast<int64_t>(live::kMostOwnQueries));
  const ScopedFloatEnvironment float_environment;
  GLOVE_RETURN_IF_ERROR(run.for_each([&] {
    const auto bytes = run.blob(0);
    std::vector<float> vector(bytes.size() / sizeof(float));
    if (!vector.empty()) std::memcpy(vector.data(), bytes.data(), vector.size() * sizeof(float));
    const bool is_finite = std::ranges::all_of(vector, [](float x) { return std::isfinite(x); });
    if (!is_finite) return;  // only in a database that somebody else has written to
    if (MaybeQuery query = make_query(std::move(vector))) queries.push_back(std::move(*query));
  }));
  return queries;
}

}  // namespace glove::sql
