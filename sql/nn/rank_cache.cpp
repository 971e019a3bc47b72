#include "sql/nn/rank_cache.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/scope_exit.h"

namespace glove {
namespace {

bool same_query(const Query& a, const Query& b) {
  return a.excluded == b.excluded && a.vector.size() == b.vector.size() &&
         std::memcmp(a.vector.data(), b.vector.data(), a.vector.size() * sizeof(float)) == 0;
}

Result<KeptRanks> rank_all_rows(ModelSearchers& searchers, const Query& query, const SearchOptions& options,
                                SearchReport& report) {
  GLOVE_ASSIGN_OR_RETURN(OrderedRows rows, all_rows(searchers, query, options, report));
  GLOVE_RETURN_IF_ERROR(rows.sort_first(rows.size(), options.interrupted));
  KeptRanks kept;
  kept.ranks.resize(static_cast<size_t>(searchers.model()->words()));
  int32_t rank = 0;
  for (const Neighbor& row : rows.sorted()) kept.ranks[static_cast<size_t>(row.id)] = ++rank;
  return kept;
}

}  // namespace

std::optional<size_t> KeptRanks::find(int64_t id) const {
  const auto row = std::ranges::lower_bound(rows, id, {}, &Neighbor::id);
  if (row == rows.end() || row->id != id) return std::nullopt;
  return static_cast<size_t>(row - rows.begin());
}

KeptRanks ranks_by_id(std::span<const Neighbor> rows) {
  KeptRanks kept;
  kept.ranks.resize(rows.size());
  std::iota(kept.ranks.begin(), kept.ranks.end(), 1);
  const auto row_of = [rows](int32_t rank) -> const Neighbor& { return rows[static_cast<size_t>(rank - 1)]; };
  std::ranges::sort(kept.ranks, [&](int32_t a, int32_t b) { return row_of(a).id < row_of(b).id; });
  kept.rows.reserve(rows.size());
  for (const int32_t rank : kept.ranks) kept.rows.push_back(row_of(rank));
  return kept;
}

bool RankCache::Asked::operator==(const Asked& other) const {
  const bool same_among = !among.owner_before(other.among) && !other.among.owner_before(among);
  return model_id == other.model_id && same_among && limit == other.limit && recall == other.recall &&
         same_query(query, other.query);
}

Result<RankCache::Ranks> RankCache::find(ModelSearchers& searchers, const Query& query,
                                         const SearchOptions& options, SearchReport& report) {
  forget_unloaded();
  const Model& model = *searchers.model();
  GLOVE_ASSIGN_OR_RETURN(Ranks ranks, find({.model_id = model.id(), .query = query}, kSearchesFirst,
                                           static_cast<size_t>(model.words()) * sizeof(int32_t),
                                           [&] { return rank_all_rows(searchers, query, options, report); }));
  if (ranks != nullptr && report.queries == 0) GLOVE_RETURN_IF_ERROR(model.health(options.interrupted));
  return ranks;
}

Result<RankCache::Ranks> RankCache::find(const Asked& asked, int searches_first, size_t bytes,
                                         const Compute& compute) {
  while (share_.bytes() > share_.most() && drop_oldest()) {
  }
  Entry& entry = entry_of(asked);
  if (entry.ranks != nullptr) return entry.ranks;
  if (entry.times < searches_first) {
    ++entry.times;
    return Ranks();
  }
  const auto take = [this](size_t more) { return share_.take(more, [this] { return drop_oldest(); }); };
  if (!take(bytes)) return Ranks();
  const ScopeExit giving_back([&] { share_.give_back(bytes); });  // of ranks that are not kept
  GLOVE_ASSIGN_OR_RETURN(KeptRanks computed, compute());
  const auto ranks = std::make_shared<const KeptRanks>(std::move(computed));
  const size_t used = ranks->bytes();
  if (used > bytes && !take(used - bytes)) return Ranks(ranks);
  if (used < bytes) share_.give_back(bytes - used);
  bytes = used;
  // The interrupt check may have run the host's code, which may have come back here.
  if (Entry& current = entry_of(asked); current.ranks == nullptr) {
    current.ranks = ranks;
    bytes = 0;
  }
  return Ranks(ranks);
}

void RankCache::clear() {
  for (Entry& entry : entries_) drop_ranks(entry);
  entries_.clear();
}

void RankCache::forget_unloaded() {
  const uint64_t generation = engine_.catalog().generation();
  if (generation == catalog_generation_) return;
  const CatalogSnapshotPtr models = engine_.catalog().snapshot();
  entries_.remove_if([&](Entry& entry) {
    const bool is_gone = !models->has_model(entry.asked.model_id);
    if (is_gone) drop_ranks(entry);
    return is_gone;
  });
  catalog_generation_ = generation;
}

// Moves the query's entry to the front, or creates it there.
RankCache::Entry& RankCache::entry_of(const Asked& asked) {
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (!(entry->asked == asked)) continue;
    entries_.splice(entries_.begin(), entries_, entry);
    return entries_.front();
  }
  entries_.push_front({asked, 0, nullptr});
  if (entries_.size() > kMostQueries) {
    drop_ranks(entries_.back());
    entries_.pop_back();
  }
  return entries_.front();
}

// Drops the least recently used ranks. Returns false if there are none.
bool RankCache::drop_oldest() {
  const auto oldest =
      std::find_if(entries_.rbegin(), entries_.rend(), [](const Entry& e) { return e.ranks != nullptr; });
  if (oldest == entries_.rend()) return false;
  drop_ranks(*oldest);
  return true;
}

void RankCache::drop_ranks(Entry& entry) {
  if (entry.ranks != nullptr) share_.give_back(entry.ranks->bytes());
  entry.ranks.reset();
}

}  // namespace glove
