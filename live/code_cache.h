// The blocks of codes that searches keep of segments whose codes are not in memory. There is one cache per
// process.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "base/huge_pages.h"
#include "base/mutex.h"

namespace glove::live {

class Segment;

using CodeBlock = std::shared_ptr<const HugePageBuffer<char>>;

// Thread-safe. A scan reads the blocks of a segment in order, so a full cache keeps those that it has: one
// that replaced the block that has waited longest would have dropped each before it is read again. It drops
// the blocks of a segment that the last scans have not read. Blocks with negative numbers, of which a search
// reads few, take the places of the others.
class CodeCache {
 public:
  static CodeCache& instance() { return never_freed<CodeCache>(); }

  // To be called before a scan of a segment.
  void begin_scan(const Segment& segment);

  // Returns a block of a segment; null if it is not kept.
  CodeBlock find(const Segment& segment, int64_t number) const;

  // Keeps a block, unless all blocks would then take more than `most` bytes. Drops others if they do already.
  void keep(const Segment& segment, int64_t number, const CodeBlock& block, int64_t most);

  // Drops the blocks of a segment.
  void forget(const Segment& segment);

 private:
  struct Kept {
    int64_t last_scan = 0;
    std::map<int64_t, CodeBlock> blocks;
  };

  mutable ForkSafeMutex mutex_;
  int64_t scans_ GLOVE_GUARDED_BY(mutex_) = 0;
  int64_t bytes_ GLOVE_GUARDED_BY(mutex_) = 0;
  std::map<const Segment*, Kept> kept_ GLOVE_GUARDED_BY(mutex_);
};

}  // namespace glove::live
