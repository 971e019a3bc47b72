// The kernels of the files kmeans_*.cu.
#include "gpu/kernels/kmeans.h"

#include <limits>

#include "gpu/kernels/kmeans_wgmma.h"
#include "tests/gpu/launches/launch_file.h"

namespace glove::gpu::launches {
namespace {

// Those of kmeans_few_kernel(params, first, last) and kmeans_many_kernel(params, first, last, stages); all
// others begin with params, too.
const auto [params, first, last, stages] = arguments<KMeansParams, int, int, int>();

LaunchSettings kmeans_buffers(const LaunchSettings& visits = GLOVE_BUFFERS(params.fit.visits)) {
  return {visits,
          GLOVE_BUFFERS(params.part.vectors, params.part.norms_squared, params.halves.words,
                        params.halves.lengths, params.halves.residuals, params.centroids.vectors,
                        params.centroids.norms_squared, params.centroids.scaled, params.centroids.fragments,
                        params.centroids.half_squares, params.centroids.extents, params.centroids.bound,
                        params.counters, params.undecided, params.open, params.fit.limits,
                        params.fit.travelled, params.fit.sums, params.fit.sizes, params.fit.labels,
                        params.fit.changes, params.fit.report, params.nearest, params.wgmma.columns,
                        params.wgmma.tops, params.wgmma.grouped)};
}

// The number of components, with what the host computes from it.
LaunchSettings of_dims(int dims) {
  return {number(params.part.dims, dims),
          number(params.halves.row_words, static_cast<int32_t>(half_row_words(dims))),
          number(params.steps, static_cast<int32_t>(half_steps(dims)))};
}

// What a scan computes. of_labels: what it depends on besides.
LaunchChoice answers(const std::string& name, const LaunchSettings& of_labels = {}) {
  return {name,
          {{"nearest", number(params.answer, KMeansAnswer::kNearest)},
           {"labels", {number(params.answer, KMeansAnswer::kLabels), of_labels}}}};
}
// The list of rows whose clusters may have changed has at least `rows`.
LaunchSettings listed(int rows) {
  return range("row-count", rows, std::numeric_limits<int32_t>::max(),
               "the list has at least as many rows as the launch scores");
}

// kmeans_resolve_kernel(params) and kmeans_refill_kernel(params, rows, clusters, count). The scan lists each
// row once at most, as undecided, grouped or open (kmeans_ranking.cuh); Lloyd::refill of analysis/kmeans.cpp
// draws a different row for each empty cluster.
LaunchFile kmeans_resolve() {
  static const auto [same_params, rows, clusters, count] =
      arguments<KMeansParams, const int32_t*, const int32_t*, int32_t>();
  const LaunchSettings resolve = {kernel("kmeans_resolve_kernel"), GLOVE_DISTINCT_ROWS(params.undecided),
                                  GLOVE_DISTINCT_ROWS(params.open),
                                  GLOVE_DISTINCT_ROWS(params.wgmma.grouped)};
  return {.source = "kmeans_resolve",
          .all = {block(256), kmeans_buffers()},
          .choices = {dims_choice(of_dims), blocks(), answers("wanted")},
          .launches = {{resolve,
                        {"ci resolve, dims 16 | dims 16, blocks 1, wanted nearest",
                         "ci resolve, dims 3, labels | dims 3, blocks 2, wanted labels"}},
                       // Of 16 blocks, one decides only rows that may belong to any cluster.
                       {{name("resolve, 16 blocks"), resolve, grid(16), number(params.part.dims, 1),
                         number(params.answer, KMeansAnswer::kLabels)}},
                       {{kernel("kmeans_refill_kernel"), GLOVE_DISTINCT_ROWS(rows), GLOVE_BUFFERS(clusters)},
                        {"ci refill | blocks 2"}}}};
}

// kmeans_rows_kernel(params), kmeans_forget_kernel(params) and kmeans_select_kernel(params)
LaunchFile kmeans_rows() {
  const LaunchSettings rows = kernel("kmeans_rows_kernel"), forget = kernel("kmeans_forget_kernel");
  return {
      .source = "kmeans_rows",
      .all = kmeans_buffers(),
      .choices = {dims_choice(of_dims), blocks()},
      .launches = {{rows, {"ci rows, dims 16 | dims 16, blocks 2", "ci rows, dims 300 | dims 300, blocks 3"}},
                   {forget, {"ci forget | blocks 2"}},
                   {kernel("kmeans_select_kernel"), {"ci select | blocks 2"}}},
      .when_run = {{rows, number(params.part.rows, 512)}, {forget, number(params.part.rows, 512)}}};
}

// kmeans_sums_kernel(params), for up to 256 changes. A block takes 128 changes in a round, and nothing but
// the first change's number passes from a round to the next.
LaunchFile kmeans_sums() {
  const auto dims = [](int count) { return number(params.part.dims, count); };
  const auto of_blocks = [](int count, const char* reason) {
    return std::pair{std::to_string(count), LaunchSettings{grid(count), range("changes", 0, 256, reason)}};
  };
  return {.source = "kmeans_sums",
          .all = {kmeans_buffers(), lemma("ranks-distinct", "ranks in a strict total order are distinct")},
          .choices = {choice_of("few", {1, 3, 16}, dims),
                      choice_of("many", {300}, dims),
                      {"blocks",
                       {of_blocks(1, "two rounds stand for all"),
                        of_blocks(2, "a round of each block stands for all"),
                        of_blocks(3, "a round of two blocks stands for all")}}},
          .launches = {{kernel("kmeans_sums_kernelILi4E"), {"ci few columns | few 16, blocks 2"}},
                       {kernel("kmeans_sums_kernelILi10E"), {"ci many columns | many 300, blocks 2"}}}};
}

// kmeans_prepare_kernel(params), kmeans_update_kernel(params, always) and kmeans_bound_kernel(params, moves)
LaunchFile kmeans_update() {
  static const auto [same_params, always] = arguments<KMeansParams, bool>();
  static const auto [again_params, moves] = arguments<KMeansParams, CentroidMoves>();
  const LaunchSettings prepare = {kernel("kmeans_prepare_kernel"), number(params.centroids.count, 1)};
  const LaunchSettings update = kernel("kmeans_update_kernel"), bound = kernel("kmeans_bound_kernel");
  const LaunchSettings odd = {number(params.part.dims, 43), number(params.steps, 3)};
  return {.source = "kmeans_update",
          .all = {kmeans_buffers(), number(params.centroids.count, 2), number(params.centroids.padded, 32)},
          .choices = {dims_choice([](int dims) {  // kmeans_update_kernel holds a centroid in shared memory
                        return LaunchSettings{shared(8 * dims), of_dims(dims)};
                      }),
                      blocks(),
                      {"metric",
                       {{"cosine", number(params.metric, Metric::kCosine)},
                        {"euclidean", number(params.metric, Metric::kEuclidean)}}},
                      on_off("always", number(always, false), number(always, true))},
          .launches = {
              {prepare,
               {"ci prepare, Euclidean | dims 16, blocks 2, metric euclidean",
                "ci prepare, cosine | dims 3, blocks 2, metric cosine"}},
              {update,
               {"ci update, Euclidean, always | dims 16, blocks 2, metric euclidean, always on",
                "ci update, cosine | dims 3, blocks 2, metric cosine, always off",
                "ci update, dims 300 | dims 300, blocks 2, metric cosine, always on"}},
              {{name("ci prepare, one centroid and the padding"), prepare, grid(2), odd}},
              // One block for all centroids; without moves, or with those of centroids that are not empty.
              {{name("ci bound, none moved"), bound, number(moves, CentroidMoves::kNone)}},
              {{name("ci bound, moved unless empty"), bound, odd, number(params.centroids.count, 300),
                number(moves, CentroidMoves::kUnlessEmpty)}}}};
}

// Scores `rows` rows with `padded` centroids.
LaunchSettings scored(int dims, int rows, int padded) {
  return {of_dims(dims), number(params.part.rows, rows), number(last, rows),
          number(params.centroids.padded, padded)};
}
// The centroids are in a ring of `count` stages, each of `steps` steps of a chunk.
LaunchSettings ring(int padded, int count, int steps) {
  return {shared(int64_t{count} * steps * kChunkStepWords * 16), number(params.centroids.padded, padded),
          number(stages, count)};
}

// kmeans_few_kernel, whose few centroids stay in shared memory, and kmeans_many_kernel, with any number of
// centroids in a ring of stages. The first block scores rows twice.
LaunchFile kmeans_scan() {
  LaunchFile file = {.source = "kmeans_scan",
                     .all = {kmeans_buffers(), number(first, 0),
                             lemma("own-place", "append() gives each lane of the grid a place of its own"),
                             lemma("row-listed-once", "the list of rows to score holds each row once")},
                     .choices = {blocks(), answers("wanted", {number(last, 260), listed(260)})},
                     .launches = {}};
  struct Instance {
    std::vector<int> dims;
    int rows, padded, whole;  // bytes of the centroids that kmeans_few_kernel keeps
  };
  for (const auto& [dims, rows, padded, whole] :
       {Instance{{1, 3, 16}, 260, 64, 32768}, Instance{{100}, 260, 32, 49152},
        Instance{{200}, 516, 32, 161792}, Instance{{300}, 516, 32, 200704}}) {
    const std::string widest = std::to_string(dims.back()), narrowest = std::to_string(dims.front()),
                      of = "of_" + widest, ring_of = "stages_" + widest;
    const auto steps = static_cast<int>(half_steps(dims.back()));
    const std::string instance = "_kernelILi" + std::to_string(steps) + "E";
    file.choices.push_back(choice_of(of, dims, [rows = rows, padded = padded, whole = whole](int one) {
      return LaunchSettings{shared(whole), scored(one, rows, padded)};
    }));
    file.choices.push_back(
        {ring_of,
         {{"two", ring(96, 2, steps)}, {"three", ring(128, 3, steps)}, {"six", ring(224, 6, steps)}}});
    const std::string nearest = of + " " + widest + ", blocks 2, wanted nearest",
                      labels = of + " " + narrowest + ", blocks 2, wanted labels";
    file.launches.push_back(
        {kernel("kmeans_few" + instance),
         {"ci few, dims " + widest + " | " + nearest, "ci few, dims " + narrowest + ", labels | " + labels}});
    file.launches.push_back(
        {kernel("kmeans_many" + instance),
         {"ci many, dims " + widest + " | " + nearest + ", " + ring_of + " three",
          "ci many, dims " + narrowest + ", labels | " + labels + ", " + ring_of + " two"}});
  }
  file.launches.push_back({{name("many, dims 600"), kernel("kmeans_many_kernelILi20E"), grid(2), of_dims(600),
                            number(params.part.rows, 516), number(last, 516), ring(64, 3, kMostSteps),
                            number(params.answer, KMeansAnswer::kNearest)}});
  return file;
}

// kmeans_columns_kernel(params, words, row_words), kmeans_wgmma_kernel(params, first, last, chunks) and
// kmeans_merge_kernel(params, first, last, chunks).
LaunchFile kmeans_wgmma() {
  static const auto [same_params, words, row_words] = arguments<KMeansParams, int, int>();
  const auto chunks = [](int count, int padded) {
    return LaunchSettings{number(params.part.rows, 838), number(first, 0), number(last, 838),
                          number(stages, count), number(params.centroids.padded, padded)};
  };
  const LaunchSettings columns = kernel("kmeans_columns_kernel"), merge = kernel("kmeans_merge_kernel");
  LaunchFile file = {
      .source = "kmeans_wgmma",
      .all = {kmeans_buffers(GLOVE_DISTINCT_ROWS(params.fit.visits)), number(params.centroids.padded, 96)},
      .choices = {dims_choice([](int dims) {
                    return LaunchSettings{of_dims(dims), number(row_words, dims == 300 ? 40 : 8)};
                  }),
                  blocks(),
                  {"chunks", {{"one", chunks(1, 96)}, {"two", chunks(2, 288)}}},
                  answers("wanted", listed(838)),
                  answers("result")},
      .launches = {{columns,
                    {"ci columns, dims 16 | dims 16, blocks 2", "ci columns, dims 300 | dims 300, blocks 3"}},
                   {{merge, number(first, 0), number(last, 700)},
                    {"ci merge, labels | result labels, blocks 2",
                     "ci merge, nearest | result nearest, blocks 2"}},
                   {{name("merge, any rows"), merge, with("result labels, blocks 2")}}},
      // Blocks of two chunks of centroids come in pairs.
      .never = {"blocks 1, chunks two", "blocks 3, chunks two"},
      .when_run = {{columns, number(words, 500)}}};
  // Each warpgroup scores rows in three rounds at least.
  for (const auto& [pairs, dims] :
       {std::pair{2, std::vector{1, 3, 16}}, {4, {100}}, {7, {200}}, {10, {300}}}) {
    const std::string widest = std::to_string(dims.back()), of = "of_" + widest;
    file.choices.push_back(choice_of(of, dims, [pairs = pairs](int one) {
      return LaunchSettings{shared(kWgmmaCentroids * (pairs * 64 + 4)), of_dims(one)};
    }));
    const std::string launch = "ci wgmma, dims " + widest,
                      choices = of + " " + widest + ", blocks 2, chunks ";
    file.launches.push_back({kernel("kmeans_wgmma_kernelILi" + std::to_string(pairs)),
                             {launch + " | " + choices + "two, wanted nearest",
                              launch + ", labels | " + choices + "one, wanted labels"}});
  }
  return file;
}

}  // namespace

std::vector<LaunchFile> kmeans_launches() {
  return {kmeans_resolve(), kmeans_rows(), kmeans_sums(), kmeans_update(), kmeans_scan(), kmeans_wgmma()};
}

}  // namespace glove::gpu::launches
