// The kernels of kmeans_resolve.cu, kmeans_rows.cu, kmeans_sums.cu and kmeans_update.cu.
#include "gpu/kernels/kmeans.h"

#include "gpu/kernels/launches/launch_file.h"

namespace glove::gpu::launches {

// kmeans_resolve_kernel(params) and kmeans_refill_kernel(params, rows, clusters, count). The scan lists each
// row once at most, as undecided, grouped or open (kmeans_ranking.cuh); Lloyd::refill of analysis/kmeans.cpp
// draws a different row for each empty cluster.
LaunchFile kmeans_resolve() {
  const auto [params, rows, clusters, count] =
      arguments<KMeansParams, const int32_t*, const int32_t*, int32_t>();
  LaunchFile file = {.source = "kmeans_resolve"};
  file.all = {
      .block = 256,
      .parameters = {buffer(params.part.vectors, "vectors"), buffer(params.part.norms_squared, "row_norms"),
                     buffer(params.centroids.vectors, "centroids"),
                     buffer(params.centroids.norms_squared, "centroid_norms"),
                     buffer(params.counters, "counters"), distinct(params.undecided, "undecided", "rows"),
                     distinct(params.open, "open", "rows"), buffer(params.fit.limits, "limits"),
                     buffer(params.fit.labels, "labels"), buffer(params.fit.changes, "changes"),
                     buffer(params.nearest, "nearest"), distinct(params.wgmma.grouped, "grouped", "rows"),
                     distinct(rows, "moved", "rows"), buffer(clusters, "clusters")}};
  file.choices = {choice_of("dims", {1, 3, 16, 300}, params.part.dims), blocks(),
                  choice_of("wanted", "nearest", {number(params.answer, KMeansAnswer::kNearest)}, "labels",
                            {number(params.answer, KMeansAnswer::kLabels)})};
  file.cover({.kernel = "kmeans_resolve_kernel"},
             {{"ci resolve, dims 16", "dims 16, blocks 1, wanted nearest"},
              {"ci resolve, dims 3, labels", "dims 3, blocks 2, wanted labels"}});
  // Of 16 blocks, one decides only rows that may belong to any cluster.
  file.launches.push_back(
      {.name = "resolve, 16 blocks",
       .kernel = "kmeans_resolve_kernel",
       .grid = {16, 1},
       .parameters = {number(params.part.dims, 1), number(params.answer, KMeansAnswer::kLabels)}});
  file.cover({.kernel = "kmeans_refill_kernel"}, {{"ci refill", "blocks 2"}});
  return file;
}

// kmeans_rows_kernel(params), kmeans_forget_kernel(params) and kmeans_select_kernel(params)
LaunchFile kmeans_rows() {
  const auto [params] = arguments<KMeansParams>();
  LaunchFile file = {.source = "kmeans_rows"};
  file.all.parameters =
      buffers("rows", params.part.vectors, "row_norms", params.part.norms_squared, "words",
              params.halves.words, "lengths", params.halves.lengths, "residuals", params.halves.residuals,
              "counters", params.counters, "visits", params.fit.visits, "limits", params.fit.limits,
              "travelled", params.fit.travelled, "labels", params.fit.labels);
  const auto of_dims = [&, &params = params](int dims) {
    return LaunchSettings{
        .parameters = {number(params.part.dims, dims),
                       number(params.halves.row_words, static_cast<int32_t>(half_row_words(dims)))}};
  };
  file.choices = {choice_of("dims", {1, 3, 16, 300}, of_dims), blocks()};
  file.cover({.kernel = "kmeans_rows_kernel"},
             {{"ci rows, dims 16", "dims 16, blocks 2"}, {"ci rows, dims 300", "dims 300, blocks 3"}});
  file.cover({.kernel = "kmeans_forget_kernel"}, {{"ci forget", "blocks 2"}});
  file.cover({.kernel = "kmeans_select_kernel"}, {{"ci select", "blocks 2"}});
  for (const char* kernel : {"kmeans_rows_kernel", "kmeans_forget_kernel"})
    file.when_run.push_back({.kernel = kernel, .parameters = {number(params.part.rows, 512)}});
  return file;
}

// kmeans_sums_kernel(params), for up to 256 changes
LaunchFile kmeans_sums() {
  const auto [params] = arguments<KMeansParams>();
  LaunchFile file = {.source = "kmeans_sums"};
  file.all = {.parameters = buffers("vectors", params.part.vectors, "row_norms", params.part.norms_squared,
                                    "counters", params.counters, "sums", params.fit.sums, "sizes",
                                    params.fit.sizes, "changes", params.fit.changes),
              .lemmas = {{"ranks-distinct", "ranks in a strict total order are distinct"}}};
  file.choices = {choice_of("few", {1, 3, 16}, params.part.dims), choice_of("many", {300}, params.part.dims),
                  blocks()};
  // A block takes 128 changes in a round, and nothing but the first change's number passes from a round to
  // the next.
  const char* const reasons[] = {"two rounds stand for all", "a round of each block stands for all",
                                 "a round of two blocks stands for all"};
  for (size_t i = 0; i < 3; ++i) file.choices.back().values[i].ranges = {{"changes", 0, 256, reasons[i]}};
  file.cover({.kernel = "kmeans_sums_kernelILi4E"}, {{"ci few columns", "few 16, blocks 2"}});
  file.cover({.kernel = "kmeans_sums_kernelILi10E"}, {{"ci many columns", "many 300, blocks 2"}});
  return file;
}

// kmeans_prepare_kernel(params), kmeans_update_kernel(params, always) and kmeans_bound_kernel(params, moves)
LaunchFile kmeans_update() {
  const auto [params, always] = arguments<KMeansParams, bool>();
  const auto [same_params, moves] = arguments<KMeansParams, CentroidMoves>();
  LaunchFile file = {.source = "kmeans_update"};
  file.all.parameters =
      buffers("rows", params.part.vectors, "row_norms", params.part.norms_squared, "vectors",
              params.centroids.vectors, "norms_squared", params.centroids.norms_squared, "scaled",
              params.centroids.scaled, "fragments", params.centroids.fragments, "half_squares",
              params.centroids.half_squares, "extents", params.centroids.extents, "bound",
              params.centroids.bound, "counters", params.counters, "travelled", params.fit.travelled, "sums",
              params.fit.sums, "sizes", params.fit.sizes, "report", params.fit.report) +
      std::vector{number(params.centroids.count, 2), number(params.centroids.padded, 32)};
  const auto of_dims =
      [&, &params = params](int dims) {  // the shared memory of kmeans_update_kernel holds a centroid
        return LaunchSettings{.dynamic_shared = 8 * dims,
                              .parameters = {number(params.part.dims, dims),
                                             number(params.steps, static_cast<int32_t>(half_steps(dims)))}};
      };
  file.choices = {choice_of("dims", {1, 3, 16, 300}, of_dims), blocks(),
                  choice_of("metric", "cosine", {number(params.metric, Metric::kCosine)}, "euclidean",
                            {number(params.metric, Metric::kEuclidean)}),
                  choice_of("always", "off", {number(always, false)}, "on", {number(always, true)})};
  file.cover({.kernel = "kmeans_prepare_kernel", .parameters = {number(params.centroids.count, 1)}},
             {{"ci prepare, Euclidean", "dims 16, blocks 2, metric euclidean"},
              {"ci prepare, cosine", "dims 3, blocks 2, metric cosine"}});
  file.cover({.kernel = "kmeans_update_kernel"},
             {{"ci update, Euclidean, always", "dims 16, blocks 2, metric euclidean, always on"},
              {"ci update, cosine", "dims 3, blocks 2, metric cosine, always off"},
              {"ci update, dims 300", "dims 300, blocks 2, metric cosine, always on"}});
  file.launches.push_back({.name = "ci prepare, one centroid and the padding",
                           .kernel = "kmeans_prepare_kernel",
                           .grid = {2, 1},
                           .parameters = {number(params.part.dims, 43), number(params.steps, 3),
                                          number(params.centroids.count, 1)}});
  // One block for all centroids; without moves, or with those of centroids that are not empty.
  file.launches.push_back({.name = "ci bound, none moved",
                           .kernel = "kmeans_bound_kernel",
                           .parameters = {number(moves, CentroidMoves::kNone)}});
  file.launches.push_back(
      {.name = "ci bound, moved unless empty",
       .kernel = "kmeans_bound_kernel",
       .parameters = {number(params.part.dims, 43), number(params.steps, 3),
                      number(params.centroids.count, 300), number(moves, CentroidMoves::kUnlessEmpty)}});
  return file;
}

}  // namespace glove::gpu::launches
