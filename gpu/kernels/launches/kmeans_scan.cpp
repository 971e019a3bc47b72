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

// Rows of at most 64 components.
void add_narrow(LaunchFile* file) {
  const auto [params, first, last, stages] = scan_arguments();
  const auto padded = [&, &params = params](int count) {
    return LaunchSettings{.parameters = {number(params.centroids.padded, count)}};
  };
  file->choices.push_back(
      choice_of("narrow", {1, 3, 16}, [&](int dims) { return scored(dims, 260, 64, 32768); }));
  file->choices.push_back(
      {"stages",
       {ring("two", padded(96), 2, 4), ring("three", padded(128), 3, 4), ring("six", padded(224), 6, 4)}});
  const LaunchSettings few = {.kernel = "kmeans_few_kernelILi4E"};
  file->add(few, {{"ci few, dims 16", "narrow 16, blocks 2, wanted nearest"},
                  {"ci few, dims 1, labels", "narrow 1, blocks 2, wanted labels"}});
  file->add_unnamed(few, {"narrow 1, blocks 1, wanted nearest", "narrow 3, blocks 1, wanted labels",
                          "narrow 3, blocks 3, wanted nearest", "narrow 16, blocks 3, wanted labels",
                          "narrow 1, blocks 3, wanted nearest", "narrow 3, blocks 2, wanted nearest",
                          "narrow 16, blocks 1, wanted nearest"});
  const LaunchSettings many = {.kernel = "kmeans_many_kernelILi4E"};
  file->add(many, {{"ci many, dims 16", "narrow 16, stages three, blocks 2, wanted nearest"},
                   {"ci many, dims 1, labels", "narrow 1, stages two, blocks 2, wanted labels"}});
  file->add_unnamed(
      many,
      {"narrow 1, stages six, blocks 1, wanted nearest", "narrow 3, stages two, blocks 3, wanted nearest",
       "narrow 3, stages three, blocks 1, wanted labels", "narrow 16, stages six, blocks 3, wanted labels",
       "narrow 1, stages three, blocks 3, wanted nearest", "narrow 3, stages six, blocks 2, wanted nearest",
       "narrow 16, stages two, blocks 1, wanted nearest"});
}

// Rows of `dims` components, in the instances of both kernels with these template arguments. whole: bytes of
// the centroids that kmeans_few_kernel keeps.
void add_instance(LaunchFile* file, int dims, int rows, int whole, const std::string& instance) {
  const std::string components = std::to_string(dims), few = "few_" + components, many = "many_" + components;
  const auto steps = static_cast<int>(half_steps(dims));
  LaunchSettings once = scored(dims, rows, 32, whole);
  once.name = "once";
  file->choices.push_back({few, {once}});
  file->choices.push_back(
      {many,
       {ring("two", scored(dims, rows, 96, 0), 2, steps), ring("three", scored(dims, rows, 128, 0), 3, steps),
        ring("six", scored(dims, rows, 224, 0), 6, steps)}});
  const auto add = [&](const char* kernel, const std::string& name, const std::string& with) {
    file->launches.push_back({.name = name, .kernel = kernel + instance, .with = with});
  };
  add("kmeans_few_kernel", "ci few, dims " + components, few + " once, blocks 2, wanted nearest");
  add("kmeans_few_kernel", "ci few, dims " + components + ", labels", few + " once, blocks 2, wanted labels");
  file->add_rest({.kernel = "kmeans_few_kernel" + instance}, {few, "blocks", "wanted"});
  add("kmeans_many_kernel", "ci many, dims " + components, many + " three, blocks 2, wanted nearest");
  add("kmeans_many_kernel", "ci many, dims " + components + ", labels",
      many + " two, blocks 2, wanted labels");
  for (const char* rest :
       {" two, blocks 1, wanted nearest", " three, blocks 1, wanted labels", " six, blocks 3, wanted nearest",
        " two, blocks 3, wanted labels", " six, blocks 1, wanted labels", " three, blocks 3, wanted nearest",
        " six, blocks 2, wanted nearest"})
    add("kmeans_many_kernel", "", many + rest);
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
  add_narrow(&file);
  add_instance(&file, 100, 260, 49152, "ILi8E");
  add_instance(&file, 200, 516, 161792, "ILi14E");
  add_instance(&file, 300, 516, 200704, "ILi20E");
  LaunchSettings wide = ring("many, dims 600", scored(600, 516, 64, 0), 3, kMostSteps);
  wide.kernel = "kmeans_many_kernelILi20E";
  wide.grid = {2, 1};
  wide.parameters.push_back(number(params.answer, KMeansAnswer::kNearest));
  file.launches.push_back(wide);
  return file;
}

namespace {

// Launches of kmeans_wgmma_kernel. Each warpgroup scores rows in three rounds at least.
void add_wgmma(LaunchFile* file) {
  file->add({.kernel = "kmeans_wgmma_kernelILi2"},
            {{"ci wgmma, dims 16", "few_dims 16, blocks 2, chunks two, wanted nearest"},
             {"ci wgmma, dims 16, labels", "few_dims 16, blocks 2, chunks one, wanted labels"}});
  file->add_unnamed(
      {.kernel = "kmeans_wgmma_kernelILi2"},
      {"few_dims 1, blocks 1, chunks one, wanted nearest", "few_dims 1, blocks 3, chunks one, wanted labels",
       "few_dims 1, blocks 2, chunks two, wanted nearest", "few_dims 3, blocks 1, chunks one, wanted labels",
       "few_dims 3, blocks 3, chunks one, wanted nearest", "few_dims 3, blocks 2, chunks two, wanted labels",
       "few_dims 16, blocks 1, chunks one, wanted nearest",
       "few_dims 16, blocks 3, chunks one, wanted labels"});
  for (const auto& [kernel, dims, shape] : {std::array{"kmeans_wgmma_kernelILi4", "100", "some_dims 100"},
                                            {"kmeans_wgmma_kernelILi7", "200", "more_dims 200"},
                                            {"kmeans_wgmma_kernelILi10", "300", "most_dims 300"}}) {
    const std::string name = std::string("ci wgmma, dims ") + dims, with = std::string(shape) + ", blocks ";
    file->add({.kernel = kernel},
              {{name.c_str(), (with + "2, chunks two, wanted nearest").c_str()},
               {(name + ", labels").c_str(), (with + "2, chunks one, wanted labels").c_str()}});
    for (const char* rest :
         {"2, chunks two, wanted labels", "1, chunks one, wanted nearest", "1, chunks one, wanted labels",
          "3, chunks one, wanted nearest", "3, chunks one, wanted labels"})
      file->add_unnamed({.kernel = kernel}, {(with + rest).c_str()});
  }
}

}  // namespace

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
  const auto instance = [&, &params = params](int dims, int pairs) {
    return LaunchSettings{.dynamic_shared = kWgmmaCentroids * (pairs * 64 + 4),
                          .parameters = sizes_of(params, dims)};
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
                  choice_of("few_dims", {1, 3, 16}, [&](int dims) { return instance(dims, 2); }),
                  choice_of("some_dims", {100}, [&](int dims) { return instance(dims, 4); }),
                  choice_of("more_dims", {200}, [&](int dims) { return instance(dims, 7); }),
                  choice_of("most_dims", {300}, [&](int dims) { return instance(dims, 10); }),
                  blocks(),
                  {"chunks", {in_chunks("one", 1), two}},
                  wanted(params, 838),
                  choice_of("result", "labels", {number(params.answer, KMeansAnswer::kLabels)}, "nearest",
                            {number(params.answer, KMeansAnswer::kNearest)})};
  // Blocks of two chunks of centroids come in pairs.
  file.never = {"blocks 1, chunks two", "blocks 3, chunks two"};
  file.when_run = {{.kernel = "kmeans_columns_kernel", .parameters = {number(words, 500)}}};

  const LaunchSettings columns = {.kernel = "kmeans_columns_kernel"};
  file.add(columns,
           {{"ci columns, dims 16", "dims 16, blocks 2"}, {"ci columns, dims 300", "dims 300, blocks 3"}});
  file.add_rest(columns, {"dims", "blocks"});
  add_wgmma(&file);
  const LaunchSettings merge = {.kernel = "kmeans_merge_kernel",
                                .parameters = {number(first, 0), number(last, 700)}};
  file.add(merge, {{"ci merge, labels", "result labels, blocks 2"},
                   {"ci merge, nearest", "result nearest, blocks 2"}});
  file.add_rest(merge, {"result", "blocks"});
  file.add({.kernel = "kmeans_merge_kernel"}, {{"merge, any rows", "result labels, blocks 2"}});
  return file;
}

}  // namespace glove::gpu::launches
