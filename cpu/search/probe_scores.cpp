#include "cpu/search/probe_scores.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "cpu/kernels/collector.h"
#include "cpu/kernels/wide_query.h"
#include "cpu/search/part_chunks.h"
#include "cpu/search/search_cost.h"
#include "lists/code_estimate.h"
#include "lists/recall_table.h"
#include "search/candidates.h"

namespace glove::cpu {
namespace {

constexpr int64_t kTilesPerCheck = 1 << 10;

// By the vectors, exactly.
class VectorScores final : public ProbeScores {
 public:
  VectorScores(const ScanContext& context, const SearchRequest& request)
      : context_(context), request_(request), wide_(widen(request.query->vector)) {}

  void fetch(int64_t row) const override { fetch_row(context_.model, row); }
  Status score(std::span<Neighbor> rows) override {
    score_rows(context_, *request_.query, wide_.data(), rows);
    return {};
  }
  Result<std::vector<float>> direction(int64_t row) override {
    const float* const vector = context_.model.vector(row);
    return std::vector<float>(vector, vector + context_.model.dims());
  }
  double nearest_excluded() const override {
    const std::vector<int32_t>& excluded = request_.query->excluded;
    std::vector<Neighbor> rows;
    for (size_t i = 0; i < std::min(excluded.size(), kMeasuredExcluded); ++i)
      if (excluded[i] >= 0 && excluded[i] < context_.model.words())
        rows.push_back({excluded[i], kNoSimilarity});
    score_rows(context_, *request_.query, wide_.data(), rows);
    double nearest = kNoSimilarity;
    for (const Neighbor& row : rows) nearest = std::max(nearest, row.similarity);
    return nearest;
  }
  Result<std::vector<Neighbor>> finish(std::vector<Neighbor> best, const InterruptCheck&,
                                       ScanCost&) override {
    best.resize(std::min(best.size(), static_cast<size_t>(request_.k)));
    return best;
  }

 private:
  const ScanContext& context_;
  const SearchRequest& request_;
  const std::vector<double> wide_;
};

// By the codes of 8 bits, which bound the similarities.
class CodeScores final : public ProbeScores {
 public:
  CodeScores(const ScanContext& context, const SearchRequest& request)
      : context_(context),
        request_(request),
        query_(quantize_query(request.query->vector, request.query->norm_squared, kEstimateQueryCode)) {}

  void fetch(int64_t row) const override {
    const ModelPart& part = context_.model.part_of(row);
    if (part.level(8).codes.empty()) return;
    const int8_t* const codes = part.level(8).codes.data() + code_index(row - part.first_row, 0, part.dims);
    for (int64_t group = 0; group < component_groups(part.dims); ++group)
      __builtin_prefetch(codes + group * kTileRows * kTileComponents);
  }

  Status score(std::span<Neighbor> rows) override {
    for (size_t i = 0; i < rows.size(); ++i) {
      if (i + 1 < rows.size()) fetch(rows[i + 1].id);
      const ModelPart& part = context_.model.part_of(rows[i].id);
      const auto place = static_cast<size_t>(rows[i].id - part.first_row);
      const float error = query_.bound.error(part.level(8).residuals[place]);
      if (!std::isfinite(error)) continue;
      GLOVE_ASSIGN_OR_RETURN(const RowCodes codes, codes_of(rows[i].id));
      if (codes.level.codes.empty()) continue;
      const float estimate = code_estimate(codes.level, codes.place, part.dims, query_);
      rows[i].similarity = estimate;
      lower_bounds_.push_back(estimate - error);
      candidates_.push_back({rows[i].id, estimate + error});
    }
    return {};
  }

  Result<std::vector<float>> direction(int64_t row) override {
    GLOVE_ASSIGN_OR_RETURN(const RowCodes codes, codes_of(row));
    if (codes.level.codes.empty()) return std::vector<float>();
    std::vector<float> direction;
    for (int64_t i = 0; i < context_.model.dims(); ++i)
      direction.push_back(
          codes.level.codes[static_cast<size_t>(code_index(codes.place, i, context_.model.dims()))]);
    return direction;
  }

  // The rows that a live index omits are deleted ones.
  double nearest_excluded() const override { return kNoSimilarity; }

  Result<std::vector<Neighbor>> finish(std::vector<Neighbor>, const InterruptCheck& interrupted,
                                       ScanCost& cost) override {
    SharedBounds bounds(request_.k);
    bounds.offer(lower_bounds_);
    Collector collector(request_.query->excluded, request_.query->among.get(), bounds);
    collector.refresh();
    GLOVE_RETURN_IF_ERROR(read_others(collector, interrupted, cost));
    std::vector<float> lower_bounds(bounds.lower_bounds().begin(), bounds.lower_bounds().end());
    lower_bounds.insert(lower_bounds.end(), collector.unshared().begin(), collector.unshared().end());
    std::erase_if(lower_bounds, [](float bound) { return std::isnan(bound); });
    const float threshold = kth_largest(lower_bounds, request_.k);
    for (const Collector::Candidate& candidate : collector.candidates())
      candidates_.push_back({candidate.id, candidate.upper});
    std::erase_if(candidates_, [&](const Neighbor& row) { return row.similarity < threshold; });
    std::ranges::sort(candidates_, ranks_before);
    return std::move(candidates_);
  }

 private:
  struct RowCodes {
    CodeLevel level;  // without codes if the row is not there any more
    int64_t place;    // of the row
  };

  Result<RowCodes> codes_of(int64_t row) {
    const ModelPart& part = context_.model.part_of(row);
    if (!part.level(8).codes.empty()) return RowCodes{part.level(8), row - part.first_row};
    GLOVE_ASSIGN_OR_RETURN(const CodeLevel level, request_.source->read_codes(row));
    return RowCodes{level, 0};
  }

  // Reads all rows of the parts that the calibration does not know.
  Status read_others(Collector& collector, const InterruptCheck& interrupted, ScanCost& cost) {
    const ScanKernel& kernel = *context_.kernels.single_query;
    const Query& query = *request_.query;
    const int64_t dims = context_.model.dims();
    QuantizedQuery codes;
    std::vector<int8_t> packed;
    const PartChunks chunks(context_.model.parts(), kTilesPerCheck * kTileRows);
    for (int64_t i = 0; i < chunks.count(); ++i) {
      const PartChunks::Chunk chunk = chunks[i];
      if (chunk.part.planes != nullptr || chunk.part.level(8).codes.empty()) continue;
      GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
      if (packed.empty()) {
        codes = quantize_query(query.vector, query.norm_squared, kernel.max_query_code);
        kernel.pack({&codes, 1}, component_groups(dims), packed);
      }
      for_admissible_tiles(chunk, query.among.get(), query.excluded, [&](int64_t first, int64_t end) {
        kernel.scan(chunk.part, chunk.part.level(8), first, end, {&codes, 1}, packed.data(), &collector);
      });
      cost.rows_scanned += chunk.last - chunk.first;
      cost.bytes_scanned += scan_bytes(chunk.last - chunk.first, dims);
    }
    return {};
  }

  const ScanContext& context_;
  const SearchRequest& request_;
  const QuantizedQuery query_;
  std::vector<float> lower_bounds_;
  std::vector<Neighbor> candidates_;  // with upper bounds
};

}  // namespace

std::unique_ptr<ProbeScores> make_probe_scores(const ScanContext& context, const SearchRequest& request) {
  if (has_vectors(context.model)) return std::make_unique<VectorScores>(context, request);
  return std::make_unique<CodeScores>(context, request);
}

}  // namespace glove::cpu
