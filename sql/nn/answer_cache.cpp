#include "sql/nn/answer_cache.h"

#include <bit>
#include <functional>
#include <iterator>
#include <new>
#include <utility>

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

bool AnswerCache::drop_oldest() {
  if (entries_.empty()) return false;
  erase(std::prev(entries_.end()));
  return true;
}

AnswerCache::Answer AnswerCache::find(const Key& key) {
  forget_what_is_stale();
  const auto found = by_key_.find(&key);
  if (found == by_key_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->answer;
}

AnswerCache::Answer AnswerCache::insert(Key key, std::vector<Neighbor> rows) {
  auto answer = std::make_shared<const std::vector<Neighbor>>(std::move(rows));
  const size_t bytes = kEntryBytes + key.backend.size() + bytes_of(key.query.vector).size() +
                       bytes_of(key.query.excluded).size() + bytes_of(*answer).size();
  forget_what_is_stale();
  if (by_key_.contains(&key) || bytes > share_.most() / 4 ||
      !share_.take(bytes, [this] { return drop_oldest(); }))
    return answer;
  const size_t others = entries_.size();
  try {
    entries_.push_front({std::move(key), answer, bytes});
    by_key_.emplace(&entries_.front().key, entries_.begin());
  } catch (const std::bad_alloc&) {
    if (entries_.size() > others) entries_.pop_front();
    share_.give_back(bytes);
  }
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
  while (share_.bytes() > share_.most()) drop_oldest();
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

void AnswerCache::erase(Entries::iterator entry) {
  by_key_.erase(&entry->key);
  share_.give_back(entry->bytes);
  entries_.erase(entry);
}

}  // namespace glove
