#include "cpu/search/probe_plan.h"

#include <algorithm>
#include <cmath>

#include "lists/planes.h"
#include "search/candidates.h"
#include "search/nearest.h"

namespace glove::cpu {
namespace {

// An index that has grown so many times since it was calibrated is searched exactly.
constexpr int64_t kMostGrowth = 2;
// Where nearly as many rows are left as were calibrated, the nearest lie where the nearest of those did.
constexpr double kNearlyAll = 0.95;

int64_t count_between(std::span<const int32_t> rows, const ModelPart& part) {
  const auto from = [&](int64_t row) { return std::lower_bound(rows.begin(), rows.end(), row); };
  return from(part.first_row + part.rows) - from(part.first_row);
}

// The rows of a model that are in lists.
struct ListedRows {
  const RecallTable* table = nullptr;  // null: they were not calibrated
  int64_t rows = 0;
  int64_t excluded = 0;
};

ListedRows listed_rows(std::span<const ModelPart> parts, const Query& query) {
  ListedRows all;
  for (const ModelPart& part : parts) {
    const RecallTable* const own = table_of(part);
    if (part.planes != nullptr && (own == nullptr || own->is_damaged)) return {};
    if (own == nullptr) continue;
    all.table = own;
    all.rows += part.rows;
    all.excluded += count_between(query.excluded, part);
  }
  return all;
}

}  // namespace

std::optional<ProbePlan> plan_probe(const ScanContext& context, const SearchRequest& request,
                                    std::string_view& unmet) {
  const auto no = [&unmet](std::string_view reason) {
    unmet = reason;
    return std::nullopt;
  };
  if (!(request.terms.recall < 1)) return std::nullopt;
  const Model& model = context.model;
  const Query& query = *request.query;
  if (has_vectors(model) && model.parts().size() != 1) return no("the model is in parts");
  const ListedRows listed = listed_rows(model.parts(), query);
  if (listed.table == nullptr) return no("the rows are in no lists, or those are not calibrated");
  const int64_t calibrated = listed.table->calibrated_rows > 0 ? listed.table->calibrated_rows : listed.rows;
  if (listed.rows > kMostGrowth * calibrated) return no("the rows have doubled since the calibration");
  auto living = static_cast<double>(listed.rows - listed.excluded);
  if (const RowMask* const among = query.among.get(); among != nullptr) {
    if (!among->is_of(model)) return no("the model is in parts");
    living =
        std::min(living, static_cast<double>(among->count()) * living / static_cast<double>(listed.rows));
  }
  const double density = living / static_cast<double>(calibrated);
  if (!(density > 0)) return no("no row in lists is admissible");
  const double spread = density < 1 ? std::min(1.0, density / kNearlyAll) : density;
  const double needed = std::ceil(static_cast<double>(request.k) / spread);
  const int which =
      needed > static_cast<double>(kMostRecallK) ? -1 : recall_class(static_cast<int64_t>(needed));
  // Of so few rows, reading all is cheaper.
  if (which < 0 || static_cast<double>(kRecallKs[static_cast<size_t>(which)]) > living / 16)
    return no("k is too large for so few admissible rows");
  const double left = static_cast<double>(kRecallKs[static_cast<size_t>(which)]) * density;
  return ProbePlan{listed.table, calibrated, which,
                   std::max(request.k, static_cast<int64_t>(std::llround(left)))};
}

std::vector<int64_t> calibrated_offsets(std::span<const ModelPart> parts, const ProbePlan& plan) {
  if (parts.size() == 1 && parts.front().rows == plan.rows) return {};
  std::vector<int64_t> offsets(static_cast<size_t>(plan.table->lists.lists()) + 1);
  for (const ModelPart& part : parts)
    if (table_of(part) != nullptr)
      for (size_t i = 0; i < offsets.size(); ++i) offsets[i] += part.planes->offsets[i];
  const auto all = static_cast<double>(offsets.back());
  for (int64_t& offset : offsets)
    offset = static_cast<int64_t>(static_cast<double>(offset) * static_cast<double>(plan.rows) / all);
  return offsets;
}

PlanePiece::PlanePiece(const ModelPart& whole, const PlaneTiles& tiles, std::span<const uint8_t> plane1)
    : level_(*whole.planes), part_(whole) {
  const int64_t first = tiles.first * kTileRows;
  part_.first_row = 0;
  part_.rows = std::min(whole.rows, tiles.last * kTileRows) - first;
  const std::span<const int64_t> offsets = whole.planes->offsets;
  const auto begin = std::upper_bound(offsets.begin(), offsets.end() - 1, first) - 1;
  first_list_ = static_cast<size_t>(begin - offsets.begin());
  for (auto at = begin; at != offsets.end() && *at < first + part_.rows; ++at)
    offsets_.push_back(std::max<int64_t>(*at - first, 0));
  offsets_.push_back(part_.rows);
  constexpr int64_t kBounds = kPlaneBounds * kTileRows;
  level_.offsets = offsets_;
  level_.plane1 = plane1;
  level_.bounds1 = level_.bounds1.subspan(static_cast<size_t>(tiles.first * kBounds),
                                          static_cast<size_t>((tiles.last - tiles.first) * kBounds));
  part_.planes = &level_;
}

}  // namespace glove::cpu
