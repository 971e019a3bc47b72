#include "sql/nn/ranked_scan.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/concat.h"
#include "base/thread_pool.h"
#include "base/timer.h"
#include "search/expression.h"
#include "sql/values/edit_distance.h"

namespace glove::sql::nn {
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

// Looks a word up that is missing only because it is misspelt, but once for each statement.
void hint_at_word(Engine& engine, const RankedSource& source, const Inputs& inputs) {
  if (source.words == nullptr || source.hints->at_word || !inputs.has(kWord) || inputs.has(kExpr)) return;
  source.hints->at_word = true;
  const Vocabulary& vocabulary = source.words->model()->vocabulary();
  const std::optional<int32_t> nearest = word_nearby(vocabulary, inputs.word);
  if (nearest)
    engine.log().write("glove_nn: the model has no word " + quoted_value(inputs.word) + "; the nearest is " +
                       quoted_value(vocabulary.word(*nearest)));
}

// A word that the model lacks is not an error even if it reads as an expression, because joins must tolerate
// such data. It has no rows, and a hint is logged.
void hint_at_expr(Engine& engine, const RankedSource& source, const Inputs& inputs) {
  if (source.hints == nullptr) return;
  if (!inputs.word_reads_as_expression()) return hint_at_word(engine, source, inputs);
  if (source.hints->at_expr) return;
  source.hints->at_expr = true;
  engine.log().write("glove_nn: the model has no word " + quote_expression(inputs.word) +
                     ", which reads as an expression; write WHERE expr = " + quote_expression(inputs.word));
}

}  // namespace

RankedScan::RankedScan(Engine& engine, const RankedSource& source, const FilterCall& call, Inputs inputs,
                       SearchOptions options)
    : engine_(engine),
      source_(source),
      call_(call),
      inputs_(std::move(inputs)),
      options_(std::move(options)),
      vocabulary_(source.words == nullptr ? nullptr : &source.words->model()->vocabulary()),
      row_hint_(call.row_hint()) {
  GLOVE_REQUIRE(call.query_count() > 0);
  if (inputs_.has(kBackend)) options_.backend = inputs_.backend;
  if (inputs_.has(kK) && inputs_.k <= kMostRecallK) options_.recall = inputs_.recall;
  read_conditions();
  strategy_ = choose_strategy();
  const bool ranks = strategy_ == Strategy::kListed || strategy_ == Strategy::kRanked;
  kept_.possible = source_.ranks != nullptr && ids_ && ranks && !call_.is_batch();
}

void RankedScan::read_conditions() {
  range_ = call_.range();
  if (inputs_.state(kAmong) == Given::kNull) range_.nothing = true;
  if (inputs_.has(kK)) {
    range_.last_rank = std::min(range_.last_rank, inputs_.k);
    range_.nothing = range_.nothing || inputs_.k == 0;
  }
  const auto& keys = call_.neighbors(vocabulary_ == nullptr ? KeyType::kInteger : vocabulary_->key_type());
  if (!keys) return ids_.reset();
  if (!ids_) ids_.emplace();
  ids_->clear();
  std::vector<int32_t> found;
  for (const std::string& key : *keys) {
    if (vocabulary_ != nullptr)
      vocabulary_->find_all(key, found);
    else if (const std::optional<int64_t> id = integer_key(key))
      ids_->push_back(*id);
  }
  ids_->insert(ids_->end(), found.begin(), found.end());
  std::sort(ids_->begin(), ids_->end());
}

Status RankedScan::health() const {
  return source_.words == nullptr ? Status() : source_.words->model()->health(options_.interrupted);
}

int64_t RankedScan::limit() const {
  return std::min(options_.is_exact() ? range_.last_rank : inputs_.k, source_.relation->most_rows());
}

RankedScan::Strategy RankedScan::choose_strategy() const {
  if (range_.nothing || (ids_ && ids_->empty()) || range_.first_rank > limit()) return Strategy::kNothing;
  if (!options_.is_exact()) return Strategy::kListed;
  const bool ranks_matter = range_.has_last_rank() || range_.first_rank > 1 ||
                            (call_.reads_rank() && ids_ && (ids_->size() > 1 || source_.words == nullptr));
  if (ids_ && !ranks_matter) return Strategy::kRequested;
  const int64_t most = call_.is_batch() ? kMostListedInBatch
                       : row_hint_ > 0  ? kMostListedWithHint
                                        : kMostListed;
  return range_.has_last_rank() && limit() <= most ? Strategy::kListed : Strategy::kRanked;
}

// Compares the current row with the range.
RankedScan::Verdict RankedScan::judge() const {
  const double distance = distance_of(source_.metric, row_.neighbor.similarity);
  if (row_.rank > range_.last_rank || row_.neighbor.similarity < range_.lowest || distance > range_.farthest)
    return Verdict::kEnd;
  if (row_.neighbor.similarity > range_.highest || distance < range_.nearest) return Verdict::kSkip;
  if (ids_ && !std::binary_search(ids_->begin(), ids_->end(), row_.neighbor.id)) return Verdict::kSkip;
  return Verdict::kTake;
}

inline void RankedScan::prefetch_places(std::span<const Neighbor> rows, size_t begin, size_t end) const {
  if (vocabulary_ == nullptr) return;
  for (size_t i = begin; i < std::min(end, rows.size()); ++i) vocabulary_->prefetch_place(rows[i].id);
}

inline void RankedScan::prefetch_bytes(std::span<const Neighbor> rows, size_t begin, size_t end) const {
  if (vocabulary_ == nullptr) return;
  for (size_t i = begin; i < std::min(end, rows.size()); ++i) vocabulary_->prefetch_bytes(rows[i].id);
}

void RankedScan::set_piece(std::span<const Neighbor> piece) {
  piece_ = piece;
  prefetch_places(piece_, 0, kPlacesAhead);
  prefetch_bytes(piece_, 0, kBytesAhead);
}

bool RankedScan::next_buffered() noexcept {
  while (!piece_.empty()) {
    prefetch_places(piece_, kPlacesAhead, kPlacesAhead + 1);
    prefetch_bytes(piece_, kBytesAhead, kBytesAhead + 1);
    row_ = {piece_.front(), next_rank_};
    piece_ = piece_.subspan(1);
    if (next_rank_ > 0) ++next_rank_;
    const Verdict verdict = judge();
    const bool last_requested = verdict == Verdict::kTake && ids_ && --requested_left_ == 0;
    if (verdict == Verdict::kEnd || last_requested) {
      piece_ = {};
      end_ranking();
    }
    if (verdict == Verdict::kTake) return true;
  }
  return false;
}

Result<bool> RankedScan::next() {
  while (!next_buffered()) {
    // The first piece lacks the only row that is requested. Other calls may request other rows.
    if (ranking_ && kept_.possible && ids_->size() == 1 && next_rank_ > range_.first_rank)
      GLOVE_RETURN_IF_ERROR(keep_ranks(0));
    if (kept_.of_index != nullptr && ranking_) {
      end_ranking();
      show_kept_rows();
    } else if (ranking_) {
      GLOVE_ASSIGN_OR_RETURN(const std::span<const Neighbor> piece, ranking_->rows_from(next_rank_ - 1));
      set_piece(piece);
      if (piece.empty()) end_ranking();
    } else {
      GLOVE_ASSIGN_OR_RETURN(const bool opened, open_next_query());
      if (!opened) return false;
    }
  }
  return true;
}

// Begins the next query, which may have no rows. Returns false after the last query.
Result<bool> RankedScan::open_next_query() {
  if (strategy_ == Strategy::kNothing || next_query_ >= call_.query_count()) return false;
  call_.set_query(next_query_, inputs_);
  requested_left_ = ids_ ? ids_->size() : 0;
  query_.reset();
  kept_.of_model.reset();
  kept_.of_index.reset();
  if (strategy_ != Strategy::kListed || !call_.is_batch()) block_.note = {};
  GLOVE_RETURN_IF_ERROR(open_query());
  ++next_query_;
  return true;
}

Status RankedScan::open_query() {
  const int64_t first_rank = range_.first_rank;
  next_rank_ = strategy_ == Strategy::kRequested ? 0 : first_rank;
  SearchReport labels;
  if (kept_.possible) {
    GLOVE_ASSIGN_OR_RETURN(query_, resolve(labels));
    if (!query_) return {};
    // An answer that is listed takes as long as its ranks. Of others, one row may be found by a shorter
    // search, and several in the order of their ranks.
    GLOVE_RETURN_IF_ERROR(keep_ranks(strategy_ == Strategy::kListed ? 0
                                     : ids_->size() == 1            ? 1
                                                                    : RankCache::kSearchesFirst));
    if (kept_.of_index != nullptr) {
      show_kept_rows();
      return {};
    }
  }
  if (strategy_ == Strategy::kListed) {
    GLOVE_ASSIGN_OR_RETURN(answer_, call_.is_batch() ? answer_of_block() : answer_of_query());
    const auto before = static_cast<size_t>(first_rank - 1);
    set_piece(std::span(*answer_).subspan(std::min(before, answer_->size())));
    return {};
  }
  if (!query_) {
    GLOVE_ASSIGN_OR_RETURN(query_, resolve(labels));
  }
  if (!query_) return {};
  if (strategy_ == Strategy::kRanked && ids_) {
    GLOVE_ASSIGN_OR_RETURN(kept_.of_model, find_ranks());
  }
  if (strategy_ == Strategy::kRequested || kept_.of_model != nullptr)
    return score_requested(std::move(labels));
  const int64_t last = range_.has_last_rank() ? limit() : -1;
  ranking_.emplace(*source_.relation, *query_, options_, std::max(row_hint_, first_rank - 1), last,
                   std::move(labels));
  return {};
}

// Records what the ranking has cost.
void RankedScan::end_ranking() noexcept {
  if (!ranking_) return;
  block_.note.rows_read = rows_read();
  try {
    record(ranking_->report());
  } catch (const std::bad_alloc&) {  // the statistics omit this search
  }
  ranking_.reset();
}

void RankedScan::record(SearchReport report) const {
  report.model = source_.name;
  report.notes = {};
  // Without segments no backend has a part in a search of an index.
  if (report.backend.empty() && source_.words == nullptr)
    report.backend = engine_.backends().all().back()->name();
  engine_.statistics().record(std::move(report));
}

// Sets the kind of the query and the time.
Result<MaybeQuery> RankedScan::resolve(SearchReport& labels) {
  const Timer timer;
  GLOVE_ASSIGN_OR_RETURN(MaybeQuery query, source_.resolve(inputs_, options_.interrupted));
  if (!query) {
    hint_at_expr(engine_, source_, inputs_);
  } else if (source_.words == nullptr) {
    labels.kind = "live";
  } else if (inputs_.has(kExpr)) {
    labels.kind = query->known ? "expr" : "vector";
  } else {
    labels.kind = "word";
  }
  labels.resolve_us = timer.microseconds();
  return query;
}

// Resolves every query of the block.
Result<std::vector<Result<MaybeQuery>>> RankedScan::resolve_block() const {
  GLOVE_ASSIGN_OR_RETURN(const int allowed, engine_.settings().threads());
  const int threads = source_.words == nullptr ? 1 : thread_count(allowed);
  std::vector<Result<MaybeQuery>> resolved(block_.answers.size(), MaybeQuery());
  ThreadInterrupt interrupt(options_.interrupted);
  const auto resolve_some = [&](int slot, int64_t first, int64_t last) {
    Inputs inputs = inputs_;
    for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(last); ++i) {
      call_.set_query(block_.first_query + i, inputs);
      resolved[i] = source_.resolve(inputs, interrupt.of(slot));
    }
  };
  const auto worthwhile = static_cast<int>(1 + resolved.size() / kQueriesPerThread);
  GLOVE_RETURN_IF_ERROR(ThreadPool::for_pieces(std::min(worthwhile, threads), std::ssize(resolved),
                                               kResolvedAtOnce, interrupt.of(0), resolve_some));
  return resolved;
}

// Scores the requested rows without a search.
Status RankedScan::score_requested(SearchReport report) {
  const Timer timer;
  next_rank_ = 0;
  GLOVE_ASSIGN_OR_RETURN(auto rows, source_.relation->score(*query_, *ids_, options_.interrupted));
  if (kept_.of_model != nullptr)
    std::erase_if(rows, [this](const Neighbor& row) {
      const int64_t rank = kept_.of_model->ranks[static_cast<size_t>(row.id)];
      return rank < range_.first_rank || rank > range_.last_rank;
    });
  std::sort(rows.begin(), rows.end(), ranks_before);
  answer_ = std::make_shared<const std::vector<Neighbor>>(std::move(rows));
  set_piece(*answer_);
  report.kind = "words";
  report.queries = 1;
  report.total_us = timer.microseconds();
  if (source_.words != nullptr) record(std::move(report));
  return {};
}

Result<AnswerCache::Answer> RankedScan::answer_of_query() {
  SearchReport report;
  GLOVE_ASSIGN_OR_RETURN(MaybeQuery query, resolve(report));
  if (!query) return std::make_shared<const std::vector<Neighbor>>();
  std::optional<AnswerCache::Key> key;
  if (source_.caches != nullptr && options_.is_exact()) {
    key.emplace(*source_.words->model(), std::move(*query), limit(), options_.backend);
    if (Answer known = source_.caches->answers.find(*key)) {
      GLOVE_RETURN_IF_ERROR(health());
      return known;
    }
  }
  const Query& asked = key ? key->query : *query;
  GLOVE_ASSIGN_OR_RETURN(auto answers, nearest_with_audits(engine_, *source_.relation, source_.name,
                                                           {&asked, 1}, limit(), options_, report));
  block_.audited = report.audited;
  block_.note = report.notes.empty() ? AnswerNote{false, report.cost.rows_scanned} : report.notes.front();
  record(std::move(report));
  if (!key) return std::make_shared<const std::vector<Neighbor>>(std::move(answers.front()));
  return source_.caches->answers.insert(std::move(*key), std::move(answers.front()));
}

// A batch is answered in blocks, so that memory does not grow with its size.
Result<AnswerCache::Answer> RankedScan::answer_of_block() {
  if (next_query_ >= block_.first_query + block_.answers.size()) GLOVE_RETURN_IF_ERROR(fill_block());
  const size_t position = next_query_ - block_.first_query;
  if (!block_.notes.empty()) block_.note = block_.notes[position];
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

int64_t RankedScan::block_size() const {
  int64_t queries = std::min(kMostQueriesInBlock, std::max<int64_t>(1, kMostRowsInBlock / limit()));
  if (row_hint_ > 0) queries = std::min(queries, 1 + row_hint_ / limit());
  return std::min(queries, static_cast<int64_t>(call_.query_count() - next_query_));
}

Status RankedScan::fill_block() {
  block_.first_query = next_query_;
  block_.note = {};
  block_.notes.clear();
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
      call_.set_query(block_.first_query + i, inputs);
      hint_at_expr(engine_, source_, inputs);
      continue;
    }
    queries.push_back(std::move(*query));
    positions.push_back(i);
  }
  if (queries.empty()) return {};
  SearchReport report;
  report.kind = "batch";
  report.resolve_us = timer.microseconds();
  GLOVE_ASSIGN_OR_RETURN(auto answers, nearest_with_audits(engine_, *source_.relation, source_.name, queries,
                                                           limit(), options_, report));
  block_.audited = report.audited;
  block_.note.rows_read = report.cost.rows_scanned / static_cast<int64_t>(queries.size());
  if (!report.notes.empty()) block_.notes.resize(block_.answers.size());
  for (size_t i = 0; i < report.notes.size(); ++i) block_.notes[positions[i]] = report.notes[i];
  record(std::move(report));
  for (size_t i = 0; i < answers.size(); ++i)
    block_.answers[positions[i]] = std::make_shared<std::vector<Neighbor>>(std::move(answers[i]));
  return {};
}

Result<int64_t> RankedScan::rank() {
  if (row_.rank == 0 && kept_.of_index != nullptr)
    row_.rank = kept_.of_index->ranks[*kept_.of_index->find(row_.neighbor.id)];
  if (row_.rank > 0 || source_.words == nullptr) return row_.rank;
  if (kept_.of_model == nullptr) {
    GLOVE_ASSIGN_OR_RETURN(kept_.of_model, find_ranks());
  }
  if (kept_.of_model != nullptr) {
    row_.rank = kept_.of_model->ranks[static_cast<size_t>(row_.neighbor.id)];
    return row_.rank;
  }
  SearchReport report;
  report.kind = "rank";
  GLOVE_ASSIGN_OR_RETURN(row_.rank, rank_of(*source_.words, *query_, row_.neighbor, options_, report));
  record(std::move(report));
  return row_.rank;
}

}  // namespace glove::sql::nn
