#include "live/index_recall.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include "base/crc32.h"
#include "base/float_environment.h"
#include "base/mutex.h"
#include "base/require.h"
#include "base/thread_pool.h"
#include "lists/code_estimate.h"
#include "lists/list_codes.h"
#include "live/live_search.h"
#include "model/limits.h"
#include "model/prefetch.h"
#include "search/recall_calibration.h"

namespace glove::live {
namespace {

constexpr int64_t kVersion = 2;  // 1 had no classes for k below 10
constexpr size_t kHeader = 4;    // numbers

template <class T>
void append(HugePageBuffer<char>& bytes, std::span<const T> values) {
  const auto* const first = reinterpret_cast<const char*>(values.data());
  bytes.insert(bytes.end(), first, first + values.size_bytes());
}

// Takes the next `count` values; returns false if there are fewer bytes.
template <class T>
bool take(std::span<const char>& bytes, int64_t count, std::vector<T>& values) {
  if (count < 0 || count > static_cast<int64_t>(bytes.size() / sizeof(T))) return false;
  values.resize(static_cast<size_t>(count));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  bytes = bytes.subspan(values.size() * sizeof(T));
  return true;
}

struct SharedRecalls {
  struct Entry {
    std::string key;
    std::weak_ptr<const IndexRecall> recall;
    std::shared_ptr<RecallAudit> audit;
  };
  static constexpr size_t kMost = 256;  // the oldest that nobody holds is forgotten

  Entry& entry(const std::string& key) GLOVE_REQUIRES(mutex) {
    const auto found = std::ranges::find_if(entries, [&](const Entry& entry) { return entry.key == key; });
    if (found != entries.end()) return *found;
    const auto unused = std::find_if(entries.begin(), entries.end(),
                                     [](const Entry& entry) { return entry.recall.expired(); });
    if (entries.size() >= kMost && unused != entries.end()) entries.erase(unused);
    return entries.emplace_back(Entry{key, {}, std::make_shared<RecallAudit>()});
  }

  ForkSafeMutex mutex;
  std::deque<Entry> entries GLOVE_GUARDED_BY(mutex);
};

// The rows of a segment, known by their codes. Keeps a copy of these in which a row's are adjacent, because a
// calibration multiplies each row many times.
class SegmentRows final : public CalibrationRows {
 public:
  SegmentRows(Engine& engine, const SegmentPtr& segment)
      : segment_(*segment), set_(engine, {segment}), stride_(list_code_stride(dims())) {}

  // Copies the codes, which must come first. Errors: an interrupt.
  Status copy_codes(const InterruptCheck& interrupted) {
    codes_.resize(static_cast<size_t>(rows() * stride_));
    for (const float residual : segment_.level().residuals)
      if (std::isfinite(residual)) largest_residual_ = std::max(largest_residual_, residual);
    const auto copy = [&](int, int64_t tile) {
      const int64_t last = std::min(rows(), (tile + 1) * kTileRows);
      for (int64_t row = tile * kTileRows; row < last; ++row)
        for (int64_t i = 0; i < dims(); i += kTileComponents)
          std::memcpy(&codes_[static_cast<size_t>(row * stride_ + i)],
                      &segment_.level().codes[static_cast<size_t>(code_index(row, i, dims()))],
                      kTileComponents);
    };
    return ThreadPool::for_each(thread_count(0), tile_count(rows()), interrupted, copy);
  }

  const ModelPart& part() const override { return set_.model().parts().front(); }
  bool read(int64_t row, float* vector) const override {
    const int8_t* const codes = codes_of(row);
    std::copy_n(codes, dims(), vector);
    return std::any_of(codes, codes + dims(), [](int8_t code) { return code != 0; });
  }
  void score(const Query& query, std::span<Neighbor> rows) const override {
    QuantizedQuery codes = quantize_query(query.vector, query.norm_squared, kEstimateQueryCode);
    codes.codes.resize(static_cast<size_t>(stride_));
    for (size_t i = 0; i < rows.size(); ++i) {
      if (i + kFetchedRows < rows.size()) prefetch(codes_of(rows[i + kFetchedRows].id), stride_);
      Neighbor& row = rows[i];
      const auto place = static_cast<size_t>(row.id);
      if (std::isfinite(segment_.level().residuals[place]))
        row.similarity = codes.bound.estimate(
            static_cast<float>(product_of_codes(codes_of(row.id), codes.codes.data(), stride_)),
            segment_.level().scales[place]);
    }
  }
  double largest_error(const Query& query) const override {
    const QuantizedQuery codes = quantize_query(query.vector, query.norm_squared, kEstimateQueryCode);
    return double{codes.bound.error(largest_residual_)};
  }
  Status search(std::span<SearchRequest> requests) override {
    const InterruptCheck& interrupted = *requests.front().terms.interrupted;
    const size_t cpu = set_.searchers().engine().backends().all().size() - 1;
    GLOVE_ASSIGN_OR_RETURN(Searcher* const searcher, set_.searchers().open(cpu, interrupted));
    GLOVE_RETURN_IF_ERROR(searcher->search(requests));
    const auto keep_nearest = [&](int, int64_t i) {
      SearchRequest& request = requests[static_cast<size_t>(i)];
      score(*request.query, request.rows);
      keep_best(*request.query, request.k, request.rows);
    };
    return ThreadPool::for_each(thread_count(0), std::ssize(requests), interrupted, keep_nearest);
  }

 private:
  static constexpr size_t kFetchedRows = 8;  // ahead, because they are anywhere in memory

  const int8_t* codes_of(int64_t row) const { return codes_.data() + row * stride_; }

  const Segment& segment_;
  PartSet set_;
  const int64_t stride_;
  HugePageBuffer<int8_t> codes_;  // [rows, stride]
  float largest_residual_ = 0;    // of the rows that have a direction
};

}  // namespace

IndexRecallPtr find_recall(const std::string& key) {
  const Lock lock(never_freed<SharedRecalls>().mutex);
  return never_freed<SharedRecalls>().entry(key).recall.lock();
}

IndexRecallPtr share_recall(const std::string& key, IndexRecallPtr recall) {
  const Lock lock(never_freed<SharedRecalls>().mutex);
  SharedRecalls::Entry& entry = never_freed<SharedRecalls>().entry(key);
  if (IndexRecallPtr known = entry.recall.lock()) return known;
  entry.recall = recall;
  return recall;
}

std::shared_ptr<RecallAudit> audit_of_recall(const std::string& key) {
  const Lock lock(never_freed<SharedRecalls>().mutex);
  return never_freed<SharedRecalls>().entry(key).audit;
}

HugePageBuffer<char> IndexRecall::bytes_of(const RecallArrays& arrays, int64_t rows, const Lists& lists) {
  const int64_t header[kHeader] = {kVersion, rows, arrays.queries, lists.checksum()};
  HugePageBuffer<char> bytes;
  append(bytes, std::span<const int64_t>(header));
  append(bytes, std::span<const double>(arrays.transform));
  append(bytes, std::span<const int16_t>(arrays.features));
  append(bytes, std::span<const int16_t>(arrays.found));
  return bytes;
}

IndexRecallPtr IndexRecall::parse(HugePageBuffer<char> bytes, const Lists& lists,
                                  std::shared_ptr<RecallAudit> audit) {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set());
  const std::shared_ptr<IndexRecall> recall(new IndexRecall);
  recall->checksum_ = crc32_continue(0, bytes);
  recall->loaded_.set(std::ssize(bytes));
  recall->audit_ = std::move(audit);
  std::span<const char> left = bytes;
  std::vector<int64_t> header;
  if (!take(left, kHeader, header) || header[0] != kVersion || header[1] < 1 || header[1] > kMaxRows ||
      header[2] < 1 || header[2] > static_cast<int64_t>(kCalibrationQueries + kMostOwnQueries) ||
      header[3] != int64_t{lists.checksum()})
    return nullptr;
  RecallArrays& arrays = recall->arrays_;
  arrays.queries = header[2];
  const int64_t entries = std::ssize(kRecallKs) * arrays.queries;
  if (!take(left, std::ssize(kRecallKs) * kRecallTransform, arrays.transform) ||
      !take(left, entries * kRecallColumns, arrays.features) ||
      !take(left, entries * kRecallSteps, arrays.found) || !left.empty() || !is_possible(arrays.table()))
    return nullptr;
  arrays.lists = encode_centroids(lists.centroids(), lists.dims());
  recall->table_ = arrays.table();
  recall->table_.calibrated_rows = header[1];
  return recall;
}

Result<RecallArrays> calibrate_segment(Engine& engine, const SegmentPtr& segment, std::span<const Query> own,
                                       const InterruptCheck& interrupted) {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set());
  GLOVE_REQUIRE(segment->planes() != nullptr && !segment->is_outline());
  SegmentRows rows(engine, segment);
  GLOVE_RETURN_IF_ERROR(rows.copy_codes(interrupted));
  std::vector<Query> usable;
  for (const Query& query : own)
    if (std::ssize(query.vector) == segment->dims()) usable.push_back(query);
  return calibrate_recall(rows, usable, 0, interrupted);
}

}  // namespace glove::live
