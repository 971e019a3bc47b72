#include "live/segment_encoder.h"

#include <algorithm>
#include <utility>

#include "base/require.h"
#include "model/quantize.h"

namespace glove::live {
namespace {

constexpr size_t kBatchBytes = size_t{256} << 10;  // of vectors
constexpr size_t kMostWaiting = 4;                 // batches, before the caller encodes one itself

size_t rows_of_batch(int64_t dims) {
  return std::max<size_t>(kTileRows, kBatchBytes / (static_cast<size_t>(dims) * sizeof(float)));
}

}  // namespace

SegmentEncoder::SegmentEncoder(SegmentBuilder& builder)
    : builder_(builder),
      batch_rows_(rows_of_batch(builder.dims())),
      batch_(std::make_unique<Batch>()),
      helpers_(usable_cores() - 1, [this] { encode_next(); }) {}

void SegmentEncoder::add(int64_t id, std::span<const float> vector, double norm_squared) {
  GLOVE_REQUIRE(std::ssize(vector) == builder_.dims() && norm_squared >= 0);
  LiveRows& rows = batch_->rows;
  GLOVE_REQUIRE(rows.ids.empty() || id > rows.ids.back());
  rows.add(id, vector, norm_squared);
  if (rows.ids.size() == batch_rows_) hand_over();
}

// Queues the batch, and takes another one.
void SegmentEncoder::hand_over() {
  if (!builder_.has_room(std::ssize(batch_->rows.ids))) {  // so that append() moves codes
    while (encode_next()) {
    }
    helpers_.finish();
  }
  batch_->first_row = builder_.append(batch_->rows.ids);
  bool too_many = false;
  {
    const Lock lock(mutex_);
    waiting_.push_back(std::move(batch_));
    too_many = waiting_.size() > kMostWaiting;
    if (!spare_.empty()) {
      batch_ = std::move(spare_.back());
      spare_.pop_back();
    }
  }
  if (batch_ == nullptr) batch_ = std::make_unique<Batch>();
  helpers_.call(1);
  if (too_many) encode_next();
}

// Encodes the batch that has waited longest. Returns false if none waits.
bool SegmentEncoder::encode_next() {
  std::unique_ptr<Batch> batch;
  {
    const Lock lock(mutex_);
    if (waiting_.empty()) return false;
    batch = std::move(waiting_.front());
    waiting_.pop_front();
  }
  LiveRows& rows = batch->rows;
  for (size_t i = 0; i < rows.ids.size(); ++i)
    builder_.encode(batch->first_row + static_cast<int64_t>(i), rows.vector(i), rows.norms_squared[i]);
  rows.ids.clear();
  rows.vectors.clear();
  rows.norms_squared.clear();
  const Lock lock(mutex_);
  spare_.push_back(std::move(batch));
  return true;
}

void SegmentEncoder::finish() {
  if (!batch_->rows.ids.empty()) hand_over();
  while (encode_next()) {
  }
  helpers_.finish();
}

}  // namespace glove::live
