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
constexpr int64_t kMostUnwanted = 64;  // the same, where LIMIT says that fewer may do
constexpr int64_t kMostListedInBatch = 65536;
constexpr int64_t kMostQueriesInBlock = 1024;
constexpr int64_t kMostRowsInBlock = int64_t{1} << 21;  // 32 MiB of rows

// All rows up to some rank, computed already. Their words lie far apart in the model, so they are fetched
// ahead: where a word lies some rows earlier, then its bytes.
class ListedRows : public RowSource {
 public:
  // `vocabulary` outlives the rows.
  ListedRows(Answer rows, int64_t first_rank, const Vocabulary& vocabulary)
      : rows_(std::move(rows)), next_(first_rank - 1), vocabulary_(vocabulary) {
    for (int64_t i = next_; i < next_ + kPlacesAhead; ++i)
      if (const Neighbor* row = at(i)) vocabulary_.prefetch_place(row->id);
    for (int64_t i = next_; i < next_ + kBytesAhead; ++i)
      if (const Neighbor* row = at(i)) vocabulary_.prefetch_bytes(row->id);
  }
  Result<bool> next(Row& row) override {
    const Neighbor* current = at(next_);
    if (current == nullptr) return false;
    if (const Neighbor* later = at(next_ + kPlacesAhead)) vocabulary_.prefetch_place(later->id);
    if (const Neighbor* later = at(next_ + kBytesAhead)) vocabulary_.prefetch_bytes(later->id);
    row = {*current, ++next_};
    return true;
  }

 private:
  static constexpr int64_t kPlacesAhead = 16;
  static constexpr int64_t kBytesAhead = 8;
  const Neighbor* at(int64_t i) const {
    return i < static_cast<int64_t>(rows_->size()) ? &(*rows_)[static_cast<size_t>(i)] : nullptr;
  }

  Answer rows_;
  int64_t next_;
  const Vocabulary& vocabulary_;
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

Result<Search> Search::open(const Request& request, size_t setting, SearchOptions options,
                            AnswerCache* cache) {
  Inputs inputs = request.inputs_of(setting);
  const auto name = inputs.has(kModel) ? std::optional<std::string_view>(inputs.model) : std::nullopt;
  GLOVE_ASSIGN_OR_RETURN(ModelPtr model, Catalog::instance().find(name));
  if (inputs.has(kBackend)) options.backend = inputs.backend;
  return Search(request, std::move(inputs), std::move(model), std::move(options), cache);
}

Search::Search(const Request& request, Inputs inputs, ModelPtr model, SearchOptions options,
               AnswerCache* cache)
    : request_(&request),
      inputs_(std::move(inputs)),
      model_(std::move(model)),
      options_(std::move(options)),
      cache_(cache),
      bounds_(request.bounds()),
      wanted_(request.wanted()) {
  if (inputs_.has(kK)) {
    bounds_.last_rank = std::min(bounds_.last_rank, inputs_.k);
    bounds_.nothing = bounds_.nothing || inputs_.k == 0;
  }
  look_words_up();
  strategy_ = choose_strategy();
}

void Search::look_words_up() {
  if (!request_->words()) return;
  ids_.emplace();
  for (const std::string& word : *request_->words())
    if (const auto id = model_->vocabulary().find_exact(word)) ids_->push_back(*id);
  std::sort(ids_->begin(), ids_->end());
}

int64_t Search::limit() const {
  return std::min(bounds_.last_rank, model_->words());
}

Search::Strategy Search::choose_strategy() const {
  if (bounds_.nothing || (ids_ && ids_->empty()) || bounds_.first_rank > limit()) return Strategy::kNothing;
  const bool ranks_matter = bounds_.rank_bounded() || bounds_.first_rank > 1 ||
                            (request_->reads_rank() && ids_ && ids_->size() > 1);
  if (ids_ && !ranks_matter) return Strategy::kWords;
  const int64_t most = request_->is_batch() ? kMostListedInBatch : wanted_ > 0 ? kMostUnwanted : kMostListed;
  return bounds_.rank_bounded() && limit() <= most ? Strategy::kListed : Strategy::kRanked;
}

SearchReport Search::labels(std::string kind, double resolve_us) const {
  SearchReport report;
  report.kind = std::move(kind);
  report.resolve_us = resolve_us;
  report.model = inputs_.model;
  if (inputs_.has(kModel)) return report;
  for (Catalog::Entry& entry : Catalog::instance().list())
    if (entry.model == model_) report.model = std::move(entry.name);
  return report;
}

std::string Search::kind() const {
  if (inputs_.has(kExpr)) return "expr";
  return inputs_.near.blob ? "vector" : "near";
}

// Where the current row stands to the bounds.
Search::Verdict Search::judge() const {
  if (row_.rank > bounds_.last_rank || row_.neighbor.similarity < bounds_.lowest) return Verdict::kEnd;
  if (row_.neighbor.similarity > bounds_.highest) return Verdict::kSkip;
  if (ids_ && !std::binary_search(ids_->begin(), ids_->end(), row_.neighbor.id))
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
    const bool all_words_seen = ids_ && words_left_ == 0;
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
  if (strategy_ == Strategy::kNothing || next_query_ >= request_->query_count()) return false;
  request_->set_query(next_query_, inputs_);
  words_left_ = ids_ ? ids_->size() : 0;
  query_.reset();
  GLOVE_ASSIGN_OR_RETURN(source_, open_source());
  ++next_query_;
  return true;
}

Result<std::unique_ptr<RowSource>> Search::open_source() {
  const int64_t first_rank = bounds_.first_rank;
  if (strategy_ == Strategy::kListed) {
    GLOVE_ASSIGN_OR_RETURN(Answer answer, request_->is_batch() ? answer_of_block() : answer_of_query());
    return std::unique_ptr<RowSource>(
        std::make_unique<ListedRows>(std::move(answer), first_rank, model_->vocabulary()));
  }
  const Timer timer;
  GLOVE_ASSIGN_OR_RETURN(query_, inputs_.resolve(*model_));
  if (!query_) return std::unique_ptr<RowSource>();
  const double resolve_us = timer.microseconds();
  if (strategy_ == Strategy::kWords) {
    GLOVE_ASSIGN_OR_RETURN(auto rows, score_words(*model_, *query_, *ids_, options_.interrupted));
    auto source = std::make_unique<ScoredRows>(std::move(rows));
    SearchReport report = labels("words", resolve_us);
    report.queries = 1;
    report.total_us = timer.microseconds() - resolve_us;
    record_search(std::move(report));
    return std::unique_ptr<RowSource>(std::move(source));
  }
  const int64_t last = bounds_.rank_bounded() ? limit() : -1;
  Ranking ranking(model_, *query_, options_, std::max(wanted_, first_rank - 1), last);
  return std::unique_ptr<RowSource>(
      std::make_unique<RankedRows>(std::move(ranking), first_rank, labels(kind(), resolve_us)));
}

Result<Answer> Search::answer_of_query() {
  const Timer timer;
  GLOVE_ASSIGN_OR_RETURN(const MaybeQuery query, inputs_.resolve(*model_));
  if (!query) return std::make_shared<const std::vector<Neighbor>>();
  if (cache_ != nullptr)
    if (Answer known = cache_->find(*model_, *query, limit(), options_.backend)) return known;
  SearchReport report = labels(kind(), timer.microseconds());
  GLOVE_ASSIGN_OR_RETURN(auto answers, nearest(model_, std::span(&*query, 1), limit(), options_, report));
  record_search(std::move(report));
  if (cache_ == nullptr) return std::make_shared<const std::vector<Neighbor>>(std::move(answers.front()));
  return cache_->insert(*model_, *query, limit(), options_.backend, std::move(answers.front()));
}

// The batch's answers come in blocks, so that memory does not grow with its size.
Result<Answer> Search::answer_of_block() {
  if (next_query_ >= block_start_ + block_.size()) GLOVE_RETURN_IF_ERROR(fill_block());
  return block_[next_query_ - block_start_];
}

int64_t Search::block_size() const {
  int64_t queries = std::min(kMostQueriesInBlock, std::max<int64_t>(1, kMostRowsInBlock / limit()));
  if (wanted_ > 0) queries = std::min(queries, 1 + wanted_ / limit());
  return std::min(queries, static_cast<int64_t>(request_->query_count() - next_query_));
}

Status Search::fill_block() {
  block_start_ = next_query_;
  block_.assign(static_cast<size_t>(block_size()), std::make_shared<std::vector<Neighbor>>());
  wanted_ = 0;  // whoever asks for a second block wants more than the hint said
  const Timer timer;
  std::vector<Query> queries;
  std::vector<size_t> positions;  // queries[i] is the block's positions[i]-th
  Inputs inputs = inputs_;
  for (size_t i = 0; i < block_.size(); ++i) {
    request_->set_query(block_start_ + i, inputs);
    GLOVE_ASSIGN_OR_RETURN(MaybeQuery query, inputs.resolve(*model_));
    if (!query) continue;
    queries.push_back(std::move(*query));
    positions.push_back(i);
  }
  if (queries.empty()) return {};
  SearchReport report = labels("batch", timer.microseconds());
  GLOVE_ASSIGN_OR_RETURN(auto answers, nearest(model_, queries, limit(), options_, report));
  record_search(std::move(report));
  for (size_t i = 0; i < answers.size(); ++i)
    block_[positions[i]] = std::make_shared<std::vector<Neighbor>>(std::move(answers[i]));
  return {};
}

Result<int64_t> Search::rank() {
  if (row_.rank == 0) {
    SearchReport report = labels("rank", 0);
    GLOVE_ASSIGN_OR_RETURN(row_.rank, rank_of(model_, *query_, row_.neighbor, options_, report));
    record_search(std::move(report));
  }
  return row_.rank;
}

}  // namespace glove::sql::nn
