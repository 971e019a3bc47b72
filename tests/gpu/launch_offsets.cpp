// The launches that glove-verify proves name the fields of the kernels' parameters by their offsets
// (gpu/kernels/*.launch.toml). A field that moves must move there too, or the proofs are of other launches:
// then this file does not compile.
#include <cstddef>

#include "gpu/kernels/batch_scan.h"
#include "gpu/kernels/coarse_scan.h"
#include "gpu/kernels/convolve.h"
#include "gpu/kernels/kmeans.h"
#include "gpu/kernels/moments.h"
#include "gpu/kernels/single_scan.h"

namespace glove::gpu {

#define GLOVE_AT(offset, type, field) static_assert(offsetof(type, field) == (offset), #type "::" #field)

GLOVE_AT(8, DevicePart, rows);
GLOVE_AT(16, DevicePart, dims);
GLOVE_AT(24, DevicePart, vectors);
GLOVE_AT(32, DevicePart, norms_squared);
GLOVE_AT(48, DevicePart, level.codes);
GLOVE_AT(56, DevicePart, level.scales);
GLOVE_AT(64, DevicePart, level.residuals);
GLOVE_AT(80, DevicePart, coarse.codes);
GLOVE_AT(88, DevicePart, coarse.scales);
GLOVE_AT(96, DevicePart, coarse.residuals);
GLOVE_AT(104, DevicePart, packed_rows);

// batch_scan.launch.toml, batch_answers.launch.toml and batch_wgmma.launch.toml
GLOVE_AT(0, BatchScanParams, part);
GLOVE_AT(112, BatchScanParams, tiles);
GLOVE_AT(116, BatchScanParams, groups);
GLOVE_AT(120, BatchScanParams, steps);
GLOVE_AT(128, BatchScanParams, fragments);
GLOVE_AT(136, BatchScanParams, columns);
GLOVE_AT(144, BatchScanParams, query_vectors);
GLOVE_AT(152, BatchScanParams, parameters);
GLOVE_AT(160, BatchScanParams, queries);
GLOVE_AT(164, BatchScanParams, padded_queries);
GLOVE_AT(168, BatchScanParams, top_rows);
GLOVE_AT(172, BatchScanParams, sample_tiles);
GLOVE_AT(176, BatchScanParams, sample_groups);
GLOVE_AT(184, BatchScanParams, sample_best);
GLOVE_AT(192, BatchScanParams, thresholds);
GLOVE_AT(200, BatchScanParams, list_sizes);
GLOVE_AT(208, BatchScanParams, lists);
GLOVE_AT(216, BatchScanParams, list_capacity);
GLOVE_AT(220, BatchScanParams, answer_capacity);
GLOVE_AT(224, BatchScanParams, answers.sizes);
GLOVE_AT(232, BatchScanParams, answers.ids);
GLOVE_AT(240, BatchScanParams, answers.similarities);
static_assert(sizeof(BatchScanParams) == 248);

// single_scan.launch.toml
GLOVE_AT(0, SingleScanParams, part);
GLOVE_AT(112, SingleScanParams, tiles);
GLOVE_AT(116, SingleScanParams, groups);
GLOVE_AT(144, SingleScanParams, top_rows);
GLOVE_AT(148, SingleScanParams, count_every_row);
GLOVE_AT(152, SingleScanParams, reversed);
GLOVE_AT(160, SingleScanParams, counters);
GLOVE_AT(168, SingleScanParams, next_counters);
GLOVE_AT(192, SingleScanParams, capacity);
GLOVE_AT(200, SingleScanParams, ids);
GLOVE_AT(208, SingleScanParams, similarities);
GLOVE_AT(232, SingleScanParams, done);
GLOVE_AT(240, SingleScanParams, sequence);
static_assert(sizeof(SingleScanParams) == 3968);

// coarse_scan.launch.toml
GLOVE_AT(0, CoarseScanParams, scan);
GLOVE_AT(3968, CoarseScanParams, code_sum);
GLOVE_AT(3972, CoarseScanParams, seeds_per_warp);
static_assert(sizeof(CoarseScanParams) == 3984);

// kmeans_resolve.launch.toml, kmeans_rows.launch.toml, kmeans_scan.launch.toml, kmeans_sums.launch.toml,
// kmeans_update.launch.toml and kmeans_wgmma.launch.toml
GLOVE_AT(0, KMeansParams, part);
GLOVE_AT(112, KMeansParams, halves.row_words);
GLOVE_AT(120, KMeansParams, halves.words);
GLOVE_AT(128, KMeansParams, halves.lengths);
GLOVE_AT(136, KMeansParams, halves.residuals);
GLOVE_AT(144, KMeansParams, steps);
GLOVE_AT(148, KMeansParams, wanted);
GLOVE_AT(156, KMeansParams, metric);
GLOVE_AT(176, KMeansParams, centroids.count);
GLOVE_AT(180, KMeansParams, centroids.padded);
GLOVE_AT(184, KMeansParams, centroids.vectors);
GLOVE_AT(192, KMeansParams, centroids.norms_squared);
GLOVE_AT(200, KMeansParams, centroids.scaled);
GLOVE_AT(208, KMeansParams, centroids.fragments);
GLOVE_AT(216, KMeansParams, centroids.half_squares);
GLOVE_AT(224, KMeansParams, centroids.extents);
GLOVE_AT(232, KMeansParams, centroids.bound);
GLOVE_AT(240, KMeansParams, counters);
GLOVE_AT(248, KMeansParams, undecided);
GLOVE_AT(256, KMeansParams, open);
GLOVE_AT(264, KMeansParams, visits);
GLOVE_AT(272, KMeansParams, limits);
GLOVE_AT(280, KMeansParams, travelled);
GLOVE_AT(288, KMeansParams, sums);
GLOVE_AT(296, KMeansParams, sizes);
GLOVE_AT(304, KMeansParams, labels);
GLOVE_AT(312, KMeansParams, changes);
GLOVE_AT(320, KMeansParams, report);
GLOVE_AT(328, KMeansParams, nearest);
GLOVE_AT(336, KMeansParams, wgmma.columns);
GLOVE_AT(344, KMeansParams, wgmma.tops);
GLOVE_AT(352, KMeansParams, wgmma.grouped);
static_assert(sizeof(KMeansParams) == 360);

// moments.launch.toml
GLOVE_AT(0, MomentParams, vectors);
GLOVE_AT(8, MomentParams, rows);
GLOVE_AT(16, MomentParams, dims);
GLOVE_AT(24, MomentParams, weights);
GLOVE_AT(32, MomentParams, first_block);
GLOVE_AT(40, MomentParams, sums);
static_assert(sizeof(MomentParams) == 48);

// convolve.launch.toml
using Convolution = ConvolveParams<float>;
GLOVE_AT(0, Convolution, in);
GLOVE_AT(8, Convolution, weights);
GLOVE_AT(16, Convolution, rows);
GLOVE_AT(24, Convolution, columns);
GLOVE_AT(28, Convolution, height);
GLOVE_AT(32, Convolution, width);
GLOVE_AT(40, Convolution, first_row);
GLOVE_AT(48, Convolution, end_row);
GLOVE_AT(56, Convolution, out);

#undef GLOVE_AT

}  // namespace glove::gpu
