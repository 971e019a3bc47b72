// Ranks of whole relations, for joins that request the ranks of many rows of one query, each in a separate
// scan.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "search/nearest.h"

namespace glove {

// The first ranks of a query cost one search each (rank_of). After a few of them, one pass that sorts all
// rows provides the ranks of all rows, if the cache has room. One per connection. One thread at a time may
// use it.
class RankCache {
 public:
  // The rank of each id, 1 = nearest; 0 if the id is not in the relation. [model.words()]
  using Ranks = std::shared_ptr<const std::vector<int32_t>>;

  static constexpr int kSearchesFirst = 2;
  static constexpr size_t kMostQueries = 32;  // that are counted or kept; the least recently used is evicted
  static constexpr size_t kDefaultBytes = size_t{32} << 20;

  // `max_bytes` limits the ranks of all queries together. A model with more words than fit is searched each
  // time.
  explicit RankCache(size_t max_bytes = kDefaultBytes) : max_bytes_(max_bytes) {}
  RankCache(const RankCache&) = delete;
  RankCache& operator=(const RankCache&) = delete;

  // Returns the ranks of all rows of the query, or nullptr if it has not been requested often enough. Fills
  // in the report if it computes them; report.queries > 0 then.
  Result<Ranks> find(ModelSearchers& searchers, const Query& query, const SearchOptions& options,
                     SearchReport& report);

  size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    uint64_t model_id;
    Query query;
    int asked;
    Ranks ranks;
  };

  Entry& entry_of(const Model& model, const Query& query);
  void make_room(size_t bytes);

  const size_t max_bytes_;
  std::list<Entry> entries_;  // most recently used first
  size_t bytes_ = 0;
};

}  // namespace glove
