#include "cpu/search/search_plan.h"

#include <limits>

#include "lists/planes.h"
#include "model/nibbles.h"
#include "search/candidates.h"
#include "search/copied_codes.h"

namespace glove::cpu {
namespace {

// Scoring a row takes as long as reading its vector and this many bytes of codes, by measurement: its memory
// is not read in order.
constexpr int64_t kScoreBytes = 4096;

// The rows that a search is expected to score by measurement on word vectors: after a coarse level, and after
// 8 bits.
constexpr int64_t expected_scores(int64_t k) {
  return 9 * (k + 100);
}
constexpr int64_t expected_candidates(int64_t k) {
  return k + k / 2;
}

// Whether scoring the rows that a coarse level is expected to leave costs less than it has saved.
bool pays(const PlanFacts& facts, int64_t saved) {
  return cost_of_scores(facts.last, expected_scores(std::min(facts.k, facts.rows)), facts.dims) <= saved;
}

// The coarsest level that pays for one query; kCodes8 if none does.
Level first_level(const PlanFacts& facts, FirstLevel forced) {
  if (forced == FirstLevel::kCodes8 || facts.queries > 1) return Level::kCodes8;
  const bool is_forced = forced == FirstLevel::kCoarsest;
  // Planes are read of all rows in lists, whichever are admissible.
  if (facts.rows_in_lists > 0 &&
      (is_forced || (facts.k <= facts.most_k && facts.rows <= 2 * facts.rows_of_tiles &&
                     pays(facts, bytes_saved(Level::kPlanes, facts.rows_in_lists, facts.dims)))))
    return Level::kPlanes;
  if (facts.has_codes4 &&
      (is_forced || pays(facts, bytes_saved(Level::kCodes4, facts.rows_of_tiles, facts.dims))))
    return Level::kCodes4;
  return Level::kCodes8;
}

}  // namespace

PlanFacts facts_of(const Model& model, std::span<const SearchRequest> requests) {
  const RowMask* const among = requests.front().query->among.get();
  PlanFacts facts{.rows = model.words(), .dims = model.dims(), .queries = std::ssize(requests)};
  for (const SearchRequest& request : requests) facts.k = std::max(facts.k, request.k);
  if (!has_vectors(model)) facts.last = Level::kCodes8;
  facts.admissible = answerable_rows(model, among);
  facts.rows_of_tiles = among == nullptr ? model.words() : among->rows_of_tiles();
  if (requests.front().terms.reader != nullptr) return facts;  // the codes of 8 bits that are not in memory
  facts.is_masked = among != nullptr && among->count() > 0 && among->is_of(model);
  facts.has_codes4 =
      std::ranges::all_of(model.parts(), [](const ModelPart& part) { return part.has_level(4); });
  facts.most_k = std::numeric_limits<int64_t>::max();
  for (const ModelPart& part : model.parts()) {
    if (part.planes != nullptr) {
      facts.rows_in_lists += part.rows;
      facts.most_k = std::min(facts.most_k, part.planes->most_k);
    } else if (facts.last == Level::kVectors) {  // else a small segment, which 8 bits are read of
      facts.rows_in_lists = 0;
      break;
    }
  }
  return facts;
}

SearchPlan plan_search(const PlanFacts& facts, FirstLevel forced) {
  SearchPlan plan{first_level(facts, forced), facts.last, 0};
  if (!facts.is_masked) return plan;
  const int64_t tiles =
      facts.queries * (plan.first == Level::kCodes8 ? scan_bytes(facts.rows_of_tiles, facts.dims)
                                                    : nibble_bytes(facts.rows_of_tiles, facts.dims));
  int64_t saved = tiles - facts.queries * scan_bytes(facts.admissible, facts.dims);
  if (facts.last == Level::kVectors) {
    // A scan is followed by scoring its candidates.
    const int64_t more = facts.admissible - std::min(facts.admissible, expected_candidates(facts.k));
    const int64_t scores = facts.queries * cost_of_scores(facts.last, more, facts.dims);
    if (scores <= tiles) {
      plan.first = Level::kVectors;
      saved -= tiles - scores;
    }
  }
  // A copy of nearly all rows would use memory for little, and one has no codes of 4 bits.
  if (saved > tiles / 8 && forced != FirstLevel::kCoarsest &&
      CopiedCodes::bytes(facts.admissible, facts.dims) <= kMostCopied)
    plan.copy_saves = saved;
  return plan;
}

std::string_view SearchPlan::words() const {
  const bool has_vectors = last == Level::kVectors;
  if (first == Level::kVectors) return "vectors";
  if (first == Level::kCodes8) return has_vectors ? "8 bits -> vectors" : "8 bits";
  if (first == Level::kCodes4) return has_vectors ? "4 bits -> vectors" : "4 bits -> 8 bits";
  return has_vectors ? "planes -> vectors" : "planes -> 8 bits";
}

int64_t cost_of_scores(Level last, int64_t rows, int64_t dims) {
  if (last == Level::kVectors) return rows * (kScoreBytes + dims * static_cast<int64_t>(sizeof(float)));
  return rows * code_bytes(kTileRows, dims) / 2;
}

int64_t bytes_saved(Level first, int64_t rows, int64_t dims) {
  const int64_t bytes = first == Level::kPlanes   ? plane1_bytes(rows, dims)
                        : first == Level::kCodes4 ? nibble_bytes(rows, dims)
                                                  : code_bytes(rows, dims);
  return code_bytes(rows, dims) - bytes;
}

// Copying reads the tiles that have an admissible row faster than a scan does if most of their rows are not
// copied, and writes a word at a time. By measurement with 100, 300 and 768 dimensions.
int64_t cost_of_copying(const RowMask& among, int64_t dims) {
  return scan_bytes(among.rows_of_tiles(), dims) * 7 / 10 + 4 * dims * among.count();
}

}  // namespace glove::cpu
