// The kernels of score_all.cu and packed_rows.cu.
#include "tests/gpu/launches/launch_file.h"
#include "gpu/kernels/packed_rows.h"
#include "gpu/layout/tile.h"

namespace glove::gpu::launches {
namespace {

// score_all_kernel(vectors, query, rows, dims, dots), for any number of rows
LaunchFile score_all() {
  static const auto [vectors, query, rows, dims, dots] =
      arguments<const float*, const float*, int64_t, int32_t, double*>();
  return {.source = "score_all",
          .all = {kernel("score_all_kernel"), GLOVE_BUFFERS(vectors, query, dots)},
          .choices = {dims_choice([](int count) { return number(dims, count); }), blocks()},
          .launches = {{{}, {"ci dims 16, 2 blocks, any number of rows | dims 16, blocks 2"}},
                       {{name("any dims"), grid(2)}}},
          .when_run = {{kernel("score_all_kernel"), number(rows, 1000)}}};
}

// packed_rows_kernel(part, groups, rows)
LaunchFile packed_rows() {
  static const auto [part, groups, rows] = arguments<DevicePart, int, uint32_t*>();
  const auto of_dims = [](int dims) {
    return LaunchSettings{number(part.dims, dims), number(groups, static_cast<int>(component_groups(dims)))};
  };
  return {.source = "packed_rows",
          .all = {kernel("packed_rows_kernel"),
                  GLOVE_BUFFERS(part.level.codes, part.level.scales, part.level.residuals, rows)},
          .choices = {dims_choice(of_dims), blocks()},
          .launches = {{{}, {"ci dims 300 | dims 300, blocks 2"}}}};
}

}  // namespace

std::vector<LaunchFile> row_launches() {
  return {score_all(), packed_rows()};
}

}  // namespace glove::gpu::launches
