// A few recent answers, for joins that repeat the same queries.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/model.h"
#include "search/engine.h"
#include "search/query.h"

namespace glove {

// Caches answers of nearest() and evicts the least recently used. Drops a model's answers once the model is
// unloaded or replaced, and the answers of 'auto' once the setting "backend" changes. One thread at a time
// may use it.
class AnswerCache {
 public:
  using Answer = std::shared_ptr<const std::vector<Neighbor>>;

  // The parameters of a search. Computes its hash on construction.
  struct Key {
    Key(const Model& model, Query asked, int64_t rows, std::string requested_backend);
    bool operator==(const Key& other) const;

    uint64_t model_id;
    Query query;
    int64_t k;
    std::string backend;
    uint64_t hash;
  };

  static constexpr size_t kDefaultBytes = size_t{4} << 20;

  // `max_bytes` limits all entries together, including keys. The limit is lower while the engine's caches
  // together exceed their budget (CacheBudget). An answer larger than a quarter of the limit is not kept. The
  // engine must outlive the cache.
  explicit AnswerCache(Engine& engine, size_t max_bytes = kDefaultBytes)
      : engine_(engine), share_(engine.cache_budget(), max_bytes) {}

  // Returns nullptr if there is none.
  Answer find(const Key& key);

  // Keeps the answer, unless there is too little memory, and returns it.
  Answer insert(Key key, std::vector<Neighbor> rows);

  size_t bytes() const { return share_.bytes(); }

 private:
  struct Entry {
    Key key;
    Answer answer;
    size_t bytes;
  };
  using Entries = std::list<Entry>;  // most recently used first
  struct HashOfKey {
    size_t operator()(const Key* key) const { return static_cast<size_t>(key->hash); }
  };
  struct SameKey {
    bool operator()(const Key* a, const Key* b) const { return *a == *b; }
  };

  void forget_what_is_stale();
  template <class Stale>
  void forget_if(Stale&& stale);
  void erase(Entries::iterator entry);
  bool drop_oldest();

  Engine& engine_;
  CacheShare share_;
  Entries entries_;
  std::unordered_map<const Key*, Entries::iterator, HashOfKey, SameKey> by_key_;  // those of the entries
  uint64_t catalog_generation_ = 0;
  const Backend* automatic_backend_ = nullptr;  // as given by the setting "backend"
};

}  // namespace glove
