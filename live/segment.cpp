#include "live/segment.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>

#include "base/concat.h"
#include "base/crc32.h"
#include "base/float_environment.h"
#include "base/mutex.h"
#include "base/require.h"
#include "live/code_cache.h"
#include "model/exact_dot.h"
#include "model/limits.h"
#include "model/quantize.h"

namespace glove::live {
namespace {

static_assert(std::endian::native == std::endian::little, "segments are little-endian");

// A row of a tile has its components in groups that lie this many bytes apart.
constexpr int64_t kGroupStride = kTileRows * kTileComponents;

// The most memory that a builder reserves for rows that may not come.
constexpr int64_t kMostReserved = int64_t{1} << 30;

template <class T>
void append_bytes(HugePageBuffer<char>& bytes, const std::vector<T>& values) {
  const auto* const begin = reinterpret_cast<const char*>(values.data());
  bytes.insert(bytes.end(), begin, begin + values.size() * sizeof(T));
}

bool usable(float number) {
  return std::isfinite(number) && number >= 0;
}

struct SharedSegments {
  ForkSafeMutex mutex;
  std::map<std::string, std::weak_ptr<const Segment>, std::less<>> by_key GLOVE_GUARDED_BY(mutex);
};

Error corrupt(const std::string& name, const std::string& what) {
  return {ErrorCode::kCorrupt, name + " " + what};
}

// The plane of PlaneKind::kSigned: three halves and one bit of each of some components for each row of a
// tile.
int64_t former_sign_bytes(int64_t rows, int64_t dims) {
  constexpr int64_t kMostBits = 576, kWordBits = 32;
  const int64_t words = (std::min(dims, kMostBits) + kWordBits - 1) / kWordBits;
  return tile_count(rows) * kTileRows * (3 * int64_t{sizeof(uint16_t)} + words * int64_t{sizeof(uint32_t)});
}

// How many numbers a row has beside its codes: the first of these.
size_t number_count(PlaneKind kind) {
  return kind == PlaneKind::kBits ? 0 : kind == PlaneKind::kShifted ? 4 : 2;
}
std::array<float, 4> numbers_of(const ShiftedRow& row) {
  return {row.scale, row.residual, row.along, row.length};
}
std::array<std::span<const float>, 4> numbers_of(const CodeLevel& level) {
  return {level.scales, level.residuals, level.along, level.lengths};
}

}  // namespace

int64_t segment_bytes(int64_t rows, int64_t dims, PlaneKind planes) {
  return code_bytes(rows, dims) +
         rows * static_cast<int64_t>(sizeof(int64_t) + number_count(planes) * sizeof(float)) +
         (planes == PlaneKind::kPlanes || planes == PlaneKind::kSigned ? PlaneArrayPlaces(rows, dims).end
                                                                       : 0) +
         (planes == PlaneKind::kSigned ? former_sign_bytes(rows, dims) : 0);
}

std::pair<int64_t, int64_t> segment_id_bytes(int64_t rows, int64_t dims) {
  const int64_t begin = code_bytes(rows, dims);
  return {begin, begin + rows * static_cast<int64_t>(sizeof(int64_t))};
}

Segment::Segment(HugePageBuffer<char> bytes, CodeBlocks blocks, int64_t rows, int64_t dims,
                 const ListsPtr& lists, CodingPtr coding)
    : bytes_(std::move(bytes)),
      blocks_(std::move(blocks)),
      rows_(rows),
      dims_(dims),
      coding_(std::move(coding)) {
  const auto count = static_cast<size_t>(rows);
  const char* place = bytes_.data();
  level_.bits = 8;
  const auto take = [&place](auto& values, size_t number) {
    using Pointer = typename std::remove_reference_t<decltype(values)>::pointer;
    values = {reinterpret_cast<Pointer>(place), number};
    place += values.size_bytes();
  };
  if (!is_outline()) take(level_.codes, static_cast<size_t>(code_bytes(rows, dims)));
  take(ids_, count);
  std::span<const float>* const numbers[] = {&level_.scales, &level_.residuals, &level_.along,
                                             &level_.lengths};
  for (size_t i = 0; i < number_count(kind_of(metric_of(coding_))); ++i) take(*numbers[i], count);
  if (lists != nullptr)
    planes_ = std::make_unique<SegmentPlanes>(
        std::span(place, bytes_.size() - static_cast<size_t>(place - bytes_.data())), rows, lists);
  loaded_.set(std::ssize(bytes_) + (planes_ == nullptr ? 0 : planes_->bytes()));
}

Segment::~Segment() {
  if (is_outline()) CodeCache::instance().forget(*this);
}

uint32_t checksum_of(const CodingPtr& coding) {
  uint32_t checksum = 0;
  if (coding == nullptr) return checksum;
  for (const std::vector<float>* const half : {&coding->shift.mean, &coding->shift.direction})
    checksum = crc32_continue(
        checksum, std::span(reinterpret_cast<const char*>(half->data()), half->size() * sizeof(float)));
  return checksum;
}

uint32_t Segment::checksum() const {
  if (is_outline()) return blocks_.checksum;
  return crc32_continue(planes_ == nullptr ? checksum_of(coding_) : planes_->lists()->checksum(), bytes_);
}

// True if the codes are zero wherever there is no component: past the last one of each row, and past the last
// row.
bool Segment::padding_is_zero() const {
  const int64_t groups = component_groups(dims_);
  const auto* const codes = level_.codes.data();
  const auto is_zero = [codes](int64_t begin, int64_t end) {
    return std::all_of(codes + begin, codes + end, [](int8_t code) { return code == 0; });
  };
  for (int64_t row = 0; row < tile_count(rows_) * kTileRows; ++row) {
    const int64_t used = row < rows_ ? dims_ : 0;
    for (int64_t group = used / kTileComponents; group < groups; ++group) {
      const int64_t begin = code_index(row, group * kTileComponents, dims_);
      if (!is_zero(begin + std::max<int64_t>(used - group * kTileComponents, 0), begin + kTileComponents))
        return false;
    }
  }
  return true;
}

// Returns what is wrong with the ids, the numbers of rows, the padding and the planes; empty if nothing is.
std::string Segment::fault() const {
  const auto not_above = [](int64_t id, int64_t next) { return next <= id; };
  if (std::adjacent_find(ids_.begin(), ids_.end(), not_above) != ids_.end())
    return "has ids that are not in ascending order";
  // A row that is too long for shifted codes has a residual of NaN.
  const auto usable_residual = [this](float residual) {
    return usable(residual) || (coding_ != nullptr && std::isnan(residual));
  };
  if (!std::all_of(level_.scales.begin(), level_.scales.end(), usable) ||
      !std::all_of(level_.residuals.begin(), level_.residuals.end(), usable_residual) ||
      !std::all_of(level_.lengths.begin(), level_.lengths.end(), usable))
    return "has a scale, a residual or a length that is negative, NaN or infinite";
  if (!std::all_of(level_.along.begin(), level_.along.end(), [](float one) { return std::isfinite(one); }))
    return "has a number along the mean that is NaN or infinite";
  if (!is_outline() && !padding_is_zero()) return "has codes where there is no component";
  return planes_ == nullptr ? "" : planes_->fault();
}

Result<SegmentPtr> Segment::parse(HugePageBuffer<char> bytes, int64_t rows, int64_t dims,
                                  const std::string& name, const ListsPtr& lists, const CodingPtr& coding,
                                  CodeBlocks outline) {
  GLOVE_REQUIRE(rows >= 1 && rows <= kMaxRows && dims >= 1 && dims <= kMaxDims);
  GLOVE_REQUIRE(lists == nullptr || (lists->dims() == dims && coding == nullptr));
  const bool has_codes = outline.tiles == 0;
  const int64_t expected = segment_bytes(rows, dims, kind_of(metric_of(coding))) -
                           (has_codes ? 0 : code_bytes(rows, dims)) +
                           (lists == nullptr ? 0
                            : has_codes      ? PlaneArrayPlaces(rows, dims).end
                                             : PlaneArrayPlaces(rows, dims).plane1);
  if (std::ssize(bytes) != expected)
    return corrupt(name, concat("has ", bytes.size(), " bytes, but ", rows, " rows take ", expected));
  if (!has_codes) (void)CodeCache::instance();  // which the destructor needs
  const SegmentPtr segment(new Segment(std::move(bytes), std::move(outline), rows, dims, lists, coding));
  if (const std::string fault = segment->fault(); !fault.empty()) return corrupt(name, fault);
  return segment;
}

bool Segment::has_codes_of(int64_t row, std::span<const float> vector) const {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set() && !is_outline());
  GLOVE_REQUIRE(row >= 0 && row < rows_);
  if (static_cast<int64_t>(vector.size()) != dims_) return false;
  const double norm_squared = exact_dot(vector.data(), vector.data(), dims_);
  // A component may be NaN or infinite.
  if (!std::isfinite(norm_squared) || (coding_ == nullptr && !(norm_squared > 0))) return false;
  std::vector<int8_t> codes(static_cast<size_t>(component_groups(dims_) * kTileComponents));
  const ShiftedRow expected =
      quantize_row_by(coding_, vector.data(), norm_squared, dims_, codes.data(), kTileComponents);
  for (int64_t group = 0; group < component_groups(dims_); ++group)
    if (std::memcmp(codes.data() + group * kTileComponents,
                    level_.codes.data() + code_index(row, group * kTileComponents, dims_),
                    kTileComponents) != 0)
      return false;
  const auto stored = numbers_of(level_);
  for (size_t i = 0; i < number_count(kind_of(metric_of(coding_))); ++i)
    if (std::bit_cast<int32_t>(stored[i][static_cast<size_t>(row)]) !=
        std::bit_cast<int32_t>(numbers_of(expected)[i]))
      return false;
  return true;
}

SegmentBuilder::SegmentBuilder(int64_t dims, int64_t expected_rows, CodingPtr coding)
    : dims_(dims), coding_(std::move(coding)), numbers_(number_count(kind_of(metric_of(coding_)))) {
  const int64_t most = kMostReserved / segment_bytes(kTileRows, dims) * kTileRows;
  const int64_t rows = std::min({expected_rows, most, kMaxRows});
  codes_.reserve(static_cast<size_t>(segment_bytes(rows, dims)));
  ids_.reserve(static_cast<size_t>(rows));
  for (std::vector<float>& numbers : numbers_) numbers.reserve(static_cast<size_t>(rows));
}

int8_t* SegmentBuilder::place_of(int64_t row) {
  return reinterpret_cast<int8_t*>(codes_.data()) + code_index(row, 0, dims_);
}

bool SegmentBuilder::has_room(int64_t rows) const {
  const auto all = static_cast<size_t>(this->rows() + rows);
  return codes_.capacity() >= static_cast<size_t>(code_bytes(this->rows() + rows, dims_)) &&
         std::ranges::all_of(numbers_, [all](const auto& numbers) { return numbers.capacity() >= all; });
}

int64_t SegmentBuilder::append(std::span<const int64_t> ids) {
  GLOVE_REQUIRE(rows() + std::ssize(ids) <= kMaxRows);
  GLOVE_REQUIRE(ids.empty() || ids_.empty() || ids.front() > ids_.back());
  const int64_t first = rows();
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  codes_.resize(static_cast<size_t>(code_bytes(rows(), dims_)));
  for (std::vector<float>& numbers : numbers_) numbers.resize(ids_.size());
  return first;
}

void SegmentBuilder::encode(int64_t row, std::span<const float> vector, double norm_squared) {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set() && (norm_squared > 0 || coding_ != nullptr));
  GLOVE_REQUIRE(row >= 0 && std::ssize(vector) == dims_);
  int8_t* const place = place_of(row);
  // The quantiser leaves what follows the last component as it is.
  std::memset(place + (component_groups(dims_) - 1) * kGroupStride, 0, kTileComponents);
  // Not through [], which may look at the sizes that append() changes.
  const auto coded =
      numbers_of(quantize_row_by(coding_, vector.data(), norm_squared, dims_, place, kGroupStride));
  for (size_t i = 0; i < numbers_.size(); ++i) *(numbers_[i].data() + row) = coded[i];
}

void SegmentBuilder::add(int64_t id, std::span<const float> vector, double norm_squared) {
  encode(append({&id, 1}), vector, norm_squared);
}

void SegmentBuilder::copy(const Segment& segment, int64_t row) {
  GLOVE_REQUIRE(segment.dims() == dims_ && row >= 0 && row < segment.rows() && !segment.is_outline());
  GLOVE_REQUIRE(metric_of(segment.coding()) == metric_of(coding_));
  const auto from_row = static_cast<size_t>(row);
  const int64_t to_row = append(segment.ids().subspan(from_row, 1));
  int8_t* const place = place_of(to_row);
  const int8_t* const from = segment.level().codes.data() + code_index(row, 0, dims_);
  for (int64_t group = 0; group < component_groups(dims_); ++group)
    std::memcpy(place + group * kGroupStride, from + group * kGroupStride, kTileComponents);
  for (size_t i = 0; i < numbers_.size(); ++i)
    numbers_[i][static_cast<size_t>(to_row)] = numbers_of(segment.level())[i][from_row];
}

HugePageBuffer<char> SegmentBuilder::finish() {
  GLOVE_REQUIRE(rows() > 0);
  for (int64_t row = rows(); row % kTileRows != 0; ++row)
    for (int64_t group = 0; group < component_groups(dims_); ++group)
      std::memset(place_of(row) + group * kGroupStride, 0, kTileComponents);
  HugePageBuffer<char> bytes = std::move(codes_);
  bytes.reserve(static_cast<size_t>(segment_bytes(rows(), dims_, kind_of(metric_of(coding_)))));
  append_bytes(bytes, ids_);
  for (const std::vector<float>& numbers : numbers_) append_bytes(bytes, numbers);
  *this = SegmentBuilder(dims_, 0, coding_);
  return bytes;
}

SegmentPtr find_segment(std::string_view key) {
  const Lock lock(never_freed<SharedSegments>().mutex);
  const auto found = never_freed<SharedSegments>().by_key.find(key);
  return found == never_freed<SharedSegments>().by_key.end() ? nullptr : found->second.lock();
}

SegmentPtr share_segment(std::string key, SegmentPtr segment) {
  SegmentPtr kept;
  {
    const Lock lock(never_freed<SharedSegments>().mutex);
    std::erase_if(never_freed<SharedSegments>().by_key,
                  [](const auto& entry) { return entry.second.expired(); });
    auto& slot = never_freed<SharedSegments>().by_key[std::move(key)];
    kept = slot.lock();
    if (kept == nullptr) {
      slot = segment;
      kept = std::move(segment);
    }
  }
  return kept;
}

}  // namespace glove::live
