#include "search/ranking.h"

#include <algorithm>
#include <iterator>

#include "base/concat.h"
#include "base/crc32.h"
#include "search/engine.h"

namespace glove {
namespace {

constexpr int64_t kDefaultFirstPiece = 64;
constexpr int64_t kGrowth = 8;

void add_cost(SearchReport& total, const SearchReport& piece) {
  total.backend = piece.backend;
  total.device = piece.device;
  total.queries = piece.queries;
  total.k = piece.k;
  total.total_us += piece.total_us;
  total.cost.add(piece.cost);
}

std::vector<int64_t> sorted_ids(std::span<const Neighbor> rows) {
  std::vector<int64_t> ids;
  ids.reserve(rows.size());
  for (const Neighbor& row : rows) ids.push_back(row.id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

// Of what an approximate answer depends on.
uint64_t hash_of(const Query& query, int64_t k, double recall) {
  const auto bytes = [](const auto& value) {
    return std::span<const char>(reinterpret_cast<const char*>(&value), sizeof value);
  };
  const uint32_t options = crc32_continue(crc32_continue(0, bytes(k)), bytes(recall));
  const std::span<const float> vector(query.vector);
  return uint64_t{options} << 32 |
         crc32_continue(0, {reinterpret_cast<const char*>(vector.data()), vector.size_bytes()});
}

// Answers a query exactly and compares. Nothing but an interrupt keeps the caller from its own answer.
Status audit_answer(Engine& engine, RankedRelation& relation, std::string_view name, const Query& query,
                    int64_t k, const SearchOptions& options, std::span<const Neighbor> rows) {
  SearchOptions exact = options;
  exact.recall = 1;
  SearchReport report;
  const Result<Answers> truth = relation.nearest({&query, 1}, k, exact, report);
  if (!truth.ok()) return truth.error().code == ErrorCode::kInterrupted ? truth.error() : Status();
  const std::vector<int64_t> right = sorted_ids(truth.value().front());
  const std::vector<int64_t> given = sorted_ids(rows);
  if (right.empty()) return {};
  std::vector<int64_t> both;
  std::set_intersection(right.begin(), right.end(), given.begin(), given.end(), std::back_inserter(both));
  RecallAudit& audit = *relation.audit();
  if (audit.add(options.recall, static_cast<double>(both.size()) / static_cast<double>(right.size())))
    engine.log().write(concat(name, ": the recall of its approximate answers is ", audit_text(audit.all()),
                              ", below what they promised, ", audit.all().promised,
                              " on average; it is searched exactly until it is calibrated anew"));
  return {};
}

}  // namespace

Result<Answers> nearest_with_audits(Engine& engine, RankedRelation& relation, std::string_view name,
                                    std::span<const Query> queries, int64_t k, const SearchOptions& options,
                                    SearchReport& report) {
  if (options.recall == 1) return relation.nearest(queries, k, options, report);
  RecallAudit* const audit = relation.audit();
  if (audit == nullptr || audit->has_drifted()) {
    SearchOptions exact = options;
    exact.recall = 1;
    return relation.nearest(queries, k, exact, report);
  }
  GLOVE_ASSIGN_OR_RETURN(Answers answers, relation.nearest(queries, k, options, report));
  GLOVE_ASSIGN_OR_RETURN(const int64_t every, engine.settings().audits());
  const auto is_approximate = [](const AnswerNote& note) { return note.approximate; };
  if (std::none_of(report.notes.begin(), report.notes.end(), is_approximate)) return answers;
  report.recall = options.recall;
  report.audited = audit->of(options.recall);
  for (size_t i = 0; i < report.notes.size(); ++i) {
    if (!report.notes[i].approximate || !engine.audit_clock().strikes(audit->audits_one_in(every))) continue;
    if (!options.may_audit || !options.may_audit())
      engine.audit_clock().postpone(every);
    else if (audit->is_new(hash_of(queries[i], k, options.recall)))
      GLOVE_RETURN_IF_ERROR(audit_answer(engine, relation, name, queries[i], k, options, answers[i]));
  }
  return answers;
}

Ranking::Ranking(RankedRelation& relation, Query query, SearchOptions options, int64_t first_piece,
                 int64_t limit, SearchReport labels)
    : relation_(relation),
      query_(std::move(query)),
      options_(std::move(options)),
      next_piece_(first_piece > 0 ? first_piece
                  : limit > 0     ? limit
                                  : kDefaultFirstPiece),
      limit_(limit < 0 ? relation.most_rows() : std::min(limit, relation.most_rows())),
      report_(std::move(labels)) {}

std::span<const Neighbor> Ranking::ready() const {
  return all_ ? all_->sorted() : std::span<const Neighbor>(rows_);
}

Result<std::span<const Neighbor>> Ranking::rows_from(int64_t position) {
  if (position < 0 || position >= limit_) return std::span<const Neighbor>();
  while (position >= static_cast<int64_t>(ready().size()) && !complete_)
    GLOVE_RETURN_IF_ERROR(compute_through(position));
  const auto end = std::min<int64_t>(limit_, static_cast<int64_t>(ready().size()));
  return ready().first(static_cast<size_t>(end)).subspan(static_cast<size_t>(std::min(position, end)));
}

// Takes one step towards row `position`: the next piece, the pass over all rows, or a further sorting step.
Status Ranking::compute_through(int64_t position) {
  const int64_t count = std::min(std::max(next_piece_, position + 1), limit_);
  if (!all_ && !relation_.wants_full_pass(count)) {
    SearchReport report;
    GLOVE_ASSIGN_OR_RETURN(auto answers, relation_.nearest({&query_, 1}, count, options_, report));
    add_cost(report_, report);
    rows_ = std::move(answers.front());
    complete_ = count == limit_ || static_cast<int64_t>(rows_.size()) < count;
  } else {
    if (!all_) {
      SearchReport report;
      GLOVE_ASSIGN_OR_RETURN(OrderedRows rows, relation_.all_rows(query_, options_, report));
      add_cost(report_, report);
      all_ = std::move(rows);
      rows_ = {};
    }
    GLOVE_RETURN_IF_ERROR(all_->sort_first(count, options_.interrupted));
    complete_ = static_cast<int64_t>(all_->sorted().size()) >= std::min(limit_, all_->size());
  }
  next_piece_ = count > limit_ / kGrowth ? limit_ : count * kGrowth;
  return {};
}

}  // namespace glove
