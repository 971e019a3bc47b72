#include "sql/nn/glove_nn_search.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/cores.h"
#include "base/thread_interrupt.h"
#include "base/thread_pool.h"
#include "base/timer.h"
#include "search/expression.h"

namespace glove::sql::nn {

using Answer = AnswerCache::Answer;

namespace {

constexpr int64_t kMostListed = 1024;        // rows of one query that are worth computing at once
constexpr int64_t kMostListedWithHint = 64;  // the same, if LIMIT suggests that fewer may be enough
constexpr int64_t kMostListedInBatch = 65536;
constexpr int64_t kMostQueriesInBlock = 1024;
constexpr int64_t kMostRowsInBlock = int64_t{1} << 21;  // 32 MiB of rows

// The words of a model are far apart in memory, so they are prefetched: the offset of a word this many rows
// ahead, and then its bytes.
constexpr size_t kPlacesAhead = 16;
constexpr size_t kBytesAhead = 8;
// In a batch, the first words of the answer this many queries ahead, and the offsets of the one after it.
constexpr size_t kAnswersAhead = 1;

// Looking a word up takes about a microsecond per query, most of it waiting for memory.
constexpr int64_t kResolvedAtOnce = 32;
constexpr size_t kQueriesPerThread = 128;  // fewer are not worth waking a thread

}  // namespace

// All rows up to some rank, computed on demand. The destructor records what they cost.
class RankedRows {
 public:
  RankedRows(Statistics& statistics, Ranking ranking, int64_t first_rank, SearchReport labels)
      : statistics_(statistics),
        ranking_(std::move(ranking)),
        next_(first_rank - 1),
        labels_(std::move(labels)) {}
  RankedRows(const RankedRows&) = delete;
  RankedRows& operator=(const RankedRows&) = delete;
  ~RankedRows() {
    try {
      SearchReport report = ranking_.report();
      report.model = labels_.model;
      report.kind = labels_.kind;
      report.resolve_us = labels_.resolve_us;
      statistics_.record(std::move(report));
    } catch (const std::bad_alloc&) {  // the statistics omit this search
    }
  }
  // Returns at least one row, or none after the last one. Valid until the next call.
  Result<std::span<const Neighbor>> next_piece() {
    GLOVE_ASSIGN_OR_RETURN(const std::span<const Neighbor> piece, ranking_.rows_from(next_));
    next_ += static_cast<int64_t>(piece.size());
    return piece;
  }

 private:
  Statistics& statistics_;
  Ranking ranking_;
  int64_t next_;
  SearchReport labels_;
};

NeighborScan::NeighborScan(NeighborScan&&) noexcept = default;
NeighborScan& NeighborScan::operator=(NeighborScan&&) noexcept = default;
NeighborScan::~NeighborScan() = default;

Result<NeighborScan> NeighborScan::open(const TableContext& context, const FilterCall& call, size_t setting,
                                        SearchOptions options) {
  if (context.caches != nullptr) context.caches->ranks.forget_unloaded();
  Inputs inputs = call.inputs_of(setting);
  const auto name = inputs.has(kModel) ? std::optional<std::string_view>(inputs.model) : std::nullopt;
  GLOVE_ASSIGN_OR_RETURN(CatalogEntry entry, context.models->find(name));
  if (inputs.has(kBackend)) options.backend = inputs.backend;
  return NeighborScan(context, call, std::move(inputs), std::move(entry), std::move(options));
}

NeighborScan::NeighborScan(const TableContext& context, const FilterCall& call, Inputs inputs,
                           CatalogEntry entry, SearchOptions options)
    : call_(&call),
      inputs_(std::move(inputs)),
      entry_(std::move(entry)),
      options_(std::move(options)),
      context_(context),
      range_(call.range()),
      row_hint_(call.row_hint()) {
  if (inputs_.has(kK)) {
    range_.last_rank = std::min(range_.last_rank, inputs_.k);
    range_.nothing = range_.nothing || inputs_.k == 0;
  }
  look_words_up();
  strategy_ = choose_strategy();
}

void NeighborScan::look_words_up() {
  const Vocabulary& vocabulary = model().vocabulary();
  const auto& neighbors = call_->neighbors(vocabulary.key_type());
  if (!neighbors) return;
  ids_.emplace();
  for (const std::string& word : *neighbors) vocabulary.find_all(word, *ids_);
  std::sort(ids_->begin(), ids_->end());
}

int64_t NeighborScan::limit() const {
  return std::min(range_.last_rank, model().words());
}

NeighborScan::Strategy NeighborScan::choose_strategy() const {
  if (range_.nothing || (ids_ && ids_->empty()) || range_.first_rank > limit()) return Strategy::kNothing;
  const bool ranks_matter =
      range_.has_last_rank() || range_.first_rank > 1 || (call_->reads_rank() && ids_ && ids_->size() > 1);
  if (ids_ && !ranks_matter) return Strategy::kWords;
  const int64_t most = call_->is_batch() ? kMostListedInBatch
                       : row_hint_ > 0   ? kMostListedWithHint
                                         : kMostListed;
  return range_.has_last_rank() && limit() <= most ? Strategy::kListed : Strategy::kRanked;
}

SearchReport NeighborScan::labels(std::string kind, double resolve_us) const {
  SearchReport report;
  report.model = entry_.name;
  report.kind = std::move(kind);
  report.resolve_us = resolve_us;
  return report;
}

std::string NeighborScan::kind_of(const Query& query) const {
  if (!inputs_.has(kExpr)) return "word";
  return query.excluded.empty() ? "vector" : "expr";  // an expression excludes its words
}

// Compares the current row with the range.
NeighborScan::Verdict NeighborScan::judge() const {
  if (row_.rank > range_.last_rank || row_.neighbor.similarity < range_.lowest) return Verdict::kEnd;
  if (row_.neighbor.similarity > range_.highest) return Verdict::kSkip;
  if (ids_ && !std::binary_search(ids_->begin(), ids_->end(), row_.neighbor.id)) return Verdict::kSkip;
  return Verdict::kTake;
}

inline void NeighborScan::prefetch_places(std::span<const Neighbor> rows, size_t begin, size_t end) const {
  for (size_t i = begin; i < std::min(end, rows.size()); ++i) model().vocabulary().prefetch_place(rows[i].id);
}

inline void NeighborScan::prefetch_bytes(std::span<const Neighbor> rows, size_t begin, size_t end) const {
  for (size_t i = begin; i < std::min(end, rows.size()); ++i) model().vocabulary().prefetch_bytes(rows[i].id);
}

void NeighborScan::set_piece(std::span<const Neighbor> piece, bool last) {
  piece_ = piece;
  last_piece_ = last;
  prefetch_places(piece_, 0, kPlacesAhead);
  prefetch_bytes(piece_, 0, kBytesAhead);
}

bool NeighborScan::next_buffered() noexcept {
  while (!piece_.empty()) {
    prefetch_places(piece_, kPlacesAhead, kPlacesAhead + 1);
    prefetch_bytes(piece_, kBytesAhead, kBytesAhead + 1);
    row_ = {piece_.front(), next_rank_};
    piece_ = piece_.subspan(1);
    if (next_rank_ > 0) ++next_rank_;
    const Verdict verdict = judge();
    const bool last_word = verdict == Verdict::kTake && ids_ && --words_left_ == 0;
    if (verdict == Verdict::kEnd || last_word) set_piece({}, true);
    if (verdict == Verdict::kTake) return true;
  }
  return false;
}

Result<bool> NeighborScan::next() {
  while (!next_buffered()) {
    if (last_piece_) {
      GLOVE_ASSIGN_OR_RETURN(const bool opened, open_next_query());
      if (!opened) return false;
    } else {
      GLOVE_ASSIGN_OR_RETURN(const std::span<const Neighbor> piece, ranked_->next_piece());
      set_piece(piece, piece.empty());
    }
  }
  return true;
}

// Begins the next query, which may have no rows. Returns false after the last query.
Result<bool> NeighborScan::open_next_query() {
  if (strategy_ == Strategy::kNothing || next_query_ >= call_->query_count()) return false;
  call_->set_query(next_query_, inputs_);
  words_left_ = ids_ ? ids_->size() : 0;
  query_.reset();
  ranks_.reset();
  ranked_.reset();
  GLOVE_RETURN_IF_ERROR(open_query());
  ++next_query_;
  return true;
}

Status NeighborScan::open_query() {
  const int64_t first_rank = range_.first_rank;
  next_rank_ = strategy_ == Strategy::kWords ? 0 : first_rank;
  if (strategy_ == Strategy::kListed) {
    GLOVE_ASSIGN_OR_RETURN(answer_, call_->is_batch() ? answer_of_block() : answer_of_query());
    const auto before = static_cast<size_t>(first_rank - 1);
    set_piece(std::span(*answer_).subspan(std::min(before, answer_->size())), true);
    return {};
  }
  const Timer timer;
  GLOVE_ASSIGN_OR_RETURN(query_, resolve(inputs_));
  if (!query_) return {};
  const double resolve_us = timer.microseconds();
  if (strategy_ == Strategy::kRanked && ids_) {
    GLOVE_ASSIGN_OR_RETURN(ranks_, find_ranks());
  }
  if (strategy_ == Strategy::kWords || ranks_ != nullptr) return score_neighbors(resolve_us);
  const int64_t last = range_.has_last_rank() ? limit() : -1;
  Ranking ranking(entry_.searchers, *query_, options_, std::max(row_hint_, first_rank - 1), last);
  ranked_ = std::make_unique<RankedRows>(statistics(), std::move(ranking), first_rank,
                                         labels(kind_of(*query_), resolve_us));
  last_piece_ = false;
  return {};
}

// A word that the model lacks is not an error even if it reads as an expression, because joins must tolerate
// such data. It has no rows, and a hint is logged.
Result<MaybeQuery> NeighborScan::resolve(const Inputs& inputs) {
  GLOVE_ASSIGN_OR_RETURN(MaybeQuery query, inputs.resolve(model(), options_.interrupted));
  if (!query) hint_at_expr(inputs);
  return query;
}

void NeighborScan::hint_at_expr(const Inputs& inputs) {
  if (*context_.hinted_at_expr || !inputs.word_reads_as_expression()) return;
  *context_.hinted_at_expr = true;
  context_.engine->log().write(
      "glove_nn: the model has no word " + quote_expression(inputs.word) +
      ", which reads as an expression; write WHERE expr = " + quote_expression(inputs.word));
}

// Resolves every query of the block.
Result<std::vector<Result<MaybeQuery>>> NeighborScan::resolve_block() const {
  GLOVE_ASSIGN_OR_RETURN(const int allowed, context_.engine->settings().threads());
  std::vector<Result<MaybeQuery>> resolved(block_.answers.size(), MaybeQuery());
  ThreadInterrupt interrupt(options_.interrupted);
  const auto resolve_some = [&](int slot, int64_t chunk) {
    Inputs inputs = inputs_;
    const auto first = static_cast<size_t>(chunk * kResolvedAtOnce);
    for (size_t i = first; i < std::min(resolved.size(), first + kResolvedAtOnce); ++i) {
      call_->set_query(block_.first_query + i, inputs);
      resolved[i] = inputs.resolve(model(), interrupt.of(slot));
    }
  };
  const auto chunks = (static_cast<int64_t>(resolved.size()) + kResolvedAtOnce - 1) / kResolvedAtOnce;
  const auto worthwhile = static_cast<int>(1 + resolved.size() / kQueriesPerThread);
  if (!ThreadPool::instance().run(std::min(worthwhile, thread_count(allowed)), chunks, resolve_some,
                                  interrupt.of(0)))
    return interrupted_error();
  return resolved;
}

// Scores the requested words without a search.
Status NeighborScan::score_neighbors(double resolve_us) {
  const Timer timer;
  next_rank_ = 0;
  GLOVE_ASSIGN_OR_RETURN(auto rows, score_words(model(), *query_, *ids_, options_.interrupted));
  if (ranks_ != nullptr)
    std::erase_if(rows, [this](const Neighbor& row) {
      const int64_t rank = (*ranks_)[static_cast<size_t>(row.id)];
      return rank < range_.first_rank || rank > range_.last_rank;
    });
  std::sort(rows.begin(), rows.end(), ranks_before);
  answer_ = std::make_shared<const std::vector<Neighbor>>(std::move(rows));
  set_piece(*answer_, true);
  SearchReport report = labels("words", resolve_us);
  report.queries = 1;
  report.total_us = timer.microseconds();
  statistics().record(std::move(report));
  return {};
}

// Returns nullptr if no ranks are kept.
Result<RankCache::Ranks> NeighborScan::find_ranks() {
  if (context_.caches == nullptr) return RankCache::Ranks();
  SearchReport report = labels("ranks", 0);
  GLOVE_ASSIGN_OR_RETURN(RankCache::Ranks ranks,
                         context_.caches->ranks.find(*entry_.searchers, *query_, options_, report));
  if (report.queries > 0) statistics().record(std::move(report));
  return ranks;
}

Result<Answer> NeighborScan::answer_of_query() {
  const Timer timer;
  GLOVE_ASSIGN_OR_RETURN(MaybeQuery query, resolve(inputs_));
  if (!query) return std::make_shared<const std::vector<Neighbor>>();
  const double resolve_us = timer.microseconds();
  AnswerCache::Key key(model(), std::move(*query), limit(), options_.backend);
  if (context_.caches != nullptr)
    if (Answer known = context_.caches->answers.find(key)) {
      GLOVE_RETURN_IF_ERROR(health());
      return known;
    }
  SearchReport report = labels(kind_of(key.query), resolve_us);
  GLOVE_ASSIGN_OR_RETURN(auto answers,
                         nearest(*entry_.searchers, std::span(&key.query, 1), key.k, options_, report));
  statistics().record(std::move(report));
  if (context_.caches == nullptr)
    return std::make_shared<const std::vector<Neighbor>>(std::move(answers.front()));
  return context_.caches->answers.insert(std::move(key), std::move(answers.front()));
}

// A batch is answered in blocks, so that memory does not grow with its size.
Result<Answer> NeighborScan::answer_of_block() {
  if (next_query_ >= block_.first_query + block_.answers.size()) GLOVE_RETURN_IF_ERROR(fill_block());
  const size_t position = next_query_ - block_.first_query;
  // The words of short answers arrive while the answers before them are read.
  const auto later = [&](size_t answers) {
    const size_t at = position + answers;
    return at < block_.answers.size() ? std::span<const Neighbor>(*block_.answers[at])
                                      : std::span<const Neighbor>();
  };
  prefetch_places(later(kAnswersAhead + 1), 0, kPlacesAhead);
  prefetch_bytes(later(kAnswersAhead), 0, kBytesAhead);
  return block_.answers[position];
}

int64_t NeighborScan::block_size() const {
  int64_t queries = std::min(kMostQueriesInBlock, std::max<int64_t>(1, kMostRowsInBlock / limit()));
  if (row_hint_ > 0) queries = std::min(queries, 1 + row_hint_ / limit());
  return std::min(queries, static_cast<int64_t>(call_->query_count() - next_query_));
}

Status NeighborScan::fill_block() {
  block_.first_query = next_query_;
  block_.answers.assign(static_cast<size_t>(block_size()), std::make_shared<std::vector<Neighbor>>());
  row_hint_ = 0;  // a second block means that the hint was too low
  const Timer timer;
  GLOVE_ASSIGN_OR_RETURN(std::vector<Result<MaybeQuery>> resolved, resolve_block());
  std::vector<Query> queries;
  queries.reserve(resolved.size());
  std::vector<size_t> positions;  // queries[i] is the block's positions[i]-th
  for (size_t i = 0; i < resolved.size(); ++i) {
    GLOVE_ASSIGN_OR_RETURN(MaybeQuery query, std::move(resolved[i]));
    if (!query) {
      Inputs inputs = inputs_;
      call_->set_query(block_.first_query + i, inputs);
      hint_at_expr(inputs);
      continue;
    }
    queries.push_back(std::move(*query));
    positions.push_back(i);
  }
  if (queries.empty()) return {};
  SearchReport report = labels("batch", timer.microseconds());
  GLOVE_ASSIGN_OR_RETURN(auto answers, nearest(*entry_.searchers, queries, limit(), options_, report));
  statistics().record(std::move(report));
  for (size_t i = 0; i < answers.size(); ++i)
    block_.answers[positions[i]] = std::make_shared<std::vector<Neighbor>>(std::move(answers[i]));
  return {};
}

Result<int64_t> NeighborScan::rank() {
  if (row_.rank > 0) return row_.rank;
  if (ranks_ == nullptr) {
    GLOVE_ASSIGN_OR_RETURN(ranks_, find_ranks());
  }
  if (ranks_ != nullptr) {
    row_.rank = (*ranks_)[static_cast<size_t>(row_.neighbor.id)];
    return row_.rank;
  }
  SearchReport report = labels("rank", 0);
  GLOVE_ASSIGN_OR_RETURN(row_.rank, rank_of(*entry_.searchers, *query_, row_.neighbor, options_, report));
  statistics().record(std::move(report));
  return row_.rank;
}

}  // namespace glove::sql::nn
