#include "sql/nn/answer_cache.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <iterator>
#include <new>
#include <utility>

#include "search/engine.h"

namespace glove {
namespace {

// The overhead of an entry in addition to its vectors: the entry itself, and the nodes of the list and the
// map.
constexpr size_t kEntryBytes = 256;

template <class Value>
std::string_view bytes_of(const std::vector<Value>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Value)};
}

// The words of a query and its norm almost always identify its vector.
uint64_t hash_of(const AnswerCache::Key& key) {
  const std::hash<std::string_view> hash;
  const Query& query = key.query;
  uint64_t result = key.model_id;
  for (const uint64_t part :
       {uint64_t{hash(query.excluded.empty() ? bytes_of(query.vector) : bytes_of(query.excluded))},
        std::bit_cast<uint64_t>(query.norm_squared), static_cast<uint64_t>(key.k),
        uint64_t{hash(key.backend)}})
    result = (result ^ part) * 0x9E3779B97F4A7C15u;
  return result ^ (result >> 32);
}

}  // namespace

AnswerCache::Key::Key(const Model& model, Query asked, int64_t rows, std::string requested_backend)
    : model_id(model.id()),
      query(std::move(asked)),
      k(rows),
      backend(std::move(requested_backend)),
      hash(hash_of(*this)) {}

bool AnswerCache::Key::operator==(const Key& other) const {
  return hash == other.hash && model_id == other.model_id && k == other.k && backend == other.backend &&
         bytes_of(query.vector) == bytes_of(other.query.vector) && query.excluded == other.query.excluded;
}

AnswerCache::AnswerCache(Engine& engine, size_t max_bytes) : engine_(engine), max_bytes_(max_bytes) {
  engine_.cache_budget().join();
}

AnswerCache::~AnswerCache() {
  engine_.cache_budget().give_back(bytes_);
  engine_.cache_budget().leave();
}

// Returns the bytes that this cache may use now.
size_t AnswerCache::most_bytes() const {
  return std::min(max_bytes_, engine_.cache_budget().share());
}

// Takes this many bytes from the budget, evicting the least recently used entries if necessary. Returns false
// if there is not enough.
bool AnswerCache::make_room(size_t bytes) {
  const size_t most = most_bytes();
  if (bytes > most / 4) return false;
  while (bytes_ + bytes > most) erase(std::prev(entries_.end()));
  while (!engine_.cache_budget().take(bytes)) {
    if (entries_.empty()) return false;
    erase(std::prev(entries_.end()));
  }
  return true;
}

AnswerCache::Answer AnswerCache::find(const Key& key) {
  forget_what_is_stale();
  const auto entry = find_entry(key);
  if (entry == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, entry);
  return entry->answer;
}

AnswerCache::Answer AnswerCache::insert(Key key, std::vector<Neighbor> rows) {
  auto answer = std::make_shared<const std::vector<Neighbor>>(std::move(rows));
  const size_t bytes = kEntryBytes + key.backend.size() + bytes_of(key.query.vector).size() +
                       bytes_of(key.query.excluded).size() + bytes_of(*answer).size();
  forget_what_is_stale();
  if (find_entry(key) != entries_.end() || !make_room(bytes)) return answer;
  try {
    entries_.push_front({std::move(key), answer, bytes});
    try {
      by_hash_.emplace(entries_.front().key.hash, entries_.begin());
    } catch (...) {
      entries_.pop_front();
      throw;
    }
  } catch (const std::bad_alloc&) {
    engine_.cache_budget().give_back(bytes);
    return answer;
  }
  bytes_ += bytes;
  return answer;
}

template <class Stale>
void AnswerCache::forget_if(Stale&& stale) {
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (stale(entry->key)) erase(entry);
    entry = next;
  }
}

void AnswerCache::forget_what_is_stale() {
  while (bytes_ > most_bytes()) erase(std::prev(entries_.end()));
  if (const uint64_t generation = engine_.catalog().generation(); generation != catalog_generation_) {
    const CatalogSnapshotPtr models = engine_.catalog().snapshot();
    forget_if([&](const Key& key) { return !models->has_model(key.model_id); });
    catalog_generation_ = generation;
  }
  // The code that chooses a backend reports a bad value in the environment.
  const Result<Backend*> setting = engine_.settings().backend();
  const Backend* const automatic = setting.ok() ? setting.value() : nullptr;
  if (automatic != automatic_backend_) {
    forget_if([](const Key& key) { return key.backend.empty() || key.backend == "auto"; });
    automatic_backend_ = automatic;
  }
}

AnswerCache::Entries::iterator AnswerCache::find_entry(const Key& key) {
  const auto [first, last] = by_hash_.equal_range(key.hash);
  for (auto found = first; found != last; ++found)
    if (found->second->key == key) return found->second;
  return entries_.end();
}

void AnswerCache::erase(Entries::iterator entry) {
  const auto [first, last] = by_hash_.equal_range(entry->key.hash);
  for (auto found = first; found != last; ++found) {
    if (found->second != entry) continue;
    by_hash_.erase(found);
    break;
  }
  bytes_ -= entry->bytes;
  engine_.cache_budget().give_back(entry->bytes);
  entries_.erase(entry);
}

}  // namespace glove
