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

}  // namespace

// answer_kernel(scan)
LaunchFile batch_answers() {
  const auto [scan] = arguments<BatchScanParams>();
  LaunchFile file = {.source = "batch_answers"};
  file.all = {.kernel = "answer_kernel",
              .dynamic_shared = 53512,
              .parameters = arrays(scan) + std::vector{number(scan.answer_capacity, 16)},
              .lemmas = {{"ranks-distinct", "ranks in a strict total order are distinct"},
                         one_thread_reaches_rank()}};
  file.choices = {choice_of("dims", {1, 3, 16, 300}, scan.part.dims), blocks(),
                  choice_of("vectors", "off", {null(scan.part.vectors), null(scan.part.norms_squared)}, "on",
                            buffers("vectors", scan.part.vectors, "norms_squared", scan.part.norms_squared))};
  file.add({}, {{"ci answer, with vectors", "dims 16, blocks 2, vectors on"},
                {"ci answer, without vectors", "dims 3, blocks 2, vectors off"}});
  file.add({.parameters = {number(scan.list_capacity, 300)}},
           {{"ci answer, more than one per thread", "dims 1, blocks 1, vectors on"}});
  file.add_unnamed(
      {}, {"dims 300, blocks 1, vectors on", "dims 1, blocks 3, vectors on", "dims 16, blocks 1, vectors off",
           "dims 300, blocks 3, vectors off", "dims 1, blocks 2, vectors off", "dims 3, blocks 3, vectors on",
           "dims 3, blocks 1, vectors off", "dims 300, blocks 2, vectors off",
           "dims 1, blocks 1, vectors off", "dims 16, blocks 3, vectors on"});
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
  const auto streamed = [&, &scan = scan](const char* name, const char* kernel) {
    LaunchSettings launch = of_dims(340, 11520);
    launch.name = name;
    launch.kernel = kernel;
    launch.grid = {2, 1};
    launch.parameters.push_back(buffer(scan.part.mask.words, "mask"));
    file.launches.push_back(launch);
  };
  const auto all_shapes = [&](const char* kernel, const char* first, const char* second) {
    file.add({.kernel = kernel},
             {{first, "dims 16, blocks 2, mask on"}, {second, "dims 300, blocks 2, mask off"}});
    file.add_unnamed({.kernel = kernel},
                     {"dims 1, blocks 1, mask on", "dims 1, blocks 2, mask off", "dims 1, blocks 3, mask on",
                      "dims 3, blocks 1, mask off", "dims 3, blocks 2, mask on", "dims 3, blocks 3, mask off",
                      "dims 16, blocks 1, mask on", "dims 16, blocks 3, mask off",
                      "dims 300, blocks 1, mask off", "dims 300, blocks 3, mask on"});
  };
  all_shapes("batch_kernelILb1", "ci sample, dims 16", "ci sample, dims 300");
  streamed("ci sample, streamed", "batch_kernelILb1ELb0");
  all_shapes("batch_kernelILb0", "ci lists, dims 16", "ci lists, dims 300");
  streamed("ci lists, streamed", "batch_kernelILb0ELb0");
  const LaunchSettings threshold = {.kernel = "[0-9]threshold_kernel",
                                    .parameters = {number(scan.sample_groups, 300)},
                                    .lemmas = {one_thread_reaches_rank()}};
  file.add(threshold, {{"ci threshold", "blocks 2"}});
  file.add_rest(threshold, {"blocks"});
  const LaunchSettings tighten = {.kernel = "tighten_threshold_kernel",
                                  .lemmas = {one_thread_reaches_rank()}};
  file.add(tighten, {{"ci tighten", "blocks 2"}});
  file.add_rest(tighten, {"blocks"});
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
  const auto all_shapes = [&](const char* kernel, const std::string& shape, const std::string& name) {
    const LaunchSettings like = {.kernel = kernel};
    file.add(like, {{name.c_str(), (shape + ", blocks 2, queries some, mask off").c_str()},
                    {(name + ", whole").c_str(), (shape + ", blocks 2, queries whole, mask on").c_str()}});
    for (const char* rest : {"1, queries some, mask on", "1, queries whole, mask off",
                             "3, queries some, mask on", "3, queries whole, mask off"})
      file.add_unnamed(like, {(shape + ", blocks " + rest).c_str()});
  };
  all_shapes("batch_wgmma_kernelILb1ELi2", "shape dims_16", "ci sample, dims 16");
  all_shapes("batch_wgmma_kernelILb1ELi5", "large dims_300", "ci sample, dims 300");
  return file;
}

}  // namespace glove::gpu::launches
