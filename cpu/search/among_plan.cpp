#include "cpu/search/among_plan.h"

#include <algorithm>

#include "cpu/search/coarse_search.h"
#include "cpu/search/search_cost.h"
#include "model/nibbles.h"
#include "search/candidates.h"

namespace glove::cpu {
namespace {

// The most memory of a copy.
constexpr int64_t kMostCopied = int64_t{64} << 20;

// What the ways to answer one request cost, as search_cost.h measures it.
struct Costs {
  int64_t tiles = 0;   // a scan of the model's tiles that have an admissible row
  int64_t copy = 0;    // a scan of a copy
  int64_t scores = 0;  // scoring all admissible rows instead of scanning
};

Costs costs_of(const ScanContext& context, const SearchRequest& request, bool alone) {
  const RowMask& among = *request.query->among;
  const int64_t dims = context.model.dims();
  Costs costs;
  const int64_t rows = among.rows_of_tiles();
  costs.tiles =
      alone && wants_coarse_search(context, request) ? nibble_bytes(rows, dims) : scan_bytes(rows, dims);
  costs.copy = scan_bytes(among.count(), dims);
  // A scan is followed by scoring its candidates.
  costs.scores =
      bytes_of_scores(among.count() - std::min(among.count(), expected_candidates(request.k)), dims);
  return costs;
}

// Copying reads the tiles that have an admissible row faster than a scan does if most of their rows are not
// copied, and writes a word at a time. By measurement with 100, 300 and 768 dimensions.
int64_t cost_of_copying(const RowMask& among, int64_t dims) {
  return scan_bytes(among.rows_of_tiles(), dims) * 7 / 10 + 4 * dims * among.count();
}

}  // namespace

Result<AmongPlan> plan_among(const ScanContext& context, std::span<SearchRequest> requests) {
  const RowMask* const among = requests.front().query->among.get();
  AmongPlan plan;
  if (among == nullptr || among->count() == 0 || !among->is_of(context.model)) return plan;
  int64_t without = 0, saved = 0, scores = 0;
  for (const SearchRequest& request : requests) {
    const Costs costs = costs_of(context, request, requests.size() == 1);
    without += costs.tiles;
    saved += costs.tiles - costs.copy;
    scores += costs.scores;
  }
  if (has_vectors(context.model) && scores <= without) {
    plan.scores = true;
    saved -= without - scores;
  }
  // A copy of nearly all rows would use memory for little, and one has no codes of 4 bits.
  const int64_t dims = context.model.dims();
  if (saved <= without / 8 || context.scan_bits == 4 ||
      AdmissibleCodes::bytes(among->count(), dims) > kMostCopied)
    return plan;
  plan.codes = among->codes();
  if (plan.codes == nullptr && among->add_missed(saved) >= cost_of_copying(*among, dims)) {
    const SharedInterrupt shared(requests);
    GLOVE_ASSIGN_OR_RETURN(plan.codes,
                           AdmissibleCodes::copy(context.model, *among, context.threads, shared.check()));
    among->keep(plan.codes);
  }
  if (plan.codes != nullptr) plan.scores = false;
  return plan;
}

}  // namespace glove::cpu
