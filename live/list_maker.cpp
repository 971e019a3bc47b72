#include "live/list_maker.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "analysis/kmeans.h"
#include "analysis/kmeans_pass.h"
#include "base/cores.h"
#include "base/float_environment.h"
#include "base/require.h"
#include "base/thread_pool.h"
#include "lists/calibration.h"
#include "lists/half.h"
#include "lists/plane_arrays.h"
#include "lists/planes.h"
#include "model/exact_dot.h"

namespace glove::live {
namespace {

// More iterations, and more rows per list to train on, hardly change the number of rows that the planes
// leave.
constexpr int64_t kIterations = 8;
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

// Appends the list of each row to `lists`: that of its nearest centroid, and any of a row without direction.
template <class Number>
Status assign(Analysis& analysis, const CodeRows& rows, const Centroids& centroids,
              const InterruptCheck& interrupted, std::vector<Number>& lists) {
  GLOVE_ASSIGN_OR_RETURN(const auto pass,
                         analysis.kmeans_pass(rows.points, centroids.metric, centroids.count, interrupted));
  std::vector<int32_t> nearest(static_cast<size_t>(rows.points.rows));
  GLOVE_RETURN_IF_ERROR(pass->nearest(centroids, nearest, interrupted));
  for (const int32_t list : nearest) lists.push_back(static_cast<Number>(std::max(list, 0)));
  return {};
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
    GLOVE_RETURN_IF_ERROR(assign(analysis, rows, centroids, interrupted, list_of));
  }
  return list_of;
}

Centroids centroids_of(const Lists& lists) {
  Centroids centroids(Metric::kCosine, lists.count(), lists.dims());
  for (int64_t i = 0; i < lists.count(); ++i) centroids.set(i, lists.centroids().data() + i * lists.dims());
  return centroids;
}

// Encodes the planes of the rows of a segment.
class PlaneEncoder {
 public:
  // `out` has place for PlaneArrayPlaces::end bytes, and already the list of each row.
  PlaneEncoder(const Segment& segment, const Lists& lists, char* out)
      : segment_(segment),
        lists_(lists),
        places_(segment.rows(), segment.dims()),
        out_(out),
        order_({at<uint16_t>(places_.lists), static_cast<size_t>(segment.rows())}, lists.count()) {
    for (int64_t i = 0; i < lists.count(); ++i) {
      const float* const centroid = lists.centroids().data() + i * lists.dims();
      norms_.push_back(exact_dot(centroid, centroid, lists.dims()));
    }
    std::memset(out_, 0, static_cast<size_t>(places_.lists));
    std::memset(out_ + places_.plane1, 0, static_cast<size_t>(places_.end - places_.plane1));
  }

  // Errors: an interrupt.
  Status run(const InterruptCheck& interrupted) {
    const auto encode_some = [this](int, int64_t first, int64_t last) {
      std::vector<float> vector(static_cast<size_t>(segment_.dims()));
      std::vector<uint8_t> plane1(static_cast<size_t>(plane_row_bytes(segment_.dims())));
      for (int64_t position = first; position < last; ++position) encode(position, vector, plane1.data());
    };
    return ThreadPool::for_pieces(thread_count(0), segment_.rows(), kTileRows * kTilesPerPiece, interrupted,
                                  encode_some);
  }

 private:
  template <class T>
  T* at(int64_t place) const {
    return reinterpret_cast<T*>(out_ + place);
  }

  void encode(int64_t position, std::vector<float>& vector, uint8_t* plane1) const {
    const int64_t dims = segment_.dims();
    const int64_t row = order_.rows[static_cast<size_t>(position)];
    const auto list = static_cast<int64_t>(at<uint16_t>(places_.lists)[row]);
    read_codes(segment_, row, vector.data());
    const double norm_squared = exact_dot(vector.data(), vector.data(), dims);
    const double sine = sine_of_codes(segment_, row, norm_squared);
    uint8_t* const plane2 = at<uint8_t>(places_.plane2) + position * plane2_row_bytes(dims);
    PlaneBound bound{0, 0, kHalfInfinity};
    if (sine < 1) {
      bound = encode_planes(vector.data(), norm_squared, lists_.centroids().data() + list * dims,
                            norms_[static_cast<size_t>(list)], dims, plane1, plane2, sine);
    } else {
      std::fill_n(plane1, plane_row_bytes(dims), uint8_t{0});
      std::memcpy(plane2 + plane2_bound_offset(dims), &bound, sizeof(bound));
    }
    for (int64_t byte = 0; byte < plane_row_bytes(dims); ++byte)
      at<uint8_t>(places_.plane1)[plane1_index(position, byte, dims)] = plane1[byte];
    store_bound(bound, position, at<uint16_t>(places_.bounds1));
  }

  const Segment& segment_;
  const Lists& lists_;
  const PlaneArrayPlaces places_;
  char* const out_;
  const ListOrder order_;
  std::vector<double> norms_;  // D(m, m) of the centroids
};

// Returns the largest k for which reading planes is expected to pay: of a sample, whose rows have farther
// neighbours than those of the segment, so that more of them are left.
Result<int64_t> calibrate(Analysis& analysis, const CodeRows& sample, const Centroids& centroids,
                          const InterruptCheck& interrupted) {
  std::vector<int32_t> lists;
  GLOVE_RETURN_IF_ERROR(assign(analysis, sample, centroids, interrupted, lists));
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
  KMeansOptions options;
  options.max_iterations = kIterations;
  options.centroids_only = true;
  GLOVE_ASSIGN_OR_RETURN(const Clustering fit,
                         cluster_rows(analysis, sample.points, count, options, interrupted));
  GLOVE_ASSIGN_OR_RETURN(const int64_t most_k, calibrate(analysis, sample, fit.centroids, interrupted));
  return Lists::make(fit.centroids.vectors, segment.dims(), most_k);
}

Result<ListsPtr> adapt_lists(Analysis& analysis, const Segment& segment, const ListsPtr& lists,
                             const InterruptCheck& interrupted) {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set() && !segment.is_outline());
  GLOVE_REQUIRE(lists->dims() == segment.dims());
  const int64_t dims = segment.dims();
  GLOVE_ASSIGN_OR_RETURN(const std::vector<uint16_t> list_of,
                         assign_all(analysis, segment, centroids_of(*lists), interrupted));
  const ListOrder order(list_of, lists->count());
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
  KMeansOptions options;
  options.max_iterations = kIterations;
  options.centroids_only = true;
  if (fresh > 0) {
    const CodeRows sample(segment, sample_of(loose, fresh, dims));
    GLOVE_ASSIGN_OR_RETURN(const Clustering fit,
                           cluster_rows(analysis, sample.points, fresh, options, interrupted));
    centroids.insert(centroids.end(), fit.centroids.vectors.begin(), fit.centroids.vectors.end());
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
  GLOVE_RETURN_IF_ERROR(PlaneEncoder(segment, *lists, out).run(interrupted));
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
  GLOVE_RETURN_IF_ERROR(PlaneEncoder(segment, lists, made.data()).run(interrupted));
  return std::memcmp(made.data(), stored.data(), stored.size()) == 0;
}

}  // namespace glove::live
