#include "sql/index/known_texts.h"

#include <algorithm>

#include "base/float_environment.h"
#include "base/require.h"

namespace glove::sql {

Status KnownTexts::read(const std::string& fingerprint) {
  const Status read = read_places(fingerprint);
  if (read.ok()) return {};
  segments_.clear();
  places_.clear();
  return read.error().code == ErrorCode::kInterrupted ? read : Status();
}

Status KnownTexts::read_places(const std::string& fingerprint) {
  GLOVE_ASSIGN_OR_RETURN(const IndexConfig config, store_.config());
  if (config.fingerprint != fingerprint || config.dims == 0) return {};
  dims_ = config.dims;
  GLOVE_ASSIGN_OR_RETURN(segments_, store_.loaded_segments(dims_));
  for (const StoredSegment& stored : segments_) append_living(stored, places_);
  std::ranges::sort(places_, {}, &LivingRow::id);
  return {};
}

Result<std::span<const float>> KnownTexts::find(int64_t id, const Digest128& digest) {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set());
  constexpr std::span<const float> kUnknown;
  const auto place = std::ranges::lower_bound(places_, id, {}, &LivingRow::id);
  if (place == places_.end() || place->id != id) return kUnknown;
  const StoredSegment& stored = *place->stored;
  StoredTextReader& reader = readers_.try_emplace(stored.record.id, vectors_, dims_).first->second;
  GLOVE_ASSIGN_OR_RETURN(const auto known, reader.digests.read(stored.record.id, place->row));
  if (known.empty() || digest_of(known) != digest) return kUnknown;
  GLOVE_ASSIGN_OR_RETURN(const auto vector, reader.vectors.read(stored.record.id, place->row));
  return stored.segment->has_codes_of(place->row, vector) ? vector : kUnknown;
}

}  // namespace glove::sql
