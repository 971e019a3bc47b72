#include "search/rank_cache.h"

#include <cstring>
#include <utility>

namespace glove {
namespace {

size_t bytes_of(const RankCache::Ranks& ranks) {
  return ranks == nullptr ? 0 : ranks->size() * sizeof(int32_t);
}

bool same_query(const Query& a, const Query& b) {
  return a.excluded == b.excluded && a.vector.size() == b.vector.size() &&
         std::memcmp(a.vector.data(), b.vector.data(), a.vector.size() * sizeof(float)) == 0;
}

Result<RankCache::Ranks> rank_all_rows(ModelSearchers& searchers, const Query& query,
                                       const SearchOptions& options, SearchReport& report) {
  GLOVE_ASSIGN_OR_RETURN(OrderedRows rows, all_rows(searchers, query, options, report));
  GLOVE_RETURN_IF_ERROR(rows.sort_first(rows.size(), options.interrupted));
  std::vector<int32_t> ranks(static_cast<size_t>(searchers.model()->words()));
  int32_t rank = 0;
  for (const Neighbor& row : rows.sorted()) ranks[static_cast<size_t>(row.id)] = ++rank;
  return std::make_shared<const std::vector<int32_t>>(std::move(ranks));
}

}  // namespace

Result<RankCache::Ranks> RankCache::find(ModelSearchers& searchers, const Query& query,
                                         const SearchOptions& options, SearchReport& report) {
  const Model& model = *searchers.model();
  Entry& entry = entry_of(model, query);
  if (entry.ranks != nullptr) {
    GLOVE_RETURN_IF_ERROR(model.health());
    return entry.ranks;
  }
  const size_t bytes = static_cast<size_t>(model.words()) * sizeof(int32_t);
  if (entry.asked < kSearchesFirst || bytes > max_bytes_) {
    ++entry.asked;
    return Ranks();
  }
  GLOVE_ASSIGN_OR_RETURN(Ranks ranks, rank_all_rows(searchers, query, options, report));
  make_room(bytes);
  entry.ranks = ranks;
  bytes_ += bytes;
  return ranks;
}

// Moves the query's entry to the front, or creates it there.
RankCache::Entry& RankCache::entry_of(const Model& model, const Query& query) {
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (entry->model_id != model.id() || !same_query(entry->query, query)) continue;
    entries_.splice(entries_.begin(), entries_, entry);
    return entries_.front();
  }
  entries_.push_front({model.id(), query, 0, nullptr});
  if (entries_.size() > kMostQueries) {
    bytes_ -= bytes_of(entries_.back().ranks);
    entries_.pop_back();
  }
  return entries_.front();
}

// REQUIRES: bytes <= max_bytes_.
void RankCache::make_room(size_t bytes) {
  for (auto entry = entries_.rbegin(); entry != entries_.rend() && bytes_ + bytes > max_bytes_; ++entry) {
    bytes_ -= bytes_of(entry->ranks);
    entry->ranks.reset();
  }
}

}  // namespace glove
