#include "search/pair_join.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <limits>
#include <utility>

#include "base/concat.h"
#include "base/float_environment.h"
#include "base/io_thread.h"
#include "base/timer.h"
#include "search/engine.h"

namespace glove {
namespace {

constexpr int64_t kRowsPerBlock = 1024;
// The caller reads the first of these, and a device searches for one while the host prepares another. There
// is one at first, because the caller may want a few pairs only, and where more than one row of so many has
// more near rows than its answer, because such blocks take much memory.
constexpr size_t kMostBlocks = 3;
constexpr int64_t kDenseShare = 16;
constexpr int64_t kMostRowsAtOnce = int64_t{1} << 21;  // in answers: 32 MiB
// How many rows an answer has at first, and how many times as many if these were not all: all if that is more
// than this share, which a pass over all rows answers.
constexpr int64_t kFirstRows = 32;
constexpr int64_t kTimesMore = 8;
constexpr int64_t kShareOfAll = 16;

bool has_several_threads(Engine& engine) {
  const Result<int> threads = engine.settings().threads();
  return !threads.ok() || threads.value() != 1;
}

constexpr Neighbor kNoneBefore = {std::numeric_limits<int64_t>::min(),
                                  std::numeric_limits<double>::infinity()};

constexpr auto comes_before = [](const JoinedPair& x, const JoinedPair& y) {
  if (x.score != y.score) return x.score > y.score;
  return x.a != y.a ? x.a < y.a : x.b < y.b;
};

}  // namespace

// A row whose nearest ones are searched for.
struct PairJoin::Asking {
  Query query;
  int64_t id;
  Neighbor last;  // of those that were found before
};

// Rows that ask together.
struct PairJoin::Block {
  int64_t first = 0;  // position
  int64_t end = 0;
  bool is_read = false;
  int64_t rows_per_answer = 0;
  std::vector<Asking> waiting;  // which ask for so many rows
  std::vector<Asking> again;    // which will ask for more
  std::vector<JoinedPair> found;
  std::vector<int64_t> left_out;
  Status status;
  IoThread thread;  // may run find(): until it is joined, all of the above is its own

  bool is_done() const { return is_read && waiting.empty() && again.empty(); }
};

PairJoin::PairJoin(Engine& engine, const char* function, JoinSide& rows, JoinSide* other,
                   const JoinTask& task, std::string backend)
    : engine_(engine),
      rows_(rows),
      other_(other),
      task_(task),
      backend_(std::move(backend)),
      most_blocks_(rows_.is_for_all_threads() && searched().is_for_all_threads() && task.pairs < 0 &&
                           has_several_threads(engine)
                       ? kMostBlocks
                       : 1),
      progress_(engine.log(), concat(function, ": ", rows.name())) {
  if (task.pairs == 0) next_ = rows_.rows();
}

PairJoin::~PairJoin() {
  stopped_ = true;
}

// A pair with a lower score is not wanted.
double PairJoin::least() const {
  const bool is_full = task_.pairs > 0 && std::ssize(nearest_) >= task_.pairs;
  return is_full ? nearest_.front().score : task_.least;
}

Result<std::span<const JoinedPair>> PairJoin::next(const InterruptCheck& interrupted) {
  returned_.clear();
  for (begin_blocks(); returned_.empty() && !blocks_.empty(); begin_blocks()) {
    Block& block = *blocks_.front();
    GLOVE_RETURN_IF_ERROR(finish_finding(block, interrupted));
    returned_.swap(block.found);
    const bool is_dense = std::ssize(block.again) * kDenseShare > block.end - block.first;
    blocks_at_once_ = is_dense ? 1 : std::min(blocks_begun_, most_blocks_);
    if (block.is_done()) {
      left_out_.insert(left_out_.end(), block.left_out.begin(), block.left_out.end());
      blocks_.pop_front();
    } else {
      find_beside_caller(block);
    }
    progress_.tick();
  }
  if (returned_.empty()) GLOVE_RETURN_IF_ERROR(sort_nearest(interrupted));
  return std::span<const JoinedPair>(returned_);
}

void PairJoin::begin_blocks() {
  while (next_ < rows_.rows() && blocks_.size() < blocks_at_once_) {
    ++blocks_begun_;
    blocks_.push_back(std::make_unique<Block>());
    blocks_.back()->first = next_;
    blocks_.back()->end = next_ = std::min(next_ + kRowsPerBlock, rows_.rows());
    find_beside_caller(*blocks_.back());
    progress_.set("row", next_, rows_.rows());
  }
}

// If only the caller may, or the system has no more threads, finish_finding() does it all.
void PairJoin::find_beside_caller(Block& block) {
  if (most_blocks_ == 1) return;
  block.thread.start("glove-pairs", [this, &block] {
    try {
      block.status = find(block, [this] { return stopped_.load(); });
    } catch (const std::exception&) {
      block.status = {ErrorCode::kOutOfMemory, "not enough memory to join rows"};
    }
  });
}

Status PairJoin::finish_finding(Block& block, const InterruptCheck& interrupted) {
  if (!block.thread.started()) return find(block, interrupted);
  if (block.thread.is_lost())
    return {ErrorCode::kUnavailable,
            "the process was forked while its rows were joined; run the statement again"};
  while (!block.thread.wait_for(InterruptPoll::kInterval))
    if (interrupted && interrupted()) stopped_ = true;
  block.thread.join();
  return stopped_ ? interrupted_error() : block.status;
}

// Finds pairs of the block, or all that are left if these are none.
Status PairJoin::find(Block& block, const InterruptCheck& interrupted) {
  const ScopedFloatEnvironment float_environment;
  if (!block.is_read) GLOVE_RETURN_IF_ERROR(read(block, interrupted));
  block.found.clear();
  while (block.found.empty() && !block.is_done()) {
    if (block.waiting.empty()) {
      block.waiting.swap(block.again);
      const int64_t more = block.rows_per_answer * kTimesMore;
      block.rows_per_answer = more > searched().rows() / kShareOfAll ? searched().rows() + 1 : more;
    }
    GLOVE_RETURN_IF_ERROR(ask(block, interrupted));
  }
  return {};
}

// Like std::sort_heap, but it can be interrupted.
Status PairJoin::sort_nearest(const InterruptCheck& interrupted) {
  InterruptPoll poll(interrupted);
  returned_.swap(nearest_);
  for (auto end = returned_.end(); end != returned_.begin(); --end) {
    GLOVE_RETURN_IF_ERROR(poll.check());
    std::pop_heap(returned_.begin(), end, comes_before);
  }
  return {};
}

Status PairJoin::read(Block& block, const InterruptCheck& interrupted) {
  InterruptPoll poll(interrupted);
  for (int64_t row = block.first; row < block.end; ++row) {
    GLOVE_RETURN_IF_ERROR(poll.check());
    GLOVE_ASSIGN_OR_RETURN(MaybeQuery query, rows_.query(row));
    if (query)
      block.waiting.push_back({std::move(*query), rows_.id(row), kNoneBefore});
    else
      block.left_out.push_back(row);
  }
  GLOVE_RETURN_IF_ERROR(rows_.check_unchanged());  // here, because rows that are gone are no questions
  const int64_t nearest = std::min(task_.k, searched().rows()) + (joins_itself() ? 1 : 0);
  block.rows_per_answer = task_.k < 0 ? kFirstRows : std::max<int64_t>(1, nearest);
  block.is_read = true;
  return {};
}

// Each pair is found once because a block searches only the rows from its first one on.
Status PairJoin::ask(Block& block, const InterruptCheck& interrupted) {
  const int64_t k = block.rows_per_answer;
  const auto count =
      std::min(block.waiting.size(), static_cast<size_t>(std::max<int64_t>(1, kMostRowsAtOnce / k)));
  const auto end = block.waiting.begin() + static_cast<ptrdiff_t>(count);
  std::vector<Query> queries;
  queries.reserve(count);
  for (auto asking = block.waiting.begin(); asking != end; ++asking) {
    queries.push_back(std::move(asking->query));
    queries.back().least = least();
  }
  SearchOptions options;
  options.backend = backend_;
  options.interrupted = interrupted;
  SearchReport report;
  report.model = rows_.name();
  report.kind = "pairs";
  const int64_t first = joins_itself() && task_.k < 0 ? block.first : 0;
  GLOVE_ASSIGN_OR_RETURN(const Answers answers, searched().nearest(queries, k, first, options, report));
  engine_.statistics().record(std::move(report));
  GLOVE_RETURN_IF_ERROR(rows_.check_unchanged());
  if (!joins_itself()) GLOVE_RETURN_IF_ERROR(searched().check_unchanged());
  InterruptPoll poll(interrupted);
  for (size_t i = 0; i < count; ++i) {
    GLOVE_RETURN_IF_ERROR(poll.check());
    take(block.waiting[i], answers[i], block.found);
    const bool may_be_more =
        task_.k < 0 && std::ssize(answers[i]) >= k && answers[i].back().similarity >= least();
    if (may_be_more) block.again.push_back({std::move(queries[i]), block.waiting[i].id, answers[i].back()});
  }
  block.waiting.erase(block.waiting.begin(), end);
  return {};
}

void PairJoin::take(const Asking& asking, std::span<const Neighbor> answer, std::vector<JoinedPair>& found) {
  int64_t rank = 0;
  for (const Neighbor& row : answer) {
    const bool is_left_out = joins_itself() && (task_.k < 0 ? row.id <= asking.id : row.id == asking.id);
    if (is_left_out || !ranks_before(asking.last, row)) continue;
    if (row.similarity < least() || rank == task_.k) return;
    const JoinedPair pair{asking.id, row.id, row.similarity, task_.k < 0 ? 0 : ++rank};
    if (task_.pairs < 0)
      found.push_back(pair);
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
