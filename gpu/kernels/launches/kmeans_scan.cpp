// The kernels of kmeans_scan.cu and kmeans_wgmma.cu.
#include <limits>

#include "gpu/kernels/kmeans.h"
#include "gpu/kernels/kmeans_wgmma.h"
#include "gpu/kernels/launches/launch_file.h"

namespace glove::gpu::launches {
namespace {

// The number of components, with what the host computes from it.
std::vector<LaunchParameter> sizes_of(const KMeansParams& params, int dims) {
  return {number(params.part.dims, dims),
          number(params.halves.row_words, static_cast<int32_t>(half_row_words(dims))),
          number(params.steps, static_cast<int32_t>(half_steps(dims)))};
}

// The buffers of the rows and their lists that kernels of both files take.
std::vector<LaunchParameter> buffers_of(const KMeansParams& params) {
  return buffers("row_norms", params.part.norms_squared, "words", params.halves.words, "lengths",
                 params.halves.lengths, "residuals", params.halves.residuals, "fragments",
                 params.centroids.fragments, "half_squares", params.centroids.half_squares, "bound",
                 params.centroids.bound, "counters", params.counters, "undecided", params.undecided, "open",
                 params.open, "limits", params.fit.limits, "travelled", params.fit.travelled, "labels",
                 params.fit.labels, "changes", params.fit.changes, "nearest", params.nearest);
}

// The rows of the model, or the list of those whose clusters may have changed, which has at least `rows`.
LaunchChoice wanted(const KMeansParams& params, int rows) {
  return {"wanted",
          {{.name = "nearest", .parameters = {number(params.answer, KMeansAnswer::kNearest)}},
           {.name = "labels",
            .parameters = {number(params.answer, KMeansAnswer::kLabels)},
            .ranges = {{"row-count", rows, std::numeric_limits<int32_t>::max(),
                        "the list has at least as many rows as the launch scores"}}}}};
}

// The parameters of kmeans_few_kernel(params, first, last) and kmeans_many_kernel(params, first, last,
// stages).
auto scan_arguments() {
  return arguments<KMeansParams, int, int, int>();
}

// Scores `rows` rows with `padded` centroids.
LaunchSettings scored(int dims, int rows, int padded, int shared) {
  const auto [params, first, last, stages] = scan_arguments();
  LaunchSettings settings = {.dynamic_shared = shared, .parameters = sizes_of(params, dims)};
  settings.parameters.push_back(number(params.part.rows, rows));
  settings.parameters.push_back(number(last, rows));
  settings.parameters.push_back(number(params.centroids.padded, padded));
  return settings;
}

// The same with the centroids in a ring of `count` stages, each of `steps` steps of a chunk.
LaunchSettings ring(const char* name, LaunchSettings settings, int count, int steps) {
  const auto [params, first, last, stages] = scan_arguments();
  settings.name = name;
  settings.dynamic_shared = count * steps * kChunkStepWords * 16;
  settings.parameters.push_back(number(stages, count));
  return settings;
}

// Rows of `dims` components, in the instances of both kernels with these template arguments. whole: bytes of
// the centroids that kmeans_few_kernel keeps.
void add_instance(LaunchFile* file, const std::vector<int>& dims, int rows, int padded, int whole,
                  const std::string& instance) {
  const auto [params, first, last, stages] = scan_arguments();
  const std::string widest = std::to_string(dims.back()), narrowest = std::to_string(dims.front());
  const std::string few = "few_" + widest, many = "stages_" + widest, of = "of_" + widest;
  const auto steps = static_cast<int>(half_steps(dims.back()));
  const auto padded_to = [&, &params = params](int count) {
    return LaunchSettings{.parameters = {number(params.centroids.padded, count)}};
  };
  file->choices.push_back(choice_of(of, dims, [&](int one) { return scored(one, rows, padded, whole); }));
  file->choices.push_back({many,
                           {ring("two", padded_to(96), 2, steps), ring("three", padded_to(128), 3, steps),
                            ring("six", padded_to(224), 6, steps)}});
  const std::string last_dims = of + " " + widest + ", blocks 2, wanted nearest",
                    labels = of + " " + narrowest + ", blocks 2, wanted labels";
  file->cover({.kernel = "kmeans_few_kernel" + instance},
              {{"ci few, dims " + widest, last_dims}, {"ci few, dims " + narrowest + ", labels", labels}});
  file->cover({.kernel = "kmeans_many_kernel" + instance},
              {{"ci many, dims " + widest, last_dims + ", " + many + " three"},
               {"ci many, dims " + narrowest + ", labels", labels + ", " + many + " two"}});
}

}  // namespace

// kmeans_few_kernel, whose few centroids stay in shared memory, and kmeans_many_kernel, with any number of
// centroids in a ring of stages. The first block scores rows twice.
LaunchFile kmeans_scan() {
  const auto [params, first, last, stages] = scan_arguments();
  LaunchFile file = {.source = "kmeans_scan"};
  file.all.parameters = buffers_of(params);
  for (const LaunchParameter& parameter :
       {buffer(params.part.vectors, "vectors"), buffer(params.fit.visits, "visits"), number(first, 0)})
    file.all.parameters.push_back(parameter);
  file.all.lemmas = {{"own-place", "append() gives each lane of the grid a place of its own"},
                     {"row-listed-once", "the list of rows to score holds each row once"}};
  file.choices = {blocks(), wanted(params, 260)};
  file.choices[1].values[1].parameters.push_back(number(last, 260));
  add_instance(&file, {1, 3, 16}, 260, 64, 32768, "ILi4E");
  add_instance(&file, {100}, 260, 32, 49152, "ILi8E");
  add_instance(&file, {200}, 516, 32, 161792, "ILi14E");
  add_instance(&file, {300}, 516, 32, 200704, "ILi20E");
  LaunchSettings wide = ring("many, dims 600", scored(600, 516, 64, 0), 3, kMostSteps);
  wide.kernel = "kmeans_many_kernelILi20E";
  wide.grid = {2, 1};
  wide.parameters.push_back(number(params.answer, KMeansAnswer::kNearest));
  file.launches.push_back(wide);
  return file;
}

// kmeans_columns_kernel(params, words, row_words), kmeans_wgmma_kernel(params, first, last, chunks) and
// kmeans_merge_kernel(params, first, last, chunks).
LaunchFile kmeans_wgmma() {
  const auto [params, first, last, chunks] = arguments<KMeansParams, int, int, int>();
  const auto [same_params, words, row_words] = arguments<KMeansParams, int, int>();
  LaunchFile file = {.source = "kmeans_wgmma"};
  file.all.parameters = buffers_of(params);
  for (const LaunchParameter& parameter :
       {distinct(params.fit.visits, "visits", "rows"),  // kmeans_select_kernel lists a row once
        buffer(params.wgmma.columns, "columns"), buffer(params.wgmma.tops, "tops"),
        buffer(params.wgmma.grouped, "grouped"), number(params.centroids.padded, 96)})
    file.all.parameters.push_back(parameter);
  const auto of_dims = [&, &params = params, &row_words = row_words](int dims) {
    LaunchSettings settings = {.parameters = sizes_of(params, dims)};
    settings.parameters.push_back(number(row_words, dims == 300 ? 40 : 8));
    return settings;
  };
  const auto in_chunks = [&, &params = params, &first = first, &last = last, &chunks = chunks](
                             const char* name, int count) {
    return LaunchSettings{.name = name,
                          .parameters = {number(params.part.rows, 838), number(first, 0), number(last, 838),
                                         number(chunks, count)}};
  };
  LaunchSettings two = in_chunks("two", 2);
  two.parameters.push_back(number(params.centroids.padded, 288));
  file.choices = {choice_of("dims", {1, 3, 16, 300}, of_dims),
                  blocks(),
                  {"chunks", {in_chunks("one", 1), two}},
                  wanted(params, 838),
                  choice_of("result", "labels", {number(params.answer, KMeansAnswer::kLabels)}, "nearest",
                            {number(params.answer, KMeansAnswer::kNearest)})};
  // Blocks of two chunks of centroids come in pairs.
  file.never = {"blocks 1, chunks two", "blocks 3, chunks two"};
  file.when_run = {{.kernel = "kmeans_columns_kernel", .parameters = {number(words, 500)}}};

  file.cover({.kernel = "kmeans_columns_kernel"},
             {{"ci columns, dims 16", "dims 16, blocks 2"}, {"ci columns, dims 300", "dims 300, blocks 3"}});
  // Each warpgroup scores rows in three rounds at least.
  for (const auto& [pairs, dims] :
       {std::pair{2, std::vector{1, 3, 16}}, {4, {100}}, {7, {200}}, {10, {300}}}) {
    const std::string widest = std::to_string(dims.back()), of = "of_" + widest;
    file.choices.push_back(choice_of(of, dims, [&, &params = params, pairs = pairs](int one) {
      return LaunchSettings{.dynamic_shared = kWgmmaCentroids * (pairs * 64 + 4),
                            .parameters = sizes_of(params, one)};
    }));
    const std::string name = "ci wgmma, dims " + widest, with = of + " " + widest + ", blocks 2, chunks ";
    file.cover({.kernel = "kmeans_wgmma_kernelILi" + std::to_string(pairs)},
               {{name, with + "two, wanted nearest"}, {name + ", labels", with + "one, wanted labels"}});
  }
  file.cover(
      {.kernel = "kmeans_merge_kernel", .parameters = {number(first, 0), number(last, 700)}},
      {{"ci merge, labels", "result labels, blocks 2"}, {"ci merge, nearest", "result nearest, blocks 2"}});
  file.launches.push_back(
      {.name = "merge, any rows", .kernel = "kmeans_merge_kernel", .with = "result labels, blocks 2"});
  return file;
}

}  // namespace glove::gpu::launches
