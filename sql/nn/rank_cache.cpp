#include "sql/nn/rank_cache.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "search/engine.h"

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

// The bytes that make_room() took for ranks that are being computed. Gives them back unless keep() is called.
class RankCache::Reservation {
 public:
  Reservation(RankCache& cache, size_t bytes) : cache_(cache), bytes_(bytes) {}
  ~Reservation() { cache_.give_back(bytes_); }
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;

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
  while (bytes_ > most_bytes() && drop_oldest()) {
  }
  const Model& model = *searchers.model();
  Entry& entry = entry_of(model, query);
  if (Ranks known = entry.ranks; known != nullptr) {
    GLOVE_RETURN_IF_ERROR(model.health(options.interrupted));
    return known;
  }
  const size_t bytes = static_cast<size_t>(model.words()) * sizeof(int32_t);
  if (entry.asked < kSearchesFirst) {
    ++entry.asked;
    return Ranks();
  }
  if (!make_room(bytes)) return Ranks();
  Reservation reservation(*this, bytes);
  GLOVE_ASSIGN_OR_RETURN(Ranks ranks, rank_all_rows(searchers, query, options, report));
  // The interrupt check may have run the host's code, which may have come back here.
  if (Entry& current = entry_of(model, query); current.ranks == nullptr) {
    current.ranks = ranks;
    reservation.keep();
  }
  return ranks;
}

void RankCache::forget_unloaded() {
  const uint64_t generation = engine_.catalog().generation();
  if (generation == catalog_generation_) return;
  const CatalogSnapshotPtr models = engine_.catalog().snapshot();
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (!models->has_model(entry->model_id)) {
      drop_ranks(*entry);
      entries_.erase(entry);
    }
    entry = next;
  }
  catalog_generation_ = generation;
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
  give_back(bytes_of(entry.ranks));
  entry.ranks.reset();
}

void RankCache::give_back(size_t bytes) {
  bytes_ -= bytes;
  engine_.cache_budget().give_back(bytes);
}

}  // namespace glove
