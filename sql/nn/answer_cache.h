// A few recent answers, for joins that repeat the same queries.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/model.h"
#include "search/query.h"

namespace glove {

class Backend;
class Engine;

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
  explicit AnswerCache(Engine& engine, size_t max_bytes = kDefaultBytes);
  ~AnswerCache();
  AnswerCache(const AnswerCache&) = delete;
  AnswerCache& operator=(const AnswerCache&) = delete;

  // Returns nullptr if there is none.
  Answer find(const Key& key);

  // Keeps the answer, unless there is too little memory, and returns it.
  Answer insert(Key key, std::vector<Neighbor> rows);

  size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    Key key;
    Answer answer;
    size_t bytes;
  };
  using Entries = std::list<Entry>;  // most recently used first

  void forget_what_is_stale();
  template <class Stale>
  void forget_if(Stale&& stale);
  Entries::iterator find_entry(const Key& key);
  void erase(Entries::iterator entry);
  size_t most_bytes() const;
  bool make_room(size_t bytes);

  Engine& engine_;
  const size_t max_bytes_;
  Entries entries_;
  std::unordered_multimap<uint64_t, Entries::iterator> by_hash_;
  size_t bytes_ = 0;
  uint64_t catalog_generation_ = 0;
  const Backend* automatic_backend_ = nullptr;  // as given by the setting "backend"
};

}  // namespace glove
