#include "live/block_scan.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/require.h"
#include "base/timer.h"
#include "live/code_cache.h"
#include "live/loaded_bytes.h"
#include "search/engine.h"

namespace glove::live {
namespace {

// The tiles of a segment that are searched together if its codes are in memory.
constexpr int64_t kBlockBytes = int64_t{4} << 20;

// One search.
class BlockScan {
 public:
  BlockScan(const PartSet& set, std::span<const Query> queries, int64_t k, const SearchOptions& options,
            SearchReport& report)
      : set_(set), queries_(queries), k_(k), options_(options), report_(report), answers_(queries.size()) {
    Engine& engine = set.searchers().engine();
    options_.backend = engine.backends().all().back()->name();
  }

  // Searches rows [first, last) of a segment, whose codes are these.
  Status search(size_t segment, int64_t first, int64_t last, std::span<const int8_t> codes) {
    const ModelPart& whole = set_.model().parts()[segment];
    const CodeLevel& level = whole.level(8);
    const auto from = static_cast<size_t>(first);
    const auto rows = static_cast<size_t>(last - first);
    ModelPart part;
    part.first_row = whole.first_row + first;
    part.rows = last - first;
    part.dims = whole.dims;
    part.levels = {{8, codes, level.scales.subspan(from, rows), level.residuals.subspan(from, rows)}};
    Model::Source source;
    source.path = set_.model().path();
    ModelSearchers searchers(set_.searchers().engine(),
                             std::make_shared<const Model>(std::vector{std::move(part)}, Vocabulary(),
                                                           std::move(source), nullptr));
    SearchReport block;
    GLOVE_ASSIGN_OR_RETURN(auto found, candidates_of(searchers, queries_, k_, options_, block));
    for (size_t i = 0; i < found.size(); ++i)
      answers_[i].insert(answers_[i].end(), found[i].begin(), found[i].end());
    report_.backend = block.backend;
    report_.device = block.device;
    block.cost.bytes_scanned = static_cast<int64_t>(codes.size() + rows * 2 * sizeof(float));
    report_.cost.add(block.cost);
    return {};
  }

  // True if none of these rows of a segment is admissible.
  bool omits(size_t segment, int64_t first, int64_t last) const {
    const RowMask* const among = queries_.front().among.get();
    if (among == nullptr) return false;
    const int64_t begin = set_.first_row(segment);
    for (int64_t row = first; row < last; row += kTileRows)
      if (among->admits_tile(begin + row)) return false;
    return true;
  }

  Answers finish() && {
    for (auto& rows : answers_) std::sort(rows.begin(), rows.end(), ranks_before);
    return std::move(answers_);
  }

 private:
  const PartSet& set_;
  std::span<const Query> queries_;
  int64_t k_;
  SearchOptions options_;
  SearchReport& report_;
  Answers answers_;
};

// Returns a block of the codes of an outline, from the cache or the source; null if the segment is gone.
Result<CodeBlock> read_block(const Segment& segment, int64_t id, int64_t number, CodeSource& source,
                             std::shared_ptr<HugePageBuffer<char>>& spare) {
  if (CodeBlock kept = CodeCache::instance().find(segment, number)) return kept;
  if (spare == nullptr || spare.use_count() > 1) spare = std::make_shared<HugePageBuffer<char>>();
  GLOVE_ASSIGN_OR_RETURN(const bool is_there, source.read_codes(segment, id, number, *spare));
  if (!is_there) return CodeBlock();
  GLOVE_ASSIGN_OR_RETURN(const int64_t most, source.most_bytes());
  CodeCache::instance().keep(segment, number, spare, most - LoadedBytes::all());
  return CodeBlock(spare);
}

// What a search has read.
struct Codes {
  std::span<const int8_t> codes;
  CodeBlock owner;  // null if the segment has them
};

// Returns the codes of rows [first, last) of a segment; none if the segment is gone.
Result<Codes> read_rows(const Segment& segment, int64_t id, int64_t first, int64_t last, CodeSource& source,
                        std::shared_ptr<HugePageBuffer<char>>& spare) {
  if (!segment.is_outline()) {
    const auto begin = static_cast<size_t>(code_bytes(first, segment.dims()));
    const auto end = static_cast<size_t>(code_bytes(last, segment.dims()));
    return Codes{segment.level().codes.subspan(begin, end - begin), nullptr};
  }
  const int64_t number = first / (segment.blocks().tiles * kTileRows);
  GLOVE_ASSIGN_OR_RETURN(CodeBlock block, read_block(segment, id, number, source, spare));
  if (block == nullptr) return Codes();
  const std::span codes(reinterpret_cast<const int8_t*>(block->data()), block->size());
  return Codes{codes, std::move(block)};
}

int64_t rows_at_once(const Segment& segment) {
  const int64_t tiles = kBlockBytes / code_bytes(kTileRows, segment.dims());
  return kTileRows * (segment.is_outline() ? segment.blocks().tiles : std::max<int64_t>(1, tiles));
}

}  // namespace

Result<std::optional<Answers>> candidates_by_blocks(const PartSet& set, std::span<const int64_t> segment_ids,
                                                    CodeSource& source, std::span<const Query> queries,
                                                    int64_t k, const SearchOptions& options,
                                                    SearchReport& report, const std::vector<bool>& omitted) {
  GLOVE_REQUIRE(!queries.empty() && k >= 1);
  const Timer timer;
  report.queries = static_cast<int64_t>(queries.size());
  report.k = k;
  BlockScan scan(set, queries, k, options, report);
  std::shared_ptr<HugePageBuffer<char>> spare;
  for (size_t i = 0; i < segment_ids.size(); ++i) {
    if (!omitted.empty() && omitted[i]) continue;
    const Segment& segment = *set.segments()[i];
    const int64_t rows = rows_at_once(segment);
    if (segment.is_outline()) CodeCache::instance().begin_scan(segment);
    for (int64_t first = 0; first < segment.rows(); first += rows) {
      const int64_t last = std::min(segment.rows(), first + rows);
      if (scan.omits(i, first, last)) continue;
      GLOVE_ASSIGN_OR_RETURN(const Codes read,
                             read_rows(segment, segment_ids[i], first, last, source, spare));
      if (read.codes.empty()) return std::optional<Answers>();
      GLOVE_RETURN_IF_ERROR(scan.search(i, first, last, read.codes));
    }
  }
  const RowMask* const among = queries.front().among.get();
  report.cost.rows_scanned = (among ? among->count() : set.model().words()) * report.queries;
  report.total_us = timer.microseconds();
  return std::optional(std::move(scan).finish());
}

}  // namespace glove::live
