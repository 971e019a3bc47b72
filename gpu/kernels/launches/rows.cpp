// The kernels of score_all.cu, packed_rows.cu and moments.cu.
#include "gpu/kernels/launches/launch_file.h"
#include "gpu/kernels/moments.h"
#include "gpu/kernels/packed_rows.h"
#include "gpu/layout/tile.h"

namespace glove::gpu::launches {

// score_all_kernel(vectors, query, rows, dims, dots), for any number of rows
LaunchFile score_all() {
  const auto [vectors, query, rows, dims, dots] =
      arguments<const float*, const float*, int64_t, int32_t, double*>();
  LaunchFile file = {.source = "score_all"};
  file.all = {.kernel = "score_all_kernel",
              .parameters = buffers("vectors", vectors, "query", query, "dots", dots)};
  file.choices = {choice_of("dims", {1, 3, 16, 300}, dims), blocks()};
  file.when_run = {{.kernel = "score_all_kernel", .parameters = {number(rows, 1000)}}};
  file.cover({}, {{"ci dims 16, 2 blocks, any number of rows", "dims 16, blocks 2"}});
  file.launches.push_back({.name = "any dims", .grid = {2, 1}});
  return file;
}

// packed_rows_kernel(part, groups, rows)
LaunchFile packed_rows() {
  const auto [part, groups, rows] = arguments<DevicePart, int, uint32_t*>();
  LaunchFile file = {.source = "packed_rows"};
  file.all = {.kernel = "packed_rows_kernel",
              .parameters = buffers("codes", part.level.codes, "scales", part.level.scales, "residuals",
                                    part.level.residuals, "rows", rows)};
  const auto of_dims = [&, &part = part, &groups = groups](int dims) {
    return LaunchSettings{
        .parameters = {number(part.dims, dims), number(groups, static_cast<int>(component_groups(dims)))}};
  };
  file.choices = {choice_of("dims", {1, 3, 16, 300}, of_dims), blocks()};
  file.cover({}, {{"ci dims 300", "dims 300, blocks 2"}});
  return file;
}

namespace {

// column_sums_kernel(params) and gram_product_kernel(params, vector). With weights and without; the last
// block of rows is not full.
void add_sums(LaunchFile* file) {
  const auto [params, vector] = arguments<MomentParams, const float*>();
  for (const int dims : {16, 300, 3, 1})
    for (const int count : {2, 3, 1}) {
      const std::string with = "dims " + std::to_string(dims) + ", blocks " + std::to_string(count);
      const bool in_ci = dims == 16 && count == 2;
      file->launches.push_back({.name = in_ci ? "ci column sums" : "",
                                .kernel = "column_sums_kernel",
                                .with = with,
                                .grid = {(dims + 127) / 128, count}});
      file->launches.push_back({.name = in_ci ? "ci gram product" : "",
                                .kernel = "gram_product_kernel",
                                .with = with,
                                .parameters = {number(params.rows, 1024 * (count - 1) + 500),
                                               number(params.first_block, 0), buffer(vector, "vector")}});
    }
}

// second_moment_kernel(params, shape, center). grid: the groups of tiles, and the blocks of rows.
void add_second_moments(LaunchFile* file) {
  const auto [params, shape, center] = arguments<MomentParams, GramShape, const float*>();
  const auto plan = [&, &params = params, &shape = shape, &center = center](int dims, int warps, int panel,
                                                                            int width, int last_left) {
    return LaunchSettings{
        .dynamic_shared = 8 * 2 * kGramRows * (width + 4),
        .parameters = {number(params.first_block, 0), number(params.dims, dims), number(shape.warps, warps),
                       number(shape.panel, panel), number(shape.width, width), buffer(shape.tiles, "tiles"),
                       buffer(shape.group_of, "group_of"), buffer(center, "center")},
        .ranges = {{"tile", -1, last_left, "plan_gram() keeps tiles inside the buffer"}}};
  };
  file->choices.push_back(choice_of("gram", {1, 3, 16, 300}, [&](int dims) {
    return dims == 300 ? plan(dims, 14, 320, 320, 288) : plan(dims, 2, 32, 32, 0);
  }));
  for (const int dims : {16, 300, 3, 1})
    for (const int count : {2, 3, 1})
      file->launches.push_back(
          {.name = dims == 16 && count == 2 ? "ci second moment" : "",
           .kernel = "second_moment_kernel",
           .with = "gram " + std::to_string(dims) + ", blocks " + std::to_string(count),
           .block = dims == 300 ? 448 : 64,
           .grid = {dims == 300 ? 4 : 1, count},
           .parameters = {number(params.rows, dims == 300 && count == 3 ? 28 : 1024 * (count - 1) + 28)}});
  const auto add = [&, &params = params](const char* name, const LaunchSettings& settings, int block,
                                         int groups, int64_t rows) {
    LaunchSettings launch = settings;
    launch.name = name;
    launch.kernel = "second_moment_kernel";
    launch.block = block;
    launch.grid = {groups, 1};
    launch.parameters.push_back(number(params.rows, rows));
    file->launches.push_back(launch);
  };
  add("ci second moment, 5 rows", plan(16, 2, 32, 32, 0), 64, 1, 5);  // fewer than the first load takes
  add("340 dims", plan(340, 16, 128, 256, 224), 512, 6, 28);          // several panels of columns
}

}  // namespace

LaunchFile moments() {
  LaunchFile file = {.source = "moments"};
  const auto [params] = arguments<MomentParams>();
  file.all.parameters = buffers("vectors", params.vectors, "weights", params.weights, "sums", params.sums);
  const auto of_dims = [&, &params = params](int dims) {
    return LaunchSettings{.dynamic_shared = 8 * dims, .parameters = {number(params.dims, dims)}};
  };
  file.choices = {blocks(), choice_of("dims", {1, 3, 16, 300}, of_dims)};
  add_sums(&file);
  add_second_moments(&file);
  const auto [differences] = arguments<uint32_t*>();
  file.launches.push_back({.name = "ci check products",
                           .kernel = "check_products_kernel",
                           .grid = {2, 1},
                           .parameters = {buffer(differences, "differences")}});
  const auto [sums, count, size, total] = arguments<const double*, int32_t, int64_t, double*>();
  file.cover({.kernel = "add_blocks_kernel", .parameters = {buffer(sums, "sums"), buffer(total, "total")}},
             {{"ci add blocks", "blocks 2"}});
  file.when_run = {{.kernel = "column_sums_kernel", .parameters = {number(params.rows, 2500)}},
                   {.kernel = "add_blocks_kernel", .parameters = {number(count, 3), number(size, 600)}}};
  return file;
}

}  // namespace glove::gpu::launches
