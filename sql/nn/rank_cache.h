// Ranks of whole relations, for joins that request the ranks of many rows of one query, each in a separate
// scan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "search/engine.h"
#include "search/nearest.h"
#include "search/row_mask.h"

namespace glove {

// The ranks of the rows of a query, 1 = nearest.
struct KeptRanks {
  // Of an index: by ascending id. Of a model: empty.
  std::vector<Neighbor> rows;
  // Of an index: of each of `rows`. Of a model: of each id; 0 if the id is not in the relation.
  std::vector<int32_t> ranks;
  // Of an approximate answer.
  AnswerNote note;
  AuditedRecall audited;

  size_t bytes() const { return rows.size() * sizeof(Neighbor) + ranks.size() * sizeof(int32_t); }
  // Returns the position in `rows` of the row with this id, or nullopt.
  std::optional<size_t> find(int64_t id) const;
};

// Returns the rows of an index, which come best first, with their ranks.
KeptRanks ranks_by_id(std::span<const Neighbor> rows);

// The first ranks of a query of a model, kSearchesFirst, take one search each (rank_of). After that, the
// cache computes the ranks of all rows in one pass that sorts them, if it has room. It forgets the ranks of a
// model that is unloaded or replaced. There is one per connection, and one per index that a connection uses,
// whose ranks its owner forgets once the rows have changed. One thread at a time may use it.
class RankCache {
 public:
  using Ranks = std::shared_ptr<const KeptRanks>;

  // What the ranks are of.
  struct Asked {
    uint64_t model_id = 0;  // 0: the rows of the index
    Query query;
    std::weak_ptr<const KeySet> among{};                  // of an index; null: all rows
    int64_t limit = std::numeric_limits<int64_t>::max();  // of rows
    double recall = 1;

    bool operator==(const Asked& other) const;
  };
  using Compute = std::function<Result<KeptRanks>()>;

  static constexpr int kSearchesFirst = 2;
  static constexpr size_t kMostQueries = 32;  // that are counted or kept; the least recently used is evicted
  static constexpr size_t kDefaultBytes = size_t{32} << 20;

  // `max_bytes` limits the ranks of all queries together. The limit is lower while the engine's caches
  // together exceed their budget (CacheBudget). A model whose ranks do not fit is searched each time. The
  // engine must outlive the cache.
  explicit RankCache(Engine& engine, size_t max_bytes = kDefaultBytes)
      : engine_(engine), share_(engine.cache_budget(), max_bytes) {}

  // Returns the ranks of all rows of the query, or nullptr if it has not been requested often enough. Fills
  // in the report if it computes them; report.queries > 0 then.
  Result<Ranks> find(ModelSearchers& searchers, const Query& query, const SearchOptions& options,
                     SearchReport& report);
  // The same, with what compute() returns. `bytes` estimates its size; what turns out to have no room is
  // returned but not kept. nullptr: this was requested no more than `searches_first` times, or there is no
  // room.
  Result<Ranks> find(const Asked& asked, int searches_first, size_t bytes, const Compute& compute);

  // Forgets all ranks.
  void clear();

  // Forgets the models that the catalogue no longer has. find() does so as well. Takes no lock unless a model
  // was loaded or unloaded since the last call.
  void forget_unloaded();

  size_t bytes() const { return share_.bytes(); }

 private:
  struct Entry {
    Asked asked;
    int times;
    Ranks ranks;
  };

  Entry& entry_of(const Asked& asked);
  bool drop_oldest();
  void drop_ranks(Entry& entry);

  Engine& engine_;
  CacheShare share_;                 // for ranks that are kept or being computed
  std::list<Entry> entries_;         // most recently used first
  uint64_t catalog_generation_ = 0;  // when unloaded models were last forgotten
};

}  // namespace glove
