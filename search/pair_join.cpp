#include "search/pair_join.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/concat.h"
#include "base/float_environment.h"
#include "base/timer.h"
#include "search/engine.h"

namespace glove {
namespace {

constexpr size_t kRowsPerBlock = 1024;
constexpr int64_t kMostRowsAtOnce = int64_t{1} << 21;  // in answers: 32 MiB
// How many rows an answer has at first, and how many times as many if these were not all: all if that is more
// than this share, which a pass over all rows answers.
constexpr int64_t kFirstRows = 32;
constexpr int64_t kTimesMore = 8;
constexpr int64_t kShareOfAll = 16;

constexpr Neighbor kNoneBefore = {std::numeric_limits<int64_t>::min(),
                                  std::numeric_limits<double>::infinity()};

bool comes_before(const JoinedPair& x, const JoinedPair& y) {
  if (x.score != y.score) return x.score > y.score;
  return x.a != y.a ? x.a < y.a : x.b < y.b;
}

}  // namespace

PairJoin::PairJoin(Engine& engine, const char* function, JoinSide& rows, JoinSide* other,
                   const JoinTask& task, std::string backend)
    : engine_(engine),
      rows_(rows),
      other_(other),
      task_(task),
      backend_(std::move(backend)),
      progress_(engine.log(), concat(function, ": ", rows.name())) {
  if (task.pairs == 0) next_ = rows_.rows();
}

// A pair with a lower score is not wanted.
double PairJoin::least() const {
  const bool is_full = task_.pairs > 0 && std::ssize(nearest_) >= task_.pairs;
  return is_full ? nearest_.front().score : task_.least;
}

Result<std::span<const JoinedPair>> PairJoin::next(const InterruptCheck& interrupted) {
  const ScopedFloatEnvironment float_environment;
  found_.clear();
  while (found_.empty()) {
    if (waiting_.empty() && !again_.empty()) {
      waiting_.swap(again_);
      const int64_t more = rows_per_answer_ * kTimesMore;
      rows_per_answer_ = more > searched().rows() / kShareOfAll ? searched().rows() + 1 : more;
    }
    if (waiting_.empty() && next_ < rows_.rows()) {
      GLOVE_RETURN_IF_ERROR(read_block(interrupted));
    } else if (!waiting_.empty()) {
      GLOVE_RETURN_IF_ERROR(ask(interrupted));
    } else {
      return sorted_nearest(interrupted);
    }
  }
  return std::span<const JoinedPair>(found_);
}

// Like std::sort_heap, but it can be interrupted.
Result<std::span<const JoinedPair>> PairJoin::sorted_nearest(const InterruptCheck& interrupted) {
  InterruptPoll poll(interrupted);
  found_.swap(nearest_);
  for (auto end = found_.end(); end != found_.begin(); --end) {
    GLOVE_RETURN_IF_ERROR(poll.check());
    std::pop_heap(found_.begin(), end, comes_before);
  }
  return std::span<const JoinedPair>(found_);
}

// Each pair is found once because a block searches only the rows from its first one on.
Status PairJoin::read_block(const InterruptCheck& interrupted) {
  InterruptPoll poll(interrupted);
  if (joins_itself() && task_.k < 0) GLOVE_RETURN_IF_ERROR(rows_.begin_at(next_));
  while (next_ < rows_.rows() && waiting_.size() < kRowsPerBlock) {
    GLOVE_RETURN_IF_ERROR(poll.check());
    GLOVE_ASSIGN_OR_RETURN(MaybeQuery query, rows_.query(next_));
    if (query)
      waiting_.push_back({std::move(*query), rows_.id(next_), kNoneBefore});
    else
      left_out_.push_back(next_);
    ++next_;
  }
  GLOVE_RETURN_IF_ERROR(rows_.check_unchanged());  // here, because rows that are gone are no questions
  const int64_t nearest = std::min(task_.k, searched().rows()) + (joins_itself() ? 1 : 0);
  rows_per_answer_ = task_.k < 0 ? kFirstRows : std::max<int64_t>(1, nearest);
  progress_.set("row", next_, rows_.rows());
  return {};
}

Status PairJoin::ask(const InterruptCheck& interrupted) {
  progress_.tick();
  const auto count = std::min(waiting_.size(),
                              static_cast<size_t>(std::max<int64_t>(1, kMostRowsAtOnce / rows_per_answer_)));
  const auto end = waiting_.begin() + static_cast<ptrdiff_t>(count);
  std::vector<Query> queries;
  queries.reserve(count);
  for (auto asking = waiting_.begin(); asking != end; ++asking) {
    queries.push_back(std::move(asking->query));
    queries.back().least = least();
  }
  SearchOptions options;
  options.backend = backend_;
  options.interrupted = interrupted;
  SearchReport report;
  report.model = rows_.name();
  report.kind = "pairs";
  GLOVE_ASSIGN_OR_RETURN(const Answers answers,
                         searched().nearest(queries, rows_per_answer_, options, report));
  engine_.statistics().record(std::move(report));
  GLOVE_RETURN_IF_ERROR(rows_.check_unchanged());
  if (!joins_itself()) GLOVE_RETURN_IF_ERROR(searched().check_unchanged());
  InterruptPoll poll(interrupted);
  for (size_t i = 0; i < count; ++i) {
    GLOVE_RETURN_IF_ERROR(poll.check());
    take(waiting_[i], answers[i]);
    const bool may_be_more =
        task_.k < 0 && std::ssize(answers[i]) >= rows_per_answer_ && answers[i].back().similarity >= least();
    if (may_be_more) again_.push_back({std::move(queries[i]), waiting_[i].id, answers[i].back()});
  }
  waiting_.erase(waiting_.begin(), end);
  return {};
}

void PairJoin::take(const Asking& asking, std::span<const Neighbor> answer) {
  int64_t rank = 0;
  for (const Neighbor& row : answer) {
    const bool is_left_out = joins_itself() && (task_.k < 0 ? row.id <= asking.id : row.id == asking.id);
    if (is_left_out || !ranks_before(asking.last, row)) continue;
    if (row.similarity < least() || rank == task_.k) return;
    const JoinedPair pair{asking.id, row.id, row.similarity, task_.k < 0 ? 0 : ++rank};
    if (task_.pairs < 0)
      found_.push_back(pair);
    else
      keep_nearest(pair);
  }
}

void PairJoin::keep_nearest(const JoinedPair& pair) {
  if (std::ssize(nearest_) == task_.pairs) {
    if (!comes_before(pair, nearest_.front())) return;
    std::ranges::pop_heap(nearest_, comes_before);
    nearest_.back() = pair;
  } else {
    nearest_.push_back(pair);
  }
  std::ranges::push_heap(nearest_, comes_before);
}

}  // namespace glove
