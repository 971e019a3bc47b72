#include "live/list_maker.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "analysis/kmeans.h"
#include "analysis/kmeans_pass.h"
#include "base/float_environment.h"
#include "base/require.h"
#include "base/thread_pool.h"
#include "lists/calibration.h"
#include "lists/plane_arrays.h"
#include "model/exact_dot.h"

namespace glove::live {
namespace {

// More rows per list to train on hardly change the number of rows that the planes leave.
constexpr int64_t kTrainingRows = 32;
// The memory for vectors of rows, in training and while rows find their lists.
constexpr int64_t kTrainingBytes = int64_t{256} << 20;
constexpr int64_t kPieceBytes = int64_t{32} << 20;
// Tiles that a thread encodes at once.
constexpr int64_t kTilesPerPiece = 32;
// A list stays if it has from a half to twice as many rows as the mean.
constexpr int64_t kMostGrowth = 2;

// The codes of a row as the vector of a multiple of what they stand for, whose products are exact.
void read_codes(const Segment& segment, int64_t row, float* vector) {
  const int8_t* const codes = segment.level().codes.data();
  for (int64_t i = 0; i < segment.dims(); ++i)
    vector[i] = static_cast<float>(codes[code_index(row, i, segment.dims())]);
}

// Returns an upper bound of the sine of the angle between a row's vector and its codes, whose D(x, x) is
// given; 1 or more: there is none.
double sine_of_codes(const Segment& segment, int64_t row, double norm_squared) {
  const auto place = static_cast<size_t>(row);
  const double length = static_cast<double>(segment.level().scales[place]) * std::sqrt(norm_squared);
  // The row's unit vector is within the residual of the codes', whose length this is.
  return static_cast<double>(segment.level().residuals[place]) / length * (1 + 0x1p-30);
}

// Rows of a segment with the directions of their codes as vectors. The residuals are upper bounds for these
// too: of all unit vectors, that of the codes is the nearest to what they stand for.
struct CodeRows {
  CodeRows(const Segment& segment, std::span<const int32_t> chosen)
      : points{std::ssize(chosen), segment.dims()},
        vectors(chosen.size() * static_cast<size_t>(segment.dims())) {
    const int64_t rows = points.rows;
    const int64_t dims = segment.dims();
    codes.resize(static_cast<size_t>(code_bytes(rows, dims)), 0);
    const auto read = [&](int, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t row = chosen[static_cast<size_t>(i)];
        float* const vector = vectors.data() + i * dims;
        read_codes(segment, row, vector);
        for (int64_t j = 0; j < dims; ++j)
          codes[static_cast<size_t>(code_index(i, j, dims))] = static_cast<int8_t>(vector[j]);
        const auto place = static_cast<size_t>(i);
        norms_squared[place] = exact_dot(vector, vector, dims);
        scales[place] = segment.level().scales[static_cast<size_t>(row)];
        residuals[place] = segment.level().residuals[static_cast<size_t>(row)];
      }
    };
    norms_squared.resize(static_cast<size_t>(rows));
    scales.resize(static_cast<size_t>(rows));
    residuals.resize(static_cast<size_t>(rows));
    // Without an InterruptCheck nothing stops this, which takes a fraction of what follows.
    (void)ThreadPool::for_pieces(thread_count(0), rows, kTileRows * kTilesPerPiece, {}, read);
    points.vectors = vectors.data();
    points.norms_squared = norms_squared.data();
    points.codes = codes.data();
    points.scales = scales.data();
    points.residuals = residuals.data();
  }
  CodeRows(const CodeRows&) = delete;
  CodeRows& operator=(const CodeRows&) = delete;

  Points points;
  std::vector<float> vectors, scales, residuals;
  std::vector<double> norms_squared;
  std::vector<int8_t> codes;
};

// Rows first, first + 1, ...
std::vector<int32_t> rows_from(int64_t first, int64_t count) {
  std::vector<int32_t> rows(static_cast<size_t>(count));
  std::iota(rows.begin(), rows.end(), static_cast<int32_t>(first));
  return rows;
}

// So many of the rows, evenly spread, as suffice to train `lists` lists.
std::vector<int32_t> sample_of(const std::vector<int32_t>& rows, int64_t lists, int64_t dims) {
  const int64_t most = kTrainingBytes / (dims * static_cast<int64_t>(sizeof(float)));
  const int64_t count =
      std::min<int64_t>({std::ssize(rows), kTrainingRows * lists, std::max(most, 4 * lists)});
  const double step = static_cast<double>(rows.size()) / static_cast<double>(count);
  std::vector<int32_t> sample(static_cast<size_t>(count));
  for (size_t i = 0; i < sample.size(); ++i)
    sample[i] = rows[static_cast<size_t>(static_cast<double>(i) * step)];
  return sample;
}

// Returns the list of each row of a segment.
Result<std::vector<uint16_t>> assign_all(Analysis& analysis, const Segment& segment,
                                         const Centroids& centroids, const InterruptCheck& interrupted) {
  const int64_t row_bytes = segment.dims() * static_cast<int64_t>(sizeof(float));
  const int64_t piece = std::max(kTileRows, kPieceBytes / row_bytes / kTileRows * kTileRows);
  std::vector<uint16_t> list_of;
  list_of.reserve(static_cast<size_t>(segment.rows()));
  for (int64_t first = 0; first < segment.rows(); first += piece) {
    const CodeRows rows(segment, rows_from(first, std::min(piece, segment.rows() - first)));
    GLOVE_ASSIGN_OR_RETURN(const std::vector<int32_t> lists,
                           nearest_lists(analysis, rows.points, centroids, interrupted));
    for (const int32_t list : lists) list_of.push_back(static_cast<uint16_t>(list));
  }
  return list_of;
}

Centroids centroids_of(const Lists& lists) {
  Centroids centroids(Metric::kCosine, lists.count(), lists.dims());
  for (int64_t i = 0; i < lists.count(); ++i) centroids.set(i, lists.centroids().data() + i * lists.dims());
  return centroids;
}

// Encodes the planes of the rows of a segment. `out` has place for PlaneArrayPlaces::end bytes, and already
// the list of each row. Errors: an interrupt.
Status write_planes(const Segment& segment, const Lists& lists, char* out,
                    const InterruptCheck& interrupted) {
  const PlaneArrayPlaces places(segment.rows(), segment.dims());
  std::memset(out, 0, static_cast<size_t>(places.lists));
  std::memset(out + places.plane1, 0, static_cast<size_t>(places.end - places.plane1));
  const std::span list_of(reinterpret_cast<const uint16_t*>(out + places.lists),
                          static_cast<size_t>(segment.rows()));
  const ListOrder order(list_of, lists.count());
  const PlaneWriter writer(lists.centroids(), segment.dims(), reinterpret_cast<uint8_t*>(out + places.plane1),
                           reinterpret_cast<uint16_t*>(out + places.bounds1),
                           reinterpret_cast<uint8_t*>(out + places.plane2));
  const auto write = [&](int, int64_t first, int64_t last) {
    std::vector<float> vector(static_cast<size_t>(segment.dims()));
    for (int64_t position = first; position < last; ++position) {
      const int32_t row = order.rows[static_cast<size_t>(position)];
      read_codes(segment, row, vector.data());
      const double norm_squared = exact_dot(vector.data(), vector.data(), segment.dims());
      writer.write(position, list_of[static_cast<size_t>(row)], vector.data(), norm_squared,
                   sine_of_codes(segment, row, norm_squared));
    }
  };
  return ThreadPool::for_pieces(thread_count(0), segment.rows(), kTileRows * kTilesPerPiece, interrupted,
                                write);
}

// Returns the largest k for which reading planes is expected to pay: of a sample, whose rows have farther
// neighbours than those of the segment, so that more of them are left.
Result<int64_t> calibrate(Analysis& analysis, const CodeRows& sample, const Centroids& centroids,
                          const InterruptCheck& interrupted) {
  GLOVE_ASSIGN_OR_RETURN(const std::vector<int32_t> lists,
                         nearest_lists(analysis, sample.points, centroids, interrupted));
  GLOVE_ASSIGN_OR_RETURN(const PlaneArrays planes,
                         make_planes(sample.vectors, sample.norms_squared, centroids.vectors, lists,
                                     sample.points.dims, thread_count(0), interrupted));
  const PlaneLevel level = planes.level();
  ModelPart part;
  part.rows = sample.points.rows;
  part.dims = sample.points.dims;
  part.vectors = sample.vectors;
  part.norms_squared = sample.norms_squared;
  part.planes = &level;
  GLOVE_ASSIGN_OR_RETURN(const PlanesPay pay, planes_pay(part, thread_count(0), interrupted));
  return pay.beside_4_bits;  // at most about half the bytes of the codes of 8 bits
}

}  // namespace

int64_t lists_for(int64_t rows) {
  return std::clamp(2 * static_cast<int64_t>(std::sqrt(static_cast<double>(rows))), int64_t{1}, kMostLists);
}

Result<ListsPtr> train_lists(Analysis& analysis, const Segment& segment, int64_t count,
                             const InterruptCheck& interrupted) {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set() && !segment.is_outline() &&
                suits_lists(segment.rows(), count));
  GLOVE_REQUIRE(segment.dims() <= kMostListDims && count <= kMostLists);
  const CodeRows sample(segment, sample_of(rows_from(0, segment.rows()), count, segment.dims()));
  GLOVE_ASSIGN_OR_RETURN(const Centroids centroids,
                         list_centroids(analysis, sample.points, count, interrupted));
  GLOVE_ASSIGN_OR_RETURN(const int64_t most_k, calibrate(analysis, sample, centroids, interrupted));
  return Lists::make(centroids.vectors, segment.dims(), most_k);
}

Result<ListsPtr> adapt_lists(Analysis& analysis, const Segment& segment, const ListsPtr& lists,
                             const InterruptCheck& interrupted) {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set() && !segment.is_outline());
  GLOVE_REQUIRE(lists->dims() == segment.dims());
  const int64_t dims = segment.dims();
  GLOVE_ASSIGN_OR_RETURN(const std::vector<uint16_t> list_of,
                         assign_all(analysis, segment, centroids_of(*lists), interrupted));
  const ListOrder order{std::span(list_of), lists->count()};
  const int64_t rows = segment.rows();
  std::vector<float> centroids;
  std::vector<int32_t> loose;  // rows of lists that do not stay
  for (int64_t list = 0; list < lists->count(); ++list) {
    const auto first = order.rows.begin() + order.offsets[static_cast<size_t>(list)];
    const auto last = order.rows.begin() + order.offsets[static_cast<size_t>(list) + 1];
    const int64_t size = (last - first) * lists->count();  // in means
    if (kMostGrowth * size < rows || size > kMostGrowth * rows) {
      loose.insert(loose.end(), first, last);
    } else {
      const auto centroid = lists->centroids().subspan(static_cast<size_t>(list * dims));
      centroids.insert(centroids.end(), centroid.begin(), centroid.begin() + dims);
    }
  }
  const int64_t kept = std::ssize(centroids) / dims;
  if (kept == lists->count()) return lists;
  // Rounded to the nearest number.
  const int64_t wanted = (2 * std::ssize(loose) * lists->count() + rows) / (2 * rows);
  const int64_t fresh = std::clamp(wanted, int64_t{kept == 0}, kMostLists - kept);
  if (fresh > 0) {
    const CodeRows sample(segment, sample_of(loose, fresh, dims));
    GLOVE_ASSIGN_OR_RETURN(const Centroids found,
                           list_centroids(analysis, sample.points, fresh, interrupted));
    centroids.insert(centroids.end(), found.vectors.begin(), found.vectors.end());
  }
  const ListsPtr made = Lists::make(centroids, dims, 0);
  const CodeRows sample(segment, sample_of(rows_from(0, rows), made->count(), dims));
  GLOVE_ASSIGN_OR_RETURN(const int64_t most_k, calibrate(analysis, sample, centroids_of(*made), interrupted));
  return Lists::make(centroids, dims, most_k);
}

Result<SegmentPtr> in_lists(Analysis& analysis, const Segment& segment, const ListsPtr& lists,
                            const InterruptCheck& interrupted) {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set() && !segment.is_outline());
  GLOVE_REQUIRE(lists->dims() == segment.dims() && suits_lists(segment.rows(), lists->count()));
  const int64_t dims = segment.dims();
  GLOVE_ASSIGN_OR_RETURN(const std::vector<uint16_t> list_of,
                         assign_all(analysis, segment, centroids_of(*lists), interrupted));
  const auto begin = static_cast<size_t>(segment_bytes(segment.rows(), dims));
  const PlaneArrayPlaces places(segment.rows(), dims);
  HugePageBuffer<char> bytes;
  bytes.reserve(begin + static_cast<size_t>(places.end));
  bytes.assign(segment.bytes().begin(), segment.bytes().begin() + static_cast<ptrdiff_t>(begin));
  bytes.resize(begin + static_cast<size_t>(places.end));
  char* const out = bytes.data() + begin;
  std::memcpy(out + places.lists, list_of.data(), list_of.size() * sizeof(uint16_t));
  GLOVE_RETURN_IF_ERROR(write_planes(segment, *lists, out, interrupted));
  return Segment::parse(std::move(bytes), segment.rows(), dims, "a new segment", lists);
}

Result<bool> has_planes_of_codes(const Segment& segment, const InterruptCheck& interrupted) {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set() && segment.planes() != nullptr && !segment.is_outline());
  const std::span<const char> stored =
      segment.bytes().subspan(static_cast<size_t>(segment_bytes(segment.rows(), segment.dims())));
  const Lists& lists = *segment.planes()->lists();
  const PlaneArrayPlaces places(segment.rows(), segment.dims());
  HugePageBuffer<char> made(stored.size());
  const auto list_of = segment.planes()->list_of();
  std::memcpy(made.data() + places.lists, list_of.data(), list_of.size_bytes());
  GLOVE_RETURN_IF_ERROR(write_planes(segment, lists, made.data(), interrupted));
  return std::memcmp(made.data(), stored.data(), stored.size()) == 0;
}

}  // namespace glove::live
