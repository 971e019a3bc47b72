// Ranks of whole relations, for joins that request the ranks of many rows of one query, each in a separate
// scan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "search/nearest.h"

namespace glove {

class Engine;

// The first kSearchesFirst ranks of a query take one search each (rank_of). After that, the cache computes
// the ranks of all rows in one pass that sorts them, if it has room. It forgets the ranks of a model that is
// unloaded or replaced. There is one per connection, and one thread at a time may use it.
class RankCache {
 public:
  // The rank of each id, 1 = nearest; 0 if the id is not in the relation. [model.words()]
  using Ranks = std::shared_ptr<const std::vector<int32_t>>;

  static constexpr int kSearchesFirst = 2;
  static constexpr size_t kMostQueries = 32;  // that are counted or kept; the least recently used is evicted
  static constexpr size_t kDefaultBytes = size_t{32} << 20;

  // `max_bytes` limits the ranks of all queries together. The limit is lower while the engine's caches
  // together exceed their budget (CacheBudget). A model whose ranks do not fit is searched each time. The
  // engine must outlive the cache.
  explicit RankCache(Engine& engine, size_t max_bytes = kDefaultBytes)
      : engine_(engine), max_bytes_(max_bytes) {}
  ~RankCache();
  RankCache(const RankCache&) = delete;
  RankCache& operator=(const RankCache&) = delete;

  // Returns the ranks of all rows of the query, or nullptr if it has not been requested often enough. Fills
  // in the report if it computes them; report.queries > 0 then.
  Result<Ranks> find(ModelSearchers& searchers, const Query& query, const SearchOptions& options,
                     SearchReport& report);

  // Forgets the models that the catalogue no longer has. find() does so as well. Takes no lock unless a model
  // was loaded or unloaded since the last call.
  void forget_unloaded();

  size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    uint64_t model_id;
    Query query;
    int asked;
    Ranks ranks;
  };

  class Reservation;

  Entry& entry_of(const Model& model, const Query& query);
  size_t most_bytes() const;
  bool make_room(size_t bytes);
  bool drop_oldest();
  void drop_ranks(Entry& entry);
  void give_back(size_t bytes);

  Engine& engine_;
  const size_t max_bytes_;
  std::list<Entry> entries_;         // most recently used first
  size_t bytes_ = 0;                 // taken from the budget, for ranks that are kept or being computed
  bool joined_ = false;              // the budget; only a cache that has kept ranks claims a share of it
  uint64_t catalog_generation_ = 0;  // when unloaded models were last forgotten
};

}  // namespace glove
