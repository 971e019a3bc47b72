#include "sql/index/index_lists.h"

#include "base/crc32.h"
#include "base/float_environment.h"
#include "live/list_maker.h"
#include "sql/adapter/interrupt.h"

namespace glove::sql {
namespace {

// With lists='auto', an index of so many rows and components has lists if they pay for searches for so many
// rows. Of fewer components the caches have all codes, and fewer bytes take as long.
constexpr int64_t kLeastAutoRows = 100'000;
constexpr int64_t kLeastAutoComponents = int64_t{32} << 20;
constexpr int64_t kLeastAutoK = 10;
// Lists are trained again if others that suit the rows are so many times as many, or fewer.
constexpr int64_t kMostGrowth = 2;

}  // namespace

Result<Analysis*> cpu_analysis(Connection& connection) {
  Backend& cpu = *connection.engine().backends().all().back();
  GLOVE_RETURN_IF_ERROR(cpu.available());
  return cpu.analysis();
}

void IndexLists::plan(int64_t rows, bool joins_all) {
  if (!config_.lists || index_.lists == 0) return;
  const int64_t lists = *config_.lists;
  joins_all_ = joins_all && lists > 0;
  if (index_.lists != IndexDefinition::kAutoLists) {
    are_due_ = lists == 0 && live::suits_lists(rows, index_.lists);
    return;
  }
  if (rows < kLeastAutoRows || rows * config_.dims < kLeastAutoComponents ||
      config_.dims > live::kMostListDims)
    return;
  const int64_t suitable = live::lists_for(rows);
  const bool have_left = suitable > kMostGrowth * lists || kMostGrowth * suitable < lists;
  are_due_ = lists == 0 || (lists > 0 && joins_all && have_left);
}

Status IndexLists::train(const live::Segment& segment) {
  const bool is_auto = index_.lists == IndexDefinition::kAutoLists;
  const int64_t lists = is_auto ? live::lists_for(segment.rows()) : index_.lists;
  if (!live::suits_lists(segment.rows(), lists)) return {};  // rows were gone without a trace in the log
  GLOVE_ASSIGN_OR_RETURN(Analysis* const analysis, cpu_analysis(connection_));
  InterruptPoller interrupted(db());
  GLOVE_ASSIGN_OR_RETURN(lists_, live::train_lists(*analysis, segment, lists, interrupted));
  trained_ = !is_auto || lists_->most_k() >= kLeastAutoK;
  config_.lists = trained_ ? lists_->count() : kUselessLists;
  return {};
}

Status IndexLists::put(live::SegmentPtr& segment) {
  const ScopedFloatEnvironment float_environment;
  if (index_.lists > 0) GLOVE_RETURN_IF_ERROR(check_list_dims(index_, segment->dims()));
  if (are_due_ && lists_ == nullptr) GLOVE_RETURN_IF_ERROR(train(*segment));
  if (!live::suits_lists(segment->rows(), config_.lists.value_or(0))) return {};
  GLOVE_ASSIGN_OR_RETURN(Analysis* const analysis, cpu_analysis(connection_));
  InterruptPoller interrupted(db());
  if (lists_ == nullptr) {
    GLOVE_ASSIGN_OR_RETURN(const live::ListsPtr stored, store_.lists(segment->dims()));
    lists_ = stored;
    if (joins_all_) {
      GLOVE_ASSIGN_OR_RETURN(lists_, live::adapt_lists(*analysis, *segment, stored, interrupted));
    }
    trained_ = lists_ != stored;
    config_.lists = lists_->count();
  }
  GLOVE_ASSIGN_OR_RETURN(segment, live::in_lists(*analysis, *segment, lists_, interrupted));
  return (are_due_ || joins_all_) && recall_.empty() ? calibrate(segment) : Status();
}

Status IndexLists::calibrate(const live::SegmentPtr& segment) {
  config_.recall.reset();
  if (segment->rows() < live::kLeastCalibratedRows) return {};
  const ScopedFloatEnvironment float_environment;
  GLOVE_ASSIGN_OR_RETURN(const std::vector<Query> own, store_.queries());
  InterruptPoller interrupted(db());
  GLOVE_ASSIGN_OR_RETURN(const RecallArrays arrays,
                         live::calibrate_segment(connection_.engine(), segment, own, interrupted));
  recall_ = live::IndexRecall::bytes_of(arrays, segment->rows(), *segment->planes()->lists());
  config_.recall = crc32_continue(0, recall_);
  return {};
}

Status IndexLists::calibrate_again(std::vector<StoredSegment>& segments) {
  if (!joins_all_ || !recall_.empty()) return {};
  StoredSegment* largest = nullptr;
  for (StoredSegment& stored : segments)
    if (stored.record.in_lists() && (largest == nullptr || stored.record.rows > largest->record.rows))
      largest = &stored;
  if (largest == nullptr) return {};
  GLOVE_RETURN_IF_ERROR(store_.load(*largest, config_.dims));
  GLOVE_RETURN_IF_ERROR(calibrate(largest->segment));
  return store_.set_recall(recall_);
}

Status IndexLists::write() {
  if (trained_) GLOVE_RETURN_IF_ERROR(store_.set_lists(*lists_));
  const bool has_too_few_rows = joins_all_ && !config_.recall;  // so the former calibration goes
  return recall_.empty() && !has_too_few_rows ? Status() : store_.set_recall(recall_);
}

}  // namespace glove::sql
