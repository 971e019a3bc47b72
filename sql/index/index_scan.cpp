#include "sql/index/index_scan.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>

#include "model/exact_dot.h"
#include "model/vocabulary.h"
#include "sql/values/row_vector.h"

namespace glove::sql {
namespace {

constexpr int64_t kMostListed = 1024;        // rows of one query that are worth computing at once
constexpr int64_t kMostListedWithHint = 64;  // the same, if LIMIT suggests that fewer may be enough
constexpr int64_t kMostListedInBatch = 65536;
constexpr int64_t kMostQueriesInBlock = 1024;
constexpr int64_t kMostRowsInBlock = int64_t{1} << 21;
constexpr int64_t kMostHiddenInBlock = int64_t{1} << 24;  // each query of a block lists the hidden rows

}  // namespace

IndexScan::IndexScan(const IndexContext& context, const nn::FilterCall& call, size_t setting,
                     SearchOptions options)
    : context_(context),
      call_(call),
      inputs_(call.inputs_of(setting)),
      options_(std::move(options)),
      way_(choose_way()) {
  if (inputs_.has(nn::kBackend)) options_.backend = inputs_.backend;
}

int64_t IndexScan::limit() const {
  return inputs_.has(nn::kK) ? std::min(inputs_.k, call_.range().last_rank) : call_.range().last_rank;
}

IndexScan::Way IndexScan::choose_way() const {
  const nn::RowRange& range = call_.range();
  if (range.nothing || limit() <= 0) return Way::kNothing;
  const bool ranks_matter =
      inputs_.has(nn::kK) || range.has_last_rank() || range.first_rank > 1 || call_.reads_rank();
  if (call_.neighbors(KeyType::kInteger) && !ranks_matter) return Way::kIds;
  const int64_t most = call_.is_batch()       ? kMostListedInBatch
                       : call_.row_hint() > 0 ? kMostListedWithHint
                                              : kMostListed;
  return limit() <= most ? Way::kListed : Way::kRanked;
}

Result<std::optional<Query>> IndexScan::resolve_blob(const std::string& bytes) const {
  const std::string& name = context_.index->name;
  const auto dims = static_cast<size_t>(context_.state->dims);
  if (bytes.size() % sizeof(float) != 0 || bytes.empty() ||
      (dims != 0 && bytes.size() != dims * sizeof(float)))
    return Error{
        ErrorCode::kInvalidArgument,
        name + ": the query is a BLOB of " + std::to_string(bytes.size()) + " bytes, but a vector of " +
            (dims == 0 ? "float32 has 4 bytes per component"
                       : std::to_string(dims) + " float32 has " + std::to_string(dims * sizeof(float))) +
            context_.rows->remedy_of_length(dims == 0 ? 0
                                                      : static_cast<int64_t>(bytes.size() / sizeof(float)))};
  std::vector<float> vector(bytes.size() / sizeof(float));
  std::memcpy(vector.data(), bytes.data(), bytes.size());
  return query_of(std::move(vector));
}

Result<std::optional<Query>> IndexScan::resolve_json(const std::string& text) const {
  const std::string& name = context_.index->name;
  std::vector<float> vector;
  if (const Status read = read_json_vector(text, vector, options_.interrupted); !read.ok())
    return read.error().code == ErrorCode::kInterrupted
               ? read.error()
               : Error{ErrorCode::kInvalidArgument, name + ": the query " + read.error().message};
  const int64_t dims = context_.state->dims;
  if (dims != 0 && static_cast<int64_t>(vector.size()) != dims)
    return Error{ErrorCode::kInvalidArgument,
                 name + ": the query has " + component_count(vector.size()) + ", but the index has " +
                     std::to_string(dims) + " dimensions" +
                     context_.rows->remedy_of_length(static_cast<int64_t>(vector.size()))};
  return query_of(std::move(vector));
}

Result<std::optional<Query>> IndexScan::query_of(std::vector<float> vector) const {
  Query query;
  query.vector = std::move(vector);
  for (size_t i = 0; i < query.vector.size(); ++i)
    if (!std::isfinite(query.vector[i]))
      return Error{ErrorCode::kInvalidArgument, context_.index->name + ": component " +
                                                    std::to_string(i + 1) + " of the query is " +
                                                    (std::isnan(query.vector[i]) ? "NaN" : "infinite") +
                                                    "; every component must be finite"};
  return std::optional(std::move(query));
}

// Returns nullopt if the query has no rows.
Result<std::optional<Query>> IndexScan::resolve(const nn::Inputs& inputs) {
  std::optional<Query> query;
  if (!inputs.has(nn::kExpr)) return query;  // NULL, as of a row without a vector in a join
  if (inputs.expr.blob) {
    GLOVE_ASSIGN_OR_RETURN(query, resolve_blob(inputs.expr.bytes));
  } else if (context_.index->model.empty() && begins_like_array(inputs.expr.bytes)) {
    GLOVE_ASSIGN_OR_RETURN(query, resolve_json(inputs.expr.bytes));
  } else {
    query.emplace();
    GLOVE_ASSIGN_OR_RETURN(const bool found, context_.rows->encode_query(inputs.expr.bytes, query->vector));
    if (!found) return std::optional<Query>();
  }
  const auto dims = static_cast<int64_t>(query->vector.size());
  query->norm_squared = exact_dot(query->vector.data(), query->vector.data(), dims);
  if (!(query->norm_squared > 0) || context_.state->dims == 0) query.reset();
  return query;
}

void IndexScan::record(SearchReport report, const char* kind) const {
  report.model = context_.index->name;
  report.kind = kind;
  if (report.backend.empty()) report.backend = context_.connection->engine().backends().all().back()->name();
  context_.connection->engine().statistics().record(std::move(report));
}

Status IndexScan::open_block() {
  block_start_ = next_query_;
  const int64_t most = std::min(kMostQueriesInBlock, std::max<int64_t>(1, kMostRowsInBlock / limit()));
  const auto hidden = static_cast<int64_t>(context_.state->hidden.size());
  const int64_t left = std::min(static_cast<int64_t>(call_.query_count() - next_query_),
                                1 + kMostHiddenInBlock / (1 + hidden));
  block_.assign(static_cast<size_t>(std::min(most, left)), {});
  std::vector<Query> queries;
  std::vector<size_t> positions;
  nn::Inputs inputs = inputs_;
  for (size_t i = 0; i < block_.size(); ++i) {
    call_.set_query(block_start_ + i, inputs);
    GLOVE_ASSIGN_OR_RETURN(auto query, resolve(inputs));
    if (!query) continue;
    queries.push_back(std::move(*query));
    positions.push_back(i);
  }
  if (queries.empty()) return {};
  SearchReport report;
  GLOVE_ASSIGN_OR_RETURN(
      auto answers, live::live_nearest(*context_.state, *context_.rows, queries, limit(), options_, report));
  record(std::move(report), call_.is_batch() ? "batch" : "live");
  for (size_t i = 0; i < answers.size(); ++i) block_[positions[i]] = std::move(answers[i]);
  return {};
}

Status IndexScan::score_ids(const Query& query) {
  std::vector<int64_t> ids;
  for (const std::string& key : *call_.neighbors(KeyType::kInteger))
    if (const auto id = integer_key(key)) ids.push_back(*id);
  GLOVE_ASSIGN_OR_RETURN(scored_, live::live_score(*context_.rows, query, ids));
  piece_ = scored_;
  return {};
}

// Begins the next query of the call.
Status IndexScan::open_query() {
  call_.set_query(next_query_, inputs_);
  position_ = 0;
  piece_ = {};
  more_pieces_ = false;
  ranking_.reset();
  if (way_ == Way::kListed) {
    if (next_query_ >= block_start_ + block_.size()) GLOVE_RETURN_IF_ERROR(open_block());
    piece_ = block_[next_query_ - block_start_];
  } else if (way_ != Way::kNothing) {
    GLOVE_ASSIGN_OR_RETURN(auto query, resolve(inputs_));
    if (query && way_ == Way::kIds) GLOVE_RETURN_IF_ERROR(score_ids(*query));
    if (query && way_ == Way::kRanked) {
      ranking_.emplace(*context_.state, *context_.rows, std::move(*query), options_, call_.row_hint());
      more_pieces_ = true;
    }
  }
  ++next_query_;
  return {};
}

// Makes piece_ the next rows of the current query. Returns false if there are none.
Result<bool> IndexScan::fetch() {
  if (!piece_.empty()) return true;
  if (!more_pieces_) return false;
  GLOVE_ASSIGN_OR_RETURN(piece_, ranking_->rows_from(position_));
  if (!piece_.empty()) return true;
  more_pieces_ = false;
  record(ranking_->report(), "live");
  return false;
}

Result<bool> IndexScan::next() {
  const nn::RowRange& range = call_.range();
  while (true) {
    GLOVE_ASSIGN_OR_RETURN(const bool found, fetch());
    if (!found) {
      if (next_query_ == call_.query_count()) return false;
      GLOVE_RETURN_IF_ERROR(open_query());
      continue;
    }
    row_ = piece_.front();
    piece_ = piece_.subspan(1);
    rank_ = way_ == Way::kIds ? 0 : ++position_;
    // All later rows are no better.
    if (row_.similarity < range.lowest || (rank_ > 0 && rank_ > limit())) {
      piece_ = {};
      more_pieces_ = false;
    } else if (row_.similarity <= range.highest && (rank_ == 0 || rank_ >= range.first_rank)) {
      return true;
    }
  }
}

}  // namespace glove::sql
