// The kernels of single_scan.cu, batch_scan.cu, batch_answers.cu and batch_wgmma.cu.
#include "gpu/kernels/batch_scan.h"
#include "tests/gpu/launches/launch_file.h"
#include "gpu/kernels/single_scan.h"
#include "gpu/layout/query_codes.h"
#include "gpu/layout/tile.h"

namespace glove::gpu::launches {
namespace {

// Why block_threshold() writes its result once (gpu/primitives/block/threshold.cuh).
const LaunchSettings kOneReachesRank =
    lemma("one-thread-reaches-rank", "the running sums reach the rank at one thread");
const LaunchSettings kRanksDistinct = lemma("ranks-distinct", "ranks in a strict total order are distinct");
// Of lists, from which list_threshold() counts lower bounds.
const LaunchSettings kLowerBins = range("lower-bin", 0, kBins - 1, "bin_of() returns a bin of the histogram");

// single_scan_kernel(scan, staged_rows), for codes of 8 bits and of 4 bits, which always have vectors
LaunchFile single_scan() {
  static const auto [scan, staged_rows] = arguments<SingleScanParams, int>();
  // The shared memory holds the query, the histogram, and 3,072 bytes of upper bounds.
  const auto of_dims = [](int dims) {
    return LaunchSettings{shared(shared_query_bytes(dims) + kBins * 4 + 3072), number(scan.part.dims, dims),
                          number(scan.groups, static_cast<int32_t>(component_groups(dims)))};
  };
  const LaunchSettings vectors = GLOVE_BUFFERS(scan.part.vectors, scan.part.norms_squared);
  const LaunchSettings unranked = {null(scan.answer.ranked_ids), null(scan.answer.ranked_similarities)};
  const LaunchSettings fine = kernel("single_scan_kernelILi8E");
  const LaunchSettings coarse = {kernel("single_scan_kernelILi4E"), vectors};
  const std::string masked =
      "dims 16, blocks 2, vectors on, ranked on, row_upper off, long_query off, mask on";
  return {
      .source = "single_scan",
      .all = {GLOVE_BUFFERS(scan.part.level.codes, scan.part.level.scales, scan.part.level.residuals,
                            scan.part.level.along, scan.part.level.lengths, scan.part.coarse.codes, scan.part.coarse.scales, scan.part.coarse.residuals,
                            scan.part.packed_rows, scan.next_counters, scan.answer.ids,
                            scan.answer.similarities, scan.done),
              GLOVE_ZEROED(scan.counters), number(scan.tiles, 48), number(scan.top_rows, 10),
              number(staged_rows, 64), kRanksDistinct, kOneReachesRank},
      .choices = {dims_choice(of_dims), blocks(), GLOVE_OPTIONAL("mask", scan.part.mask.words),
                  on_off("ranked", unranked,
                         {number(scan.answer.capacity, 48),
                          GLOVE_BUFFERS(scan.answer.ranked_ids, scan.answer.ranked_similarities)}),
                  GLOVE_OPTIONAL("row_upper", scan.row_upper), GLOVE_OPTIONAL("long_query", scan.long_query),
                  on_off("vectors",
                         {null(scan.part.vectors), null(scan.part.norms_squared),
                          lemma("own-bounds",
                                "a row of the block's share has its upper bound inside the share's")},
                         vectors),
                  choice_of("seeds", {1, 8}, [](int count) { return number(scan.seeds_per_warp, count); })},
      .launches =
          {{fine,
            {"ci ranked | " + masked,
             "ci unranked | dims 300, blocks 2, vectors off, ranked off, row_upper on, long_query on, mask "
             "off",
             "ci bounds | dims 3, blocks 2, vectors off, ranked off, row_upper off, long_query on, mask on",
             "ci masked | dims 300, blocks 2, vectors on, ranked off, row_upper on, long_query off, mask "
             "on"}},
           // Candidates are ranked in two rounds and staged in two parts.
           {{name("96 candidates"), fine, with(masked), number(scan.answer.capacity, 96)}},
           // More than 4,096 rows per block: they are collected in parts if there are many candidates.
           {{name("5,376 rows"), fine, shared(27264), number(scan.tiles, 150),
             with("dims 3, blocks 1, vectors off, ranked off, row_upper off, long_query off, mask off")}},
           {coarse,
            {"ci coarse, ranked | dims 16, blocks 2, ranked on, row_upper off, long_query off, seeds 1, mask "
             "on",
             "ci coarse, unranked | dims 1, blocks 2, ranked off, row_upper on, long_query on, seeds 8, mask "
             "off"}},
           // Whole batches of a tile's codes.
           {{name("ci coarse, 340 dims"), coarse, shared(21504), number(scan.part.dims, 340),
             number(scan.groups, 85), number(scan.seeds_per_warp, 1), null(scan.part.mask.words),
             null(scan.row_upper), null(scan.long_query), unranked}}},
      .never = {"vectors off, ranked on"},
      .when_run = {
          {kernel("single_scan_kernel"), number(scan.count_every_row, 1), number(scan.answer.capacity, 48)}}};
}

const auto [batch, first_tile, last_tile, chunk_queries, query_chunks] =
    arguments<BatchScanParams, int, int, int, int>();

// Of all kernels for batches.
LaunchSettings batch_buffers() {
  return GLOVE_BUFFERS(batch.part.level.codes, batch.part.level.scales, batch.part.level.residuals,
                       batch.part.level.along, batch.part.level.lengths,
                       batch.part.packed_rows, batch.fragments, batch.columns, batch.query_vectors,
                       batch.parameters, batch.sample_best, batch.thresholds, batch.list_sizes, batch.lists,
                       batch.answers.sizes, batch.answers.ids, batch.answers.similarities);
}

// answer_kernel(scan)
LaunchFile batch_answers() {
  return {.source = "batch_answers",
          .all = {kernel("answer_kernel"), shared(53512), batch_buffers(), number(batch.top_rows, 10),
                  number(batch.list_capacity, 48), number(batch.answer_capacity, 16), kRanksDistinct,
                  kOneReachesRank, kLowerBins},
          .choices = {dims_choice([](int dims) { return number(batch.part.dims, dims); }), blocks(),
                      on_off("vectors", {null(batch.part.vectors), null(batch.part.norms_squared)},
                             GLOVE_BUFFERS(batch.part.vectors, batch.part.norms_squared))},
          .launches = {{{},
                        {"ci answer, with vectors | dims 16, blocks 2, vectors on",
                         "ci answer, without vectors | dims 3, blocks 2, vectors off"}},
                       {{name("ci answer, more than one per thread"), with("dims 1, blocks 1, vectors on"),
                         number(batch.list_capacity, 300)}}}};
}

// batch_kernel(scan, first_tile, last_tile, chunk_queries, query_chunks), and threshold_kernel(scan) and
// tighten_threshold_kernel(scan). The instances of batch_kernel scan a sample or fill lists, have a tile's
// codes in registers or read them in parts, and are for codes that are shifted or not.
LaunchFile batch_scan() {
  const auto of_dims = [](int dims) {
    const int bytes = dims == 340 ? 11904 : dims == 300 ? 10880 : 1664;
    return LaunchSettings{shared(bytes), number(batch.part.dims, dims),
                          number(batch.groups, static_cast<int32_t>(component_groups(dims))),
                          number(batch.steps, static_cast<int32_t>(matrix_steps(dims)))};
  };
  LaunchFile file = {
      .source = "batch_scan",
      .all = {batch_buffers(), number(batch.top_rows, 10), number(batch.list_capacity, 48),
              number(batch.tiles, 40), number(batch.padded_queries, 32), number(batch.sample_tiles, 26),
              number(batch.sample_groups, 26), number(first_tile, 0), number(last_tile, 26),
              number(chunk_queries, 32), number(query_chunks, 1)},
      .choices = {dims_choice(of_dims), blocks(), GLOVE_OPTIONAL("mask", batch.part.mask.words)},
      .launches = {{{kernel("[0-9]threshold_kernel"), number(batch.sample_groups, 300), kOneReachesRank},
                    {"ci threshold | blocks 2"}},
                   {{kernel("tighten_threshold_kernel"), kOneReachesRank, kLowerBins},
                    {"ci tighten | blocks 2"}}},
      .when_run = {{kernel("batch_kernel"), number(batch.queries, 32)}}};
  for (const std::string scans : {"1", "0"}) {
    const std::string instance = "batch_kernelILb" + scans,
                      what = scans == "1" ? "ci sample, " : "ci lists, ";
    file.launches.push_back(
        {kernel(instance),
         {what + "dims 16 | dims 16, blocks 2, mask on", what + "dims 300 | dims 300, blocks 2, mask off"}});
    file.launches.push_back({{name(what + "streamed"), kernel(instance + "ELb0"), of_dims(340), grid(2),
                              GLOVE_BUFFERS(batch.part.mask.words)}});
  }
  return file;
}

// batch_wgmma_kernel(scan, first, last, query_chunks) where it samples rows; without_proof.txt says why not
// where it lists them. Whole pieces of rows, and rows of whole multiplications: what is multiplied beyond
// those has never been written, and counts for nothing.
LaunchFile batch_wgmma() {
  static const auto [scan, first, last, chunks] = arguments<BatchScanParams, int, int, int>();
  const auto queries = [](int count, int padded) {
    return LaunchSettings{number(scan.queries, count), number(scan.padded_queries, padded)};
  };
  return {.source = "batch_wgmma",
          .all = {batch_buffers(), number(scan.tiles, 300), number(scan.sample_tiles, 72),
                  number(scan.sample_groups, 36), number(first, 0), number(last, 72), number(chunks, 1)},
          .choices = {{"shape", {{"dims_16", {shared(51200), number(scan.part.dims, 16)}}}},
                      {"large", {{"dims_300", {shared(100352), number(scan.part.dims, 300)}}}},
                      {"queries", {{"some", queries(40, 64)}, {"whole", queries(256, 256)}}},
                      blocks(),
                      GLOVE_OPTIONAL("mask", batch.part.mask.words)},
          .launches = {{kernel("batch_wgmma_kernelILb1ELi2"),
                        {"ci sample, dims 16 | shape dims_16, blocks 2, queries some, mask off",
                         "ci sample, dims 16, whole | shape dims_16, blocks 2, queries whole, mask on"}},
                       {kernel("batch_wgmma_kernelILb1ELi5"),
                        {"ci sample, dims 300 | large dims_300, blocks 2, queries some, mask off",
                         "ci sample, dims 300, whole | large dims_300, blocks 2, queries whole, mask on"}}}};
}

}  // namespace

std::vector<LaunchFile> search_launches() {
  return {single_scan(), batch_answers(), batch_scan(), batch_wgmma()};
}

}  // namespace glove::gpu::launches
