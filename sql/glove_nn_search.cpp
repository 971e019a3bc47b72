#include "sql/glove_nn_search.h"

#include <algorithm>
#include <new>
#include <utility>

#include "search/catalog.h"
#include "search/stats.h"
#include "search/timer.h"

namespace glove::sql::nn {

using Answer = AnswerCache::Answer;

namespace {

constexpr int64_t kMostListed = 1024;  // rows of one query that are worth computing at once
constexpr int64_t kMostListedInBatch = 65536;
constexpr int64_t kMostQueriesInBlock = 1024;
constexpr int64_t kMostRowsInBlock = int64_t{1} << 21;  // 32 MiB of rows

// All rows up to some rank, computed already.
class ListedRows : public RowSource {
 public:
  ListedRows(Answer rows, int64_t first_rank) : rows_(std::move(rows)), next_(first_rank - 1) {}
  Result<bool> next(Row& row) override {
    if (next_ >= static_cast<int64_t>(rows_->size())) return false;
    row = {(*rows_)[static_cast<size_t>(next_)], next_ + 1};
    ++next_;
    return true;
  }

 private:
  Answer rows_;
  int64_t next_;
};

// All rows up to some rank, computed as they are asked for. Records what they cost when it ends.
class RankedRows : public RowSource {
 public:
  RankedRows(Ranking ranking, int64_t first_rank, SearchReport labels)
      : ranking_(std::move(ranking)), next_(first_rank - 1), labels_(std::move(labels)) {}
  RankedRows(const RankedRows&) = delete;
  RankedRows& operator=(const RankedRows&) = delete;
  ~RankedRows() override {
    try {
      SearchReport report = ranking_.report();
      report.model = labels_.model;
      report.kind = labels_.kind;
      report.resolve_us = labels_.resolve_us;
      record_search(std::move(report));
    } catch (const std::bad_alloc&) {  // the statistics can do without this row
    }
  }
  Result<bool> next(Row& row) override {
    GLOVE_ASSIGN_OR_RETURN(const Neighbor* neighbor, ranking_.row(next_));
    if (neighbor == nullptr) return false;
    row = {*neighbor, ++next_};
    return true;
  }

 private:
  Ranking ranking_;
  int64_t next_;
  SearchReport labels_;
};

// Some words of the relation, whose ranks nobody knows.
class ScoredRows : public RowSource {
 public:
  explicit ScoredRows(std::vector<Neighbor> rows) : rows_(std::move(rows)) {
    std::sort(rows_.begin(), rows_.end(), ranks_before);
  }
  Result<bool> next(Row& row) override {
    if (next_ >= rows_.size()) return false;
    row = {rows_[next_++], 0};
    return true;
  }

 private:
  std::vector<Neighbor> rows_;
  size_t next_ = 0;
};

}  // namespace

Search::Search(Request request, SearchOptions options, AnswerCache* cache)
    : request_(std::move(request)),
      options_(std::move(options)),
      cache_(cache),
      strategy_(choose_strategy()) {}

int64_t Search::limit() const {
  return std::min(request_.bounds.last_rank, request_.model->words());
}

Search::Strategy Search::choose_strategy() const {
  const Bounds& bounds = request_.bounds;
  if (bounds.nothing || (bounds.ids && bounds.ids->empty()) || bounds.first_rank > limit())
    return Strategy::kNothing;
  const bool ranks_matter = bounds.rank_bounded() || bounds.first_rank > 1 ||
                            (request_.reads_rank && bounds.ids && bounds.ids->size() > 1);
  if (bounds.ids && !ranks_matter) return Strategy::kWords;
  const int64_t most = request_.batch_column >= 0 ? kMostListedInBatch : kMostListed;
  return bounds.rank_bounded() && limit() <= most ? Strategy::kListed : Strategy::kRanked;
}

SearchReport Search::labels(std::string kind, double resolve_us) const {
  SearchReport report;
  report.kind = std::move(kind);
  report.resolve_us = resolve_us;
  report.model = request_.inputs.model;
  if (request_.inputs.has(kModel)) return report;
  for (Catalog::Entry& entry : Catalog::instance().list())
    if (entry.model == request_.model) report.model = std::move(entry.name);
  return report;
}

std::string Search::kind() const {
  if (request_.inputs.has(kExpr)) return "expr";
  return request_.inputs.near.blob ? "vector" : "near";
}

// Where the current row stands to the bounds.
Search::Verdict Search::judge() const {
  const Bounds& bounds = request_.bounds;
  if (row_.rank > bounds.last_rank || row_.neighbor.similarity < bounds.lowest) return Verdict::kEnd;
  if (row_.neighbor.similarity > bounds.highest) return Verdict::kSkip;
  if (bounds.ids && !std::binary_search(bounds.ids->begin(), bounds.ids->end(), row_.neighbor.id))
    return words_left_ == 0 ? Verdict::kEnd : Verdict::kSkip;
  return Verdict::kTake;
}

Result<bool> Search::next() {
  for (;;) {
    if (source_ == nullptr) {
      GLOVE_ASSIGN_OR_RETURN(const bool opened, open_next_source());
      if (!opened) return false;
      if (source_ == nullptr) continue;
    }
    const bool all_words_seen = request_.bounds.ids && words_left_ == 0;
    bool more = false;
    if (!all_words_seen) {
      GLOVE_ASSIGN_OR_RETURN(more, source_->next(row_));
    }
    const Verdict verdict = more ? judge() : Verdict::kEnd;
    if (verdict == Verdict::kEnd) source_.reset();
    if (verdict != Verdict::kTake) continue;
    if (words_left_ > 0) --words_left_;
    return true;
  }
}

// Goes on with the next query: false past the last. Leaves source_ null for a query without rows.
Result<bool> Search::open_next_source() {
  const bool batch = request_.batch_column >= 0;
  if (strategy_ == Strategy::kNothing || next_query_ >= (batch ? request_.batch.size() : 1)) return false;
  if (batch) {
    Inputs& inputs = request_.inputs;
    (request_.batch_column == kNear ? inputs.near : inputs.expr) = request_.batch[next_query_];
  }
  words_left_ = request_.bounds.ids ? request_.bounds.ids->size() : 0;
  query_.reset();
  GLOVE_ASSIGN_OR_RETURN(source_, open_source());
  ++next_query_;
  return true;
}

Result<std::unique_ptr<RowSource>> Search::open_source() {
  const int64_t first_rank = request_.bounds.first_rank;
  if (strategy_ == Strategy::kListed) {
    GLOVE_ASSIGN_OR_RETURN(Answer answer, request_.batch_column >= 0 ? answer_of_block() : answer_of_query());
    return std::unique_ptr<RowSource>(std::make_unique<ListedRows>(std::move(answer), first_rank));
  }
  const Timer timer;
  GLOVE_ASSIGN_OR_RETURN(query_, request_.inputs.resolve(*request_.model));
  if (!query_) return std::unique_ptr<RowSource>();
  const double resolve_us = timer.microseconds();
  if (strategy_ == Strategy::kWords) {
    auto source = std::make_unique<ScoredRows>(score_words(*request_.model, *query_, *request_.bounds.ids));
    SearchReport report = labels("words", resolve_us);
    report.queries = 1;
    report.total_us = timer.microseconds() - resolve_us;
    record_search(std::move(report));
    return std::unique_ptr<RowSource>(std::move(source));
  }
  const int64_t last = request_.bounds.rank_bounded() ? limit() : -1;
  Ranking ranking(request_.model, *query_, options_, std::max(request_.wanted, first_rank - 1), last);
  return std::unique_ptr<RowSource>(
      std::make_unique<RankedRows>(std::move(ranking), first_rank, labels(kind(), resolve_us)));
}

Result<Answer> Search::answer_of_query() {
  const Timer timer;
  GLOVE_ASSIGN_OR_RETURN(const MaybeQuery query, request_.inputs.resolve(*request_.model));
  if (!query) return std::make_shared<const std::vector<Neighbor>>();
  if (cache_ != nullptr)
    if (Answer known = cache_->find(*request_.model, *query, limit(), options_.backend)) return known;
  SearchReport report = labels(kind(), timer.microseconds());
  GLOVE_ASSIGN_OR_RETURN(auto answers,
                         nearest(request_.model, std::span(&*query, 1), limit(), options_, report));
  record_search(std::move(report));
  if (cache_ == nullptr) return std::make_shared<const std::vector<Neighbor>>(std::move(answers.front()));
  return cache_->insert(*request_.model, *query, limit(), options_.backend, std::move(answers.front()));
}

// The batch's answers come in blocks, so that memory does not grow with its size.
Result<Answer> Search::answer_of_block() {
  if (next_query_ >= block_start_ + block_.size()) GLOVE_RETURN_IF_ERROR(fill_block());
  return block_[next_query_ - block_start_];
}

int64_t Search::block_size() const {
  int64_t queries = std::min(kMostQueriesInBlock, std::max<int64_t>(1, kMostRowsInBlock / limit()));
  if (request_.wanted > 0) queries = std::min(queries, 1 + request_.wanted / limit());
  return std::min(queries, static_cast<int64_t>(request_.batch.size() - next_query_));
}

Status Search::fill_block() {
  block_start_ = next_query_;
  block_.assign(static_cast<size_t>(block_size()), std::make_shared<std::vector<Neighbor>>());
  request_.wanted = 0;  // whoever asks for a second block wants more than the hint said
  const Timer timer;
  std::vector<Query> queries;
  std::vector<size_t> positions;  // queries[i] is the block's positions[i]-th
  Inputs inputs = request_.inputs;
  for (size_t i = 0; i < block_.size(); ++i) {
    (request_.batch_column == kNear ? inputs.near : inputs.expr) = request_.batch[block_start_ + i];
    GLOVE_ASSIGN_OR_RETURN(MaybeQuery query, inputs.resolve(*request_.model));
    if (!query) continue;
    queries.push_back(std::move(*query));
    positions.push_back(i);
  }
  if (queries.empty()) return {};
  SearchReport report = labels("batch", timer.microseconds());
  GLOVE_ASSIGN_OR_RETURN(auto answers, nearest(request_.model, queries, limit(), options_, report));
  record_search(std::move(report));
  for (size_t i = 0; i < answers.size(); ++i)
    block_[positions[i]] = std::make_shared<std::vector<Neighbor>>(std::move(answers[i]));
  return {};
}

Result<int64_t> Search::rank() {
  if (row_.rank == 0) {
    SearchReport report = labels("rank", 0);
    GLOVE_ASSIGN_OR_RETURN(row_.rank, rank_of(request_.model, *query_, row_.neighbor, options_, report));
    record_search(std::move(report));
  }
  return row_.rank;
}

}  // namespace glove::sql::nn
