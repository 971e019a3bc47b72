// The kernels of score_all.cu, packed_rows.cu and moments.cu.
#include "gpu/kernels/launches/launch_file.h"
#include "gpu/kernels/moments.h"
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

// A launch for each number of components and of blocks. choice: of the first; own: what each launch has
// besides, as its grid depends on both.
template <class Own>
void add_each(std::vector<LaunchRow>* launches, const std::string& in_ci, const std::string& choice,
              const Own& own) {
  for (const int dims : {16, 300, 3, 1})
    for (const int count : {2, 3, 1})
      launches->push_back(
          {{name(dims == 16 && count == 2 ? in_ci : ""), own(dims, count),
            with(choice + " " + std::to_string(dims) + ", blocks " + std::to_string(count))}});
}

// column_sums_kernel(params), gram_product_kernel(params, vector), check_products_kernel(differences),
// add_blocks_kernel(sums, count, size, total), and second_moment_kernel(params, shape, center), whose grid is
// the groups of tiles and the blocks of rows. With weights and without; the last block of rows is not full.
LaunchFile moments() {
  static const auto [params, vector] = arguments<MomentParams, const float*>();
  static const auto [same_params, shape, center] = arguments<MomentParams, GramShape, const float*>();
  static const auto [differences] = arguments<uint32_t*>();
  static const auto [sums, count, size, total] = arguments<const double*, int32_t, int64_t, double*>();
  std::vector<LaunchRow> launches;
  add_each(&launches, "ci column sums", "dims", [](int dims, int blocks) {
    return LaunchSettings{kernel("column_sums_kernel"), grid((dims + 127) / 128, blocks)};
  });
  add_each(&launches, "ci gram product", "dims", [](int, int blocks) {
    return LaunchSettings{kernel("gram_product_kernel"), number(params.rows, 1024 * (blocks - 1) + 500),
                          number(params.first_block, 0), GLOVE_BUFFERS(vector)};
  });
  add_each(&launches, "ci second moment", "gram", [](int dims, int blocks) {
    return LaunchSettings{kernel("second_moment_kernel"), block(dims == 300 ? 448 : 64),
                          grid(dims == 300 ? 4 : 1, blocks),
                          number(params.rows, dims == 300 && blocks == 3 ? 28 : 1024 * (blocks - 1) + 28)};
  });
  const auto gram = [](int dims, int warps, int panel, int width, int last_left) {
    return LaunchSettings{shared(8 * 2 * kGramRows * (width + 4)),
                          number(params.first_block, 0),
                          number(params.dims, dims),
                          number(shape.warps, warps),
                          number(shape.panel, panel),
                          number(shape.width, width),
                          GLOVE_BUFFERS(shape.tiles, shape.group_of, center),
                          range("tile", -1, last_left, "plan_gram() keeps tiles inside the buffer")};
  };
  const LaunchSettings second = kernel("second_moment_kernel");
  launches.insert(  // fewer rows than the first load takes, and several panels of columns
      launches.end(),
      {{{name("ci second moment, 5 rows"), second, gram(16, 2, 32, 32, 0), block(64), grid(1),
         number(params.rows, 5)}},
       {{name("340 dims"), second, gram(340, 16, 128, 256, 224), block(512), grid(6),
         number(params.rows, 28)}},
       {{name("ci check products"), kernel("check_products_kernel"), grid(2), GLOVE_BUFFERS(differences)}},
       {{kernel("add_blocks_kernel"), GLOVE_BUFFERS(sums, total)}, {"ci add blocks | blocks 2"}}});
  return {.source = "moments",
          .all = GLOVE_BUFFERS(params.vectors, params.weights, params.sums),
          .choices = {blocks(), dims_choice([](int dims) {
                        return LaunchSettings{shared(8 * dims), number(params.dims, dims)};
                      }),
                      choice_of("gram", {1, 3, 16, 300},
                                [&](int dims) {
                                  return dims == 300 ? gram(dims, 14, 320, 320, 288)
                                                     : gram(dims, 2, 32, 32, 0);
                                })},
          .launches = launches,
          .when_run = {{kernel("column_sums_kernel"), number(params.rows, 2500)},
                       {kernel("add_blocks_kernel"), number(count, 3), number(size, 600)}}};
}

}  // namespace

std::vector<LaunchFile> row_launches() {
  return {score_all(), packed_rows(), moments()};
}

}  // namespace glove::gpu::launches
