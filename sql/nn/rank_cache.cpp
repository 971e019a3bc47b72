#include "sql/nn/rank_cache.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <numeric>
#include <utility>

#include "search/engine.h"

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

// The bytes that make_room() took for ranks that are being computed. Gives them back unless keep() is called.
class RankCache::Reservation {
 public:
  Reservation(RankCache& cache, size_t bytes) : cache_(cache), bytes_(bytes) {}
  ~Reservation() { cache_.give_back(bytes_); }
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;

  // Returns false if there is no room for so many.
  bool resize(size_t bytes) {
    if (bytes > bytes_ && !cache_.make_room(bytes - bytes_)) return false;
    if (bytes < bytes_) cache_.give_back(bytes_ - bytes);
    bytes_ = bytes;
    return true;
  }
  void keep() { bytes_ = 0; }

 private:
  RankCache& cache_;
  size_t bytes_;
};

RankCache::~RankCache() {
  engine_.cache_budget().give_back(bytes_);
  if (joined_) engine_.cache_budget().leave();
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
  while (bytes_ > most_bytes() && drop_oldest()) {
  }
  Entry& entry = entry_of(asked);
  if (entry.ranks != nullptr) return entry.ranks;
  if (entry.times < searches_first) {
    ++entry.times;
    return Ranks();
  }
  if (!make_room(bytes)) return Ranks();
  Reservation reservation(*this, bytes);
  GLOVE_ASSIGN_OR_RETURN(KeptRanks computed, compute());
  const auto ranks = std::make_shared<const KeptRanks>(std::move(computed));
  if (!reservation.resize(ranks->bytes())) return Ranks(ranks);
  // The interrupt check may have run the host's code, which may have come back here.
  if (Entry& current = entry_of(asked); current.ranks == nullptr) {
    current.ranks = ranks;
    reservation.keep();
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
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (!models->has_model(entry->asked.model_id)) {
      drop_ranks(*entry);
      entries_.erase(entry);
    }
    entry = next;
  }
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

// Returns the bytes that this cache may use now.
size_t RankCache::most_bytes() const {
  return std::min(max_bytes_, engine_.cache_budget().share());
}

// Takes this many bytes from the budget, dropping the least recently used ranks if necessary. Returns false
// if there is not enough.
bool RankCache::make_room(size_t bytes) {
  CacheBudget& budget = engine_.cache_budget();
  if (bytes > most_bytes()) return false;
  if (!joined_) budget.join();
  joined_ = true;
  while (bytes_ + bytes > most_bytes() || !budget.take(bytes))
    if (!drop_oldest()) return false;
  bytes_ += bytes;
  return true;
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
  if (entry.ranks != nullptr) give_back(entry.ranks->bytes());
  entry.ranks.reset();
}

void RankCache::give_back(size_t bytes) {
  bytes_ -= bytes;
  engine_.cache_budget().give_back(bytes);
}

}  // namespace glove
