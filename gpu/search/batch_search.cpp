#include "gpu/search/batch_search.h"

#include <algorithm>
#include <cstring>

#include "base/require.h"
#include "base/thread_pool.h"
#include "base/timer.h"
#include "gpu/kernels/batch_wgmma.h"
#include "gpu/layout/query_codes.h"
#include "model/quantize.h"

namespace glove::gpu {
namespace {

constexpr int64_t kPackedAtOnce = 32;      // queries; packing them takes much longer than scheduling a chunk
constexpr int64_t kPackedPerThread = 128;  // queries; packing them takes about as long as waking a thread
constexpr int64_t kPaddedTo = 32;          // queries, for the kernels
static_assert(kPackedAtOnce == kPaddedTo, "a thread clears whole chunks of the padded queries");
// Warpgroups take as long for one query as for 256: at 2,196,016 x 300, twice as long as warps for 32
// queries, and as long for about 100. They also multiply tiles that have no admissible row.
constexpr int64_t kLeastColumnQueries = 97;
constexpr int64_t kMostColumnQueries = 256;
constexpr int64_t kUnscoredAnswer = 2048;  // rows of an answer when the vectors are not on the device

double microseconds_between(const Event& begin, const Event& end) {
  float milliseconds = 0;
  return cudaEventElapsedTime(&milliseconds, begin.get(), end.get()) == cudaSuccess ? milliseconds * 1e3 : 0;
}

}  // namespace

// The sizes of a round, and where its arrays lie: those in device memory, whose first part is copied from the
// staging memory, and the answers.
struct BatchSearch::Layout {
  bool columns;      // warpgroups scan packed rows
  bool copied_back;  // the kernels write answers to device memory
  int64_t queries, padded, sample_groups, answer_capacity;
  BlockLayout device, answer, answer_on_device;
  int64_t copied;           // bytes
  Slot<std::byte> answers;  // as answer_on_device

  // Binds the arrays of `scan` and `read`.
  Layout(const DevicePart& part, const DeviceShape& shape, const BatchPlan& plan, int64_t query_count,
         int64_t top_rows, BatchScanParams& scan, AnswerArrays& read)
      : columns(part.packed_rows != nullptr && wgmma_fits(part.dims, shape) &&
                std::min(query_count, kMostColumnQueries) * part.rows_to_scan() >=
                    kLeastColumnQueries * part.rows),
        // Scored rows are written one at a time, which takes long in the host's memory. Unscored rows are
        // written in order, and there is room for many more than there are.
        copied_back(part.vectors != nullptr),
        queries(query_count),
        padded((query_count + kPaddedTo - 1) / kPaddedTo * kPaddedTo),
        sample_groups(columns ? (plan.sample_tiles + 1) / 2 : plan.sample_tiles),
        answer_capacity(part.vectors != nullptr ? top_rows : std::max(kUnscoredAnswer, 8 * top_rows)) {
    scan.fragments = scan.columns = nullptr;
    device.bind(columns ? scan.columns : scan.fragments, code_bytes(padded, part.dims));
    device.bind(scan.query_vectors, padded * part.dims);
    device.bind(scan.parameters, padded);
    device.bind(scan.list_sizes, padded);
    copied = device.bytes();
    device.bind(scan.sample_best, padded * sample_groups);
    device.bind(scan.thresholds, padded);
    device.bind(scan.lists, padded * plan.list_capacity);
    bind_answers(answer, read);
    bind_answers(answer_on_device, scan.answers);
    answers = device.add<std::byte>(copied_back ? answer.bytes() : 0);
  }

  int64_t code_bytes(int64_t count, int64_t dims) const {
    return columns ? column_bytes(count, dims) : fragment_bytes(count, dims);
  }

 private:
  void bind_answers(BlockLayout& layout, AnswerArrays& arrays) const {
    layout.bind(arrays.sizes, queries);
    layout.bind(arrays.ids, queries * answer_capacity);
    layout.bind(arrays.similarities, queries * answer_capacity);
  }
};

Status BatchSearch::create() {
  GLOVE_RETURN_IF_ERROR(stream_.create());
  for (Event& event : events_) GLOVE_RETURN_IF_ERROR(event.create(cudaEventDefault));
  return {};
}

// Makes room for the arrays, and puts them and the sizes of the round in scan_.
Status BatchSearch::describe(const DevicePart& part, const Layout& layout, const BatchPlan& plan,
                             int64_t top_rows) {
  GLOVE_RETURN_IF_ERROR(device_.reserve(layout.device.bytes()));
  GLOVE_RETURN_IF_ERROR(staging_.reserve(layout.copied));
  GLOVE_RETURN_IF_ERROR(answer_.reserve(layout.answer.bytes()));
  layout.device.place(device_.data());
  layout.answer.place(answer_.data());
  layout.answer_on_device.place(layout.copied_back ? layout.answers.in(device_.data()) : answer_.data());
  scan_.part = part;
  scan_.tiles = static_cast<int32_t>(tile_count(part.rows));
  scan_.groups = static_cast<int32_t>(component_groups(part.dims));
  scan_.steps = static_cast<int32_t>(matrix_steps(part.dims));
  scan_.queries = static_cast<int32_t>(layout.queries);
  scan_.padded_queries = static_cast<int32_t>(layout.padded);
  scan_.top_rows = static_cast<int32_t>(top_rows);
  scan_.sample_tiles = static_cast<int32_t>(plan.sample_tiles);
  scan_.sample_groups = static_cast<int32_t>(layout.sample_groups);
  scan_.list_capacity = static_cast<uint32_t>(plan.list_capacity);
  scan_.answer_capacity = static_cast<uint32_t>(layout.answer_capacity);
  return {};
}

// Returns where an array of the device has its copy in the staging memory.
template <class T>
std::remove_const_t<T>* BatchSearch::staged(T* on_device) const {
  return reinterpret_cast<std::remove_const_t<T>*>(
      staging_.data() + (reinterpret_cast<const std::byte*>(on_device) - device_.data()));
}

void BatchSearch::pack(const Layout& layout, std::span<const SearchRequest> requests) {
  const int64_t dims = scan_.part.dims;
  int8_t* const codes = staged(layout.columns ? scan_.columns : scan_.fragments);
  float* const vectors = staged(scan_.query_vectors);
  BatchQuery* const parameters = staged(scan_.parameters);
  std::fill_n(vectors + layout.queries * dims, (layout.padded - layout.queries) * dims, 0.0f);
  std::fill_n(staged(scan_.list_sizes), layout.padded, 0u);
  const int64_t chunk_bytes = layout.code_bytes(kPackedAtOnce, dims);
  const auto pack_some = [&](int, int64_t chunk) {
    std::memset(codes + chunk * chunk_bytes, 0, static_cast<size_t>(chunk_bytes));
    const int64_t last = std::min(layout.queries, (chunk + 1) * kPackedAtOnce);
    for (int64_t i = chunk * kPackedAtOnce; i < last; ++i) {
      const Query& query = *requests[static_cast<size_t>(i)].query;
      const DeviceQuery quantized = quantize_for_batch(scan_.part, query);
      const auto pack_codes = layout.columns ? &pack_columns : &pack_fragments;
      pack_codes(quantized.codes.codes, i, dims, codes);
      std::memcpy(vectors + i * dims, query.vector.data(), static_cast<size_t>(dims) * 4);
      parameters[i] = {quantized.codes.bound, quantized.codes.shift, quantized.least, query.norm_squared};
    }
  };
  const auto threads = static_cast<int>(std::clamp<int64_t>(layout.queries / kPackedPerThread, 1, 16));
  ThreadPool::instance().run(std::min(threads, usable_cores()), layout.padded / kPackedAtOnce, pack_some);
  for (int64_t i = layout.queries; i < layout.padded; ++i) parameters[i] = {{1, 1, 1}, {}, 1, 1};
}

// Enqueues all steps of a round on the stream, one after another.
Status BatchSearch::launch(const Layout& layout, const DeviceShape& shape) {
  const cudaStream_t stream = stream_.get();
  const auto launched = [](cudaError_t error) { return cuda_status(error, "launching a batch"); };
  GLOVE_RETURN_IF_ERROR(stream_.upload(device_.data(), staging_.data(), layout.copied, "copying queries"));
  GLOVE_RETURN_IF_ERROR(stream_.record(events_[0]));
  GLOVE_RETURN_IF_ERROR(launched(launch_batch_thresholds(scan_, shape, stream)));
  GLOVE_RETURN_IF_ERROR(stream_.record(events_[1]));
  const int32_t first_lists_end = scan_.tiles / 4;
  GLOVE_RETURN_IF_ERROR(launched(launch_batch_lists(scan_, 0, first_lists_end, shape, stream)));
  GLOVE_RETURN_IF_ERROR(launched(launch_batch_tighten(scan_, stream)));
  GLOVE_RETURN_IF_ERROR(launched(launch_batch_lists(scan_, first_lists_end, scan_.tiles, shape, stream)));
  GLOVE_RETURN_IF_ERROR(stream_.record(events_[2]));
  GLOVE_RETURN_IF_ERROR(launched(launch_batch_answers(scan_, stream)));
  if (layout.copied_back)
    GLOVE_RETURN_IF_ERROR(stream_.download(answer_.data(), layout.answers.in(device_.data()),
                                           layout.answer.bytes(), "copying answers"));
  return stream_.record(events_[3]);
}

Status BatchSearch::round(const DevicePart& part, const DeviceShape& shape, const BatchPlan& plan,
                          std::span<SearchRequest> requests, int64_t top_rows,
                          const InterruptCheck& interrupted) {
  const Timer timer;
  const Layout layout(part, shape, plan, std::ssize(requests), top_rows, scan_, answers_);
  GLOVE_RETURN_IF_ERROR(describe(part, layout, plan, top_rows));
  pack(layout, requests);
  GLOVE_RETURN_IF_ERROR(launch(layout, shape));
  GLOVE_RETURN_IF_ERROR(stream_.poll("scanning a batch", interrupted));

  const double select_us = microseconds_between(events_[0], events_[1]);
  const double rescore_us = microseconds_between(events_[2], events_[3]);
  const double wall_us = timer.microseconds();
  ScanCost cost;
  cost.select_us = select_us;
  cost.rescore_us = rescore_us;
  cost.scan_us = std::max(0.0, wall_us - select_us - rescore_us);  // including packing, copying and launching
  cost.rows_scanned = part.admissible_rows() * layout.queries;
  const int64_t row_bytes = component_groups(part.dims) * kTileComponents + 8;
  const int64_t tiles = tile_count(part.rows_to_scan());
  cost.bytes_scanned = (tiles + plan.sample_tiles * tiles / scan_.tiles) * kTileRows * row_bytes;
  charge(requests, cost);
  return {};
}

// Copies the answer to the request at this position of the round.
void BatchSearch::take_answer(size_t position, bool with_similarities, SearchRequest& request) const {
  const auto size = static_cast<size_t>(answers_.sizes[position]);
  const size_t begin = position * scan_.answer_capacity;
  request.rows.clear();
  request.rows.reserve(size);
  for (size_t i = begin; i < begin + size; ++i)
    request.rows.push_back(
        {answers_.ids[i], with_similarities ? score_from_device(answers_.similarities[i]) : kNoScore});
  request.cost.candidates += static_cast<int64_t>(size);
}

Status BatchSearch::run(const DevicePart& part, const DeviceShape& shape, const BatchPlan& plan,
                        std::span<SearchRequest> requests, int64_t top_rows,
                        const InterruptCheck& interrupted, std::vector<size_t>& again) {
  GLOVE_REQUIRE(plan.worthwhile && !requests.empty() && top_rows >= 1);
  const auto step = static_cast<size_t>(plan.queries_per_round);
  for (size_t first = 0; first < requests.size(); first += step) {
    const auto together = requests.subspan(first, std::min(step, requests.size() - first));
    GLOVE_RETURN_IF_ERROR(round(part, shape, plan, together, top_rows, interrupted));
    for (size_t i = 0; i < together.size(); ++i) {
      if (answers_.sizes[i] == kListOverflow)
        again.push_back(first + i);
      else
        take_answer(i, part.vectors != nullptr, together[i]);
    }
  }
  return {};
}

}  // namespace glove::gpu
