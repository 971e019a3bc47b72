// The vectors that an index of texts has already, so that 'rebuild' encodes only texts that have changed.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "live/blake2b.h"
#include "sql/index/index_store.h"
#include "sql/index/vector_store.h"

namespace glove::sql {

// Must not outlive the command. The arguments of the constructor must outlive it.
class KnownTexts {
 public:
  KnownTexts(IndexStore& store, VectorStore& vectors) : store_(store), vectors_(vectors) {}

  // Finds out which rows are known, if `fingerprint` is that of the model that made their vectors. Of an
  // index that is damaged, or that an earlier version made, none are. An error only if it was interrupted.
  Status read(const std::string& fingerprint);

  // Returns the vector of a row; an empty one unless it is that of a text with this digest. Fast if rows are
  // asked for by ascending id. Valid until the next call. REQUIRES: the float environment.
  Result<std::span<const float>> find(int64_t id, const Digest128& digest);

 private:
  Status read_places(const std::string& fingerprint);

  IndexStore& store_;
  VectorStore& vectors_;
  int64_t dims_ = 0;
  std::vector<StoredSegment> segments_;
  std::vector<LivingRow> places_;  // by id
  std::map<int64_t, StoredTextReader> readers_;
};

}  // namespace glove::sql
