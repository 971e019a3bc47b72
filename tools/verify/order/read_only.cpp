#include "order/read_only.h"

namespace glove::verify {

bool ReadOnlyMemory::is_constant(const Place& place, unsigned bytes) const {
  if (learned_.written_objects.count(place.object) == 0) return true;
  if (place.kind != Place::kNumber || learned_.written_anywhere.count(place.object) > 0) return false;
  GlobalPlace word = {place.address.form, place.address.constant / 4};
  for (; word.granule <= (place.address.constant + bytes - 1) / 4; ++word.granule)
    if (learned_.written_words.count(word) > 0) return false;
  return true;
}

void ReadOnlyMemory::note_read(const Place& place, unsigned bytes) {
  read_objects_.insert(place.object);
  if (place.kind != Place::kNumber) {
    read_anywhere_.insert(place.object);
    return;
  }
  GlobalPlace word = {place.address.form, place.address.constant / 4};
  for (; word.granule <= (place.address.constant + bytes - 1) / 4; ++word.granule) read_words_.insert(word);
}

bool ReadOnlyMemory::note_written(const Place& place, unsigned bytes) {
  const bool first = learned_.written_objects.insert(place.object).second;
  if (place.kind != Place::kNumber)
    return learned_.written_anywhere.insert(place.object).second && read_objects_.count(place.object) > 0;
  bool seen = first && read_anywhere_.count(place.object) > 0;
  GlobalPlace word = {place.address.form, place.address.constant / 4};
  for (; word.granule <= (place.address.constant + bytes - 1) / 4; ++word.granule)
    seen |= learned_.written_words.insert(word).second && read_words_.count(word) > 0;
  if (seen) learned_.written_anywhere.insert(place.object);
  return seen;
}

std::set<SymbolId> ReadOnlyMemory::buffers() const {
  std::set<SymbolId> buffers(learned_.written_objects.begin(), learned_.written_objects.end());
  buffers.insert(read_objects_.begin(), read_objects_.end());
  buffers.erase(SymbolId{0});
  return buffers;
}

}  // namespace glove::verify
