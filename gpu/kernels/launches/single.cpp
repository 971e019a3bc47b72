// The kernels of single_scan.cu.
#include "gpu/kernels/launches/launch_file.h"
#include "gpu/kernels/single_scan.h"
#include "gpu/layout/query_codes.h"
#include "gpu/layout/tile.h"

namespace glove::gpu::launches {
namespace {

std::vector<LaunchParameter> vectors_of(const DevicePart& part) {
  return buffers("vectors", part.vectors, "norms_squared", part.norms_squared);
}

// The scan of codes of 8 bits.
void add_fine(LaunchFile* file) {
  const auto [scan, staged_rows] = arguments<SingleScanParams, int>();
  const LaunchSettings fine = {.kernel = "single_scan_kernelILi8E"};
  const std::string masked =
      "dims 16, blocks 2, vectors on, ranked on, row_upper off, long_query off, mask on";
  file->cover(
      fine,
      {{"ci ranked", masked},
       {"ci unranked", "dims 300, blocks 2, vectors off, ranked off, row_upper on, long_query on, mask off"},
       {"ci bounds", "dims 3, blocks 2, vectors off, ranked off, row_upper off, long_query on, mask on"},
       {"ci masked", "dims 300, blocks 2, vectors on, ranked off, row_upper on, long_query off, mask on"}});
  // Candidates are ranked in two rounds and staged in two parts.
  file->launches.push_back({.name = "96 candidates",
                            .kernel = fine.kernel,
                            .with = masked,
                            .parameters = {number(scan.answer.capacity, 96)}});
  // More than 4,096 rows per block: they are collected in parts if there are many candidates.
  file->launches.push_back(
      {.name = "5,376 rows",
       .kernel = fine.kernel,
       .with = "dims 3, blocks 1, vectors off, ranked off, row_upper off, long_query off, mask off",
       .dynamic_shared = 27264,
       .parameters = {number(scan.tiles, 150)}});
}

// That of codes of 4 bits, which always has vectors.
void add_coarse(LaunchFile* file) {
  const auto [scan, staged_rows] = arguments<SingleScanParams, int>();
  const DevicePart& part = scan.part;
  const LaunchSettings coarse = {.kernel = "single_scan_kernelILi4E", .parameters = vectors_of(part)};
  file->cover(coarse, {{"ci coarse, ranked",
                        "dims 16, blocks 2, ranked on, row_upper off, long_query off, seeds 1, mask on"},
                       {"ci coarse, unranked",
                        "dims 1, blocks 2, ranked off, row_upper on, long_query on, seeds 8, mask off"}});
  // Whole batches of a tile's codes.
  file->launches.push_back(
      {.name = "ci coarse, 340 dims",
       .kernel = coarse.kernel,
       .dynamic_shared = 21504,
       .parameters = vectors_of(part) + std::vector{number(part.dims, 340), number(scan.groups, 85),
                                                    number(scan.seeds_per_warp, 1), null(part.mask.words),
                                                    null(scan.row_upper), null(scan.long_query),
                                                    null(scan.answer.ranked_ids),
                                                    null(scan.answer.ranked_similarities)}});
}

}  // namespace

// single_scan_kernel(scan, staged_rows), for codes of 8 and of 4 bits
LaunchFile single_scan() {
  const auto [scan, staged_rows] = arguments<SingleScanParams, int>();
  const DevicePart& part = scan.part;
  LaunchFile file = {.source = "single_scan"};
  file.all = {
      .parameters =
          buffers("codes", part.level.codes, "scales", part.level.scales, "residuals", part.level.residuals,
                  "coarse_codes", part.coarse.codes, "coarse_scales", part.coarse.scales, "coarse_residuals",
                  part.coarse.residuals, "packed_rows", part.packed_rows, "next_counters", scan.next_counters,
                  "ids", scan.answer.ids, "similarities", scan.answer.similarities, "done", scan.done) +
          std::vector{zeroed(scan.counters, "counters"), number(scan.tiles, 48), number(scan.top_rows, 10),
                      number(staged_rows, 64)},
      .lemmas = {{"ranks-distinct", "ranks in a strict total order are distinct"},
                 one_thread_reaches_rank()}};
  // The shared memory holds the query, the histogram, and 3,072 bytes of upper bounds.
  const auto of_dims = [&, &scan = scan](int dims) {
    return LaunchSettings{.dynamic_shared = static_cast<int>(shared_query_bytes(dims)) + kBins * 4 + 3072,
                          .parameters = {number(scan.part.dims, dims),
                                         number(scan.groups, static_cast<int32_t>(component_groups(dims)))}};
  };
  file.choices = {
      choice_of("dims", {1, 3, 16, 300}, of_dims),
      blocks(),
      masks(part.mask),
      choice_of("ranked", "off", {null(scan.answer.ranked_ids), null(scan.answer.ranked_similarities)}, "on",
                {number(scan.answer.capacity, 48), buffer(scan.answer.ranked_ids, "ranked_ids"),
                 buffer(scan.answer.ranked_similarities, "ranked_similarities")}),
      choice_of("row_upper", "off", {null(scan.row_upper)}, "on", {buffer(scan.row_upper, "row_upper")}),
      choice_of("long_query", "off", {null(scan.long_query)}, "on", {buffer(scan.long_query, "long_query")}),
      {"vectors",
       {{.name = "off",
         .parameters = {null(part.vectors), null(part.norms_squared)},
         .lemmas = {{"own-bounds", "a row of the block's share has its upper bound inside the share's"}}},
        {.name = "on", .parameters = vectors_of(part)}}},
      choice_of("seeds", {1, 8}, scan.seeds_per_warp)};
  file.never = {"vectors off, ranked on"};
  file.when_run = {{.kernel = "single_scan_kernel",
                    .parameters = {number(scan.count_every_row, 1), number(scan.answer.capacity, 48)}}};

  add_fine(&file);
  add_coarse(&file);
  return file;
}

}  // namespace glove::gpu::launches
