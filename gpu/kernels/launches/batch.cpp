// The kernels of batch_scan.cu, batch_answers.cu and batch_wgmma.cu.
#include "gpu/kernels/batch_scan.h"
#include "gpu/kernels/launches/launch_file.h"
#include "gpu/layout/query_codes.h"

namespace glove::gpu::launches {
namespace {

std::vector<LaunchParameter> arrays(const BatchScanParams& scan) {
  return buffers("codes", scan.part.level.codes, "scales", scan.part.level.scales, "residuals",
                 scan.part.level.residuals, "fragments", scan.fragments, "query_vectors", scan.query_vectors,
                 "parameters", scan.parameters, "sample_best", scan.sample_best, "thresholds",
                 scan.thresholds, "list_sizes", scan.list_sizes, "lists", scan.lists, "answer_sizes",
                 scan.answers.sizes, "answer_ids", scan.answers.ids, "answer_similarities",
                 scan.answers.similarities) +
         std::vector{number(scan.top_rows, 10), number(scan.list_capacity, 48)};
}

// Of lists, from which list_threshold() counts lower bounds.
LaunchRange lower_bins() {
  return {"lower-bin", 0, kBins - 1, "bin_of() returns a bin of the histogram"};
}

}  // namespace

// answer_kernel(scan)
LaunchFile batch_answers() {
  const auto [scan] = arguments<BatchScanParams>();
  LaunchFile file = {.source = "batch_answers"};
  file.all = {
      .kernel = "answer_kernel",
      .dynamic_shared = 53512,
      .parameters = arrays(scan) + std::vector{number(scan.answer_capacity, 16)},
      .lemmas = {{"ranks-distinct", "ranks in a strict total order are distinct"}, one_thread_reaches_rank()},
      .ranges = {lower_bins()}};
  file.choices = {choice_of("dims", {1, 3, 16, 300}, scan.part.dims), blocks(),
                  choice_of("vectors", "off", {null(scan.part.vectors), null(scan.part.norms_squared)}, "on",
                            buffers("vectors", scan.part.vectors, "norms_squared", scan.part.norms_squared))};
  file.cover({}, {{"ci answer, with vectors", "dims 16, blocks 2, vectors on"},
                  {"ci answer, without vectors", "dims 3, blocks 2, vectors off"}});
  file.launches.push_back({.name = "ci answer, more than one per thread",
                           .with = "dims 1, blocks 1, vectors on",
                           .parameters = {number(scan.list_capacity, 300)}});
  return file;
}

// batch_kernel(scan, first_tile, last_tile, chunk_queries, query_chunks), and threshold_kernel(scan) and
// tighten_threshold_kernel(scan). The instances of batch_kernel scan a sample or fill lists, and have a
// tile's codes in registers or read them in parts.
LaunchFile batch_scan() {
  const auto [scan, first_tile, last_tile, chunk_queries, query_chunks] =
      arguments<BatchScanParams, int, int, int, int>();
  LaunchFile file = {.source = "batch_scan"};
  file.all.parameters =
      arrays(scan) + std::vector{number(scan.tiles, 40),        number(scan.padded_queries, 32),
                                 number(scan.sample_tiles, 26), number(scan.sample_groups, 26),
                                 number(first_tile, 0),         number(last_tile, 26),
                                 number(chunk_queries, 32),     number(query_chunks, 1)};
  const auto of_dims = [&, &scan = scan](int dims, int shared) {
    return LaunchSettings{.dynamic_shared = shared,
                          .parameters = {number(scan.part.dims, dims),
                                         number(scan.groups, static_cast<int32_t>(component_groups(dims))),
                                         number(scan.steps, static_cast<int32_t>(matrix_steps(dims)))}};
  };
  file.choices = {
      choice_of("dims", {1, 3, 16, 300}, [&](int dims) { return of_dims(dims, dims == 300 ? 10496 : 1280); }),
      blocks(), masks(scan.part.mask)};
  for (const auto& [scans, name] : {std::array<std::string, 2>{"1", "ci sample, "}, {"0", "ci lists, "}}) {
    file.cover({.kernel = "batch_kernelILb" + scans}, {{name + "dims 16", "dims 16, blocks 2, mask on"},
                                                       {name + "dims 300", "dims 300, blocks 2, mask off"}});
    LaunchSettings streamed = of_dims(340, 11520);
    streamed.name = name + "streamed";
    streamed.kernel = "batch_kernelILb" + scans + "ELb0";
    streamed.grid = {2, 1};
    streamed.parameters.push_back(buffer(scan.part.mask.words, "mask"));
    file.launches.push_back(streamed);
  }
  file.cover({.kernel = "[0-9]threshold_kernel",
              .parameters = {number(scan.sample_groups, 300)},
              .lemmas = {one_thread_reaches_rank()}},
             {{"ci threshold", "blocks 2"}});
  file.cover(
      {.kernel = "tighten_threshold_kernel", .lemmas = {one_thread_reaches_rank()}, .ranges = {lower_bins()}},
      {{"ci tighten", "blocks 2"}});
  file.when_run = {{.kernel = "batch_kernel", .parameters = {number(scan.queries, 32)}}};
  return file;
}

// batch_wgmma_kernel(scan, first, last, query_chunks) where it samples rows; without_proof.txt says why not
// where it lists them. Whole pieces of rows, and rows of whole multiplications: what is multiplied beyond
// those has never been written, and counts for nothing.
LaunchFile batch_wgmma() {
  const auto [scan, first, last, query_chunks] = arguments<BatchScanParams, int, int, int>();
  LaunchFile file = {.source = "batch_wgmma"};
  file.all.parameters =
      buffers("scales", scan.part.level.scales, "residuals", scan.part.level.residuals, "packed_rows",
              scan.part.packed_rows, "columns", scan.columns, "query_vectors", scan.query_vectors,
              "parameters", scan.parameters, "sample_best", scan.sample_best, "thresholds", scan.thresholds,
              "list_sizes", scan.list_sizes, "lists", scan.lists) +
      std::vector{number(scan.tiles, 300),
                  number(scan.sample_tiles, 72),
                  number(scan.sample_groups, 36),
                  number(first, 0),
                  number(last, 72),
                  number(query_chunks, 1)};
  const auto queries = [&, &scan = scan](const char* name, int count, int padded) {
    return LaunchSettings{.name = name,
                          .parameters = {number(scan.queries, count), number(scan.padded_queries, padded)}};
  };
  file.choices = {
      {"shape", {{.name = "dims_16", .dynamic_shared = 51200, .parameters = {number(scan.part.dims, 16)}}}},
      {"large",
       {{.name = "dims_300", .dynamic_shared = 100352, .parameters = {number(scan.part.dims, 300)}}}},
      {"queries", {queries("some", 40, 64), queries("whole", 256, 256)}},
      blocks(),
      masks(scan.part.mask)};
  for (const auto& [kernel, dims, shape] :
       {std::array<std::string, 3>{"batch_wgmma_kernelILb1ELi2", "16", "shape"},
        {"batch_wgmma_kernelILb1ELi5", "300", "large"}}) {
    const std::string name = "ci sample, dims " + dims,
                      with = shape + " dims_" + dims + ", blocks 2, queries ";
    file.cover({.kernel = kernel},
               {{name, with + "some, mask off"}, {name + ", whole", with + "whole, mask on"}});
  }
  return file;
}

}  // namespace glove::gpu::launches
