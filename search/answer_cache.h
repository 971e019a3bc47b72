// A few recent answers, for joins that ask the same word again and again.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "loader/model.h"
#include "search/neighbor.h"
#include "search/query.h"

namespace glove {

// Answers of nearest(), by model, query, k and requested backend; the least recently used makes room.
// Everything is forgotten when a model is loaded or unloaded or a setting changes. Thread-safe.
class AnswerCache {
 public:
  using Answer = std::shared_ptr<const std::vector<Neighbor>>;

  static constexpr size_t kDefaultBytes = size_t{4} << 20;

  // `max_bytes`: of all entries together, keys included. An answer of more than a quarter is not kept.
  explicit AnswerCache(size_t max_bytes = kDefaultBytes) : max_bytes_(max_bytes) {}
  AnswerCache(const AnswerCache&) = delete;
  AnswerCache& operator=(const AnswerCache&) = delete;

  // nullptr if there is none.
  Answer find(const Model& model, const Query& query, int64_t k, std::string_view backend);

  // Keeps the answer, unless memory is short, and gives it back.
  Answer insert(const Model& model, const Query& query, int64_t k, std::string_view backend,
                std::vector<Neighbor> rows);

  size_t bytes() const;

 private:
  struct Entry {
    uint64_t hash;
    uint64_t model_id;
    int64_t k;
    std::string backend;
    std::vector<float> vector;
    std::vector<int32_t> excluded;
    Answer answer;
    size_t bytes;
  };
  using Entries = std::list<Entry>;  // most recently used first

  void forget_if_stale();
  Entries::iterator find_entry(uint64_t hash, const Model& model, const Query& query, int64_t k,
                               std::string_view backend);
  void erase(Entries::iterator entry);

  const size_t max_bytes_;
  mutable std::mutex mutex_;
  Entries entries_;
  std::unordered_multimap<uint64_t, Entries::iterator> by_hash_;
  size_t bytes_ = 0;
  uint64_t catalog_generation_ = 0;
  uint64_t settings_generation_ = 0;
};

}  // namespace glove
