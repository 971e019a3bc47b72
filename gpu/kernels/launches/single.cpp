// The kernels of single_scan.cu and coarse_scan.cu.
#include <string>

#include "gpu/kernels/coarse_scan.h"
#include "gpu/kernels/launches/launch_file.h"
#include "gpu/kernels/single_scan.h"
#include "gpu/layout/query_codes.h"
#include "gpu/layout/tile.h"

namespace glove::gpu::launches {
namespace {

// What both kernels' launches have in common, given their own parameters.
LaunchSettings settings_of(const SingleScanParams& scan, const int& staged_rows, const char* kernel,
                           std::vector<LaunchParameter> own) {
  own.insert(own.end(),
             {zeroed(scan.counters, "counters"), buffer(scan.next_counters, "next_counters"),
              buffer(scan.ids, "ids"), buffer(scan.similarities, "similarities"), buffer(scan.done, "done"),
              number(scan.tiles, 48), number(scan.top_rows, 10), number(staged_rows, 64)});
  return {.kernel = kernel,
          .parameters = std::move(own),
          .lemmas = {{"ranks-distinct", "ranks in a strict total order are distinct"},
                     one_thread_reaches_rank()}};
}

// The choices of these kernels. The shared memory holds the query, the histogram, and 3,072 bytes of upper
// bounds.
std::vector<LaunchChoice> choices_of(const SingleScanParams& scan) {
  const auto of_dims = [&](int dims) {
    const auto query = static_cast<int>((query_bytes(dims) + 127) / 128 * 128);
    return LaunchSettings{.dynamic_shared = query + kBins * 4 + 3072,
                          .parameters = {number(scan.part.dims, dims),
                                         number(scan.groups, static_cast<int32_t>(component_groups(dims)))}};
  };
  return {
      choice_of("dims", {1, 3, 16, 300}, of_dims), blocks(),
      choice_of("ranked", "off", {null(scan.ranked_ids), null(scan.ranked_similarities)}, "on",
                {number(scan.capacity, 48), buffer(scan.ranked_ids, "ranked_ids"),
                 buffer(scan.ranked_similarities, "ranked_similarities")}),
      choice_of("row_upper", "off", {null(scan.row_upper)}, "on", {buffer(scan.row_upper, "row_upper")}),
      choice_of("long_query", "off", {null(scan.long_query)}, "on", {buffer(scan.long_query, "long_query")})};
}

}  // namespace

// single_scan_kernel(scan, staged_rows)
LaunchFile single_scan() {
  const auto [scan, staged_rows] = arguments<SingleScanParams, int>();
  LaunchFile file = {.source = "single_scan"};
  file.all = settings_of(scan, staged_rows, "single_scan_kernel",
                         buffers("codes", scan.part.level.codes, "scales", scan.part.level.scales,
                                 "residuals", scan.part.level.residuals));
  file.choices = choices_of(scan);
  file.choices.push_back(masks(scan.part.mask));
  file.choices.push_back(
      {"vectors",
       {{.name = "off",
         .parameters = {null(scan.part.vectors), null(scan.part.norms_squared)},
         .lemmas = {{"own-bounds", "a row of the block's share has its upper bound inside the share's"}}},
        {.name = "on",
         .parameters = {buffer(scan.part.vectors, "vectors"),
                        buffer(scan.part.norms_squared, "norms_squared")}}}});
  file.never = {"vectors off, ranked on"};
  file.when_run = {{.kernel = "single_scan_kernel",
                    .parameters = {number(scan.count_every_row, 1), number(scan.capacity, 48)}}};
  file.add(
      {},
      {{"ci ranked", "dims 16, blocks 2, vectors on, ranked on, row_upper off, long_query off, mask on"},
       {"ci unranked", "dims 300, blocks 2, vectors off, ranked off, row_upper on, long_query on, mask off"},
       {"ci bounds", "dims 3, blocks 2, vectors off, ranked off, row_upper off, long_query on, mask on"},
       {"ci masked", "dims 300, blocks 2, vectors on, ranked off, row_upper on, long_query off, mask on"}});
  file.add_unnamed({}, {"dims 1, blocks 3, vectors off, ranked off, row_upper off, long_query off, mask off",
                        "dims 3, blocks 3, vectors on, ranked on, row_upper on, long_query on, mask off",
                        "dims 16, blocks 1, vectors off, ranked off, row_upper on, long_query on, mask off",
                        "dims 300, blocks 1, vectors on, ranked on, row_upper off, long_query off, mask on",
                        "dims 1, blocks 2, vectors on, ranked on, row_upper off, long_query on, mask on",
                        "dims 3, blocks 1, vectors on, ranked off, row_upper on, long_query off, mask on",
                        "dims 1, blocks 1, vectors on, ranked off, row_upper on, long_query on, mask off",
                        "dims 300, blocks 3, vectors on, ranked on, row_upper off, long_query off, mask off",
                        "dims 16, blocks 3, vectors on, ranked off, row_upper on, long_query off, mask on"});
  // Candidates are ranked in two rounds and staged in two parts.
  file.add({.parameters = {number(scan.capacity, 96)}},
           {{"96 candidates",
             "dims 16, blocks 2, vectors on, ranked on, row_upper off, long_query off, mask on"}});
  // More than 4,096 rows per block: they are collected in parts if there are many candidates.
  file.add(
      {.dynamic_shared = 27264, .parameters = {number(scan.tiles, 150)}},
      {{"5,376 rows", "dims 3, blocks 1, vectors off, ranked off, row_upper off, long_query off, mask off"}});
  return file;
}

// coarse_scan_kernel(coarse, staged_rows)
LaunchFile coarse_scan() {
  const auto [coarse, staged_rows] = arguments<CoarseScanParams, int>();
  const SingleScanParams& scan = coarse.scan;
  LaunchFile file = {.source = "coarse_scan"};
  file.all =
      settings_of(scan, staged_rows, "coarse_scan_kernel",
                  buffers("vectors", scan.part.vectors, "norms_squared", scan.part.norms_squared, "codes",
                          scan.part.coarse.codes, "scales", scan.part.coarse.scales, "residuals",
                          scan.part.coarse.residuals, "packed_rows", scan.part.packed_rows));
  file.choices = choices_of(scan);
  file.choices.push_back(masks(scan.part.mask));
  file.choices.push_back(choice_of("seeds", {1, 8}, coarse.seeds_per_warp));
  file.when_run = {{.kernel = "coarse_scan_kernel", .parameters = {number(scan.capacity, 48)}}};
  file.add({},
           {{"ci ranked", "dims 16, blocks 2, ranked on, row_upper off, long_query off, seeds 1, mask on"},
            {"ci unranked", "dims 1, blocks 2, ranked off, row_upper on, long_query on, seeds 8, mask off"}});
  file.add_unnamed({}, {"dims 300, blocks 2, ranked off, row_upper on, long_query on, seeds 8, mask on",
                        "dims 3, blocks 1, ranked on, row_upper off, long_query on, seeds 8, mask off",
                        "dims 1, blocks 1, ranked off, row_upper on, long_query off, seeds 1, mask on",
                        "dims 1, blocks 3, ranked on, row_upper on, long_query off, seeds 8, mask off",
                        "dims 300, blocks 3, ranked off, row_upper off, long_query on, seeds 1, mask off",
                        "dims 16, blocks 1, ranked off, row_upper on, long_query on, seeds 8, mask off",
                        "dims 3, blocks 3, ranked off, row_upper on, long_query off, seeds 1, mask on",
                        "dims 1, blocks 2, ranked off, row_upper off, long_query on, seeds 1, mask on",
                        "dims 300, blocks 1, ranked on, row_upper off, long_query off, seeds 8, mask on",
                        "dims 16, blocks 3, ranked off, row_upper on, long_query on, seeds 1, mask on",
                        "dims 3, blocks 2, ranked on, row_upper off, long_query on, seeds 1, mask off"});
  // Whole batches of a tile's codes.
  file.launches.push_back(
      {.name = "ci 340 dims",
       .dynamic_shared = 21504,
       .parameters = {number(scan.part.dims, 340), number(scan.groups, 85), number(coarse.seeds_per_warp, 1),
                      null(scan.part.mask.words), null(scan.row_upper), null(scan.long_query),
                      null(scan.ranked_ids), null(scan.ranked_similarities)}});
  return file;
}

}  // namespace glove::gpu::launches
