#include "gpu/search/batch_search.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/cores.h"
#include "base/thread_pool.h"
#include "base/timer.h"
#include "gpu/kernels/batch_wgmma.h"
#include "gpu/layout/query_codes.h"
#include "model/quantize.h"

namespace glove::gpu {
namespace {

constexpr double kUsBeforeInterrupts = 5000;  // most rounds have finished by then
constexpr double kUsOfSpinning = 20000;
constexpr int64_t kPackedAtOnce = 32;      // queries; packing them takes much longer than scheduling a chunk
constexpr int64_t kPackedPerThread = 128;  // queries; packing them takes about as long as waking a thread
constexpr int64_t kPaddedTo = 32;          // queries, for the kernels
static_assert(kPackedAtOnce == kPaddedTo, "a thread clears whole chunks of the padded queries");
// Warpgroups take as long for one query as for 256: at 2,196,016 x 300, twice as long as warps for 32
// queries, and as long for about 100.
constexpr int64_t kLeastColumnQueries = 97;
constexpr int64_t kUnscoredAnswer = 2048;  // rows of an answer when the vectors are not on the device

// Divides one allocation into arrays.
class Cutter {
 public:
  int64_t take(int64_t bytes) {
    const int64_t offset = size_;
    size_ += (bytes + 255) / 256 * 256;
    return offset;
  }
  int64_t size() const { return size_; }

 private:
  int64_t size_ = 0;
};

double microseconds_between(const Event& begin, const Event& end) {
  float milliseconds = 0;
  return cudaEventElapsedTime(&milliseconds, begin.get(), end.get()) == cudaSuccess ? milliseconds * 1e3 : 0;
}

}  // namespace

// The positions of all arrays of a round. The first part of the device memory is copied from the staging
// memory.
struct BatchSearch::Layout {
  bool columns;  // warpgroups scan packed rows
  int64_t queries, padded, codes, vectors, parameters, sizes, copied;
  int64_t sample_groups, sample_best, thresholds, lists, answers, device_bytes;
  bool copied_back;  // the kernels write answers to device memory
  int64_t answer_capacity, answer_sizes, answer_ids, answer_similarities, answer_bytes;

  Layout(const DevicePart& part, const BatchShape& shape, const BatchPlan& plan, int64_t query_count,
         int64_t top_rows)
      : columns(part.packed_rows != nullptr && query_count >= kLeastColumnQueries &&
                wgmma_fits(part.dims, shape)),
        queries(query_count),
        padded((query_count + kPaddedTo - 1) / kPaddedTo * kPaddedTo) {
    Cutter device;
    codes = device.take(columns ? column_bytes(padded, part.dims) : fragment_bytes(padded, part.dims));
    vectors = device.take(padded * part.dims * 4);
    parameters = device.take(padded * static_cast<int64_t>(sizeof(BatchQuery)));
    sizes = device.take(padded * 4);
    copied = device.size();
    sample_groups = columns ? (plan.sample_tiles + 1) / 2 : plan.sample_tiles;
    sample_best = device.take(padded * sample_groups * 4);
    thresholds = device.take(padded * 4);
    lists = device.take(padded * plan.list_capacity * static_cast<int64_t>(sizeof(ListedRow)));
    Cutter answer;
    answer_capacity = part.vectors != nullptr ? top_rows : std::max(kUnscoredAnswer, 8 * top_rows);
    answer_sizes = answer.take(queries * 4);
    answer_ids = answer.take(queries * answer_capacity * 4);
    answer_similarities = answer.take(queries * answer_capacity * 8);
    answer_bytes = answer.size();
    // Scored rows are written one at a time, which takes long in the host's memory. Unscored rows are written
    // in order, and there is room for many more than there are.
    copied_back = part.vectors != nullptr;
    answers = device.take(copied_back ? answer_bytes : 0);
    device_bytes = device.size();
  }
};

Status BatchSearch::create() {
  GLOVE_RETURN_IF_ERROR(stream_.create());
  for (Event& event : events_) GLOVE_RETURN_IF_ERROR(event.create(cudaEventDefault));
  return {};
}

Status BatchSearch::reserve(const Layout& layout) {
  GLOVE_RETURN_IF_ERROR(device_.reserve(layout.device_bytes));
  GLOVE_RETURN_IF_ERROR(staging_.reserve(layout.copied));
  return answer_.reserve(layout.answer_bytes);
}

Status BatchSearch::pack(const DevicePart& part, const Layout& layout,
                         std::span<const SearchRequest> requests) {
  const auto zero = [&](int64_t begin, int64_t end) {
    std::memset(staging_.as<int8_t>(begin), 0, static_cast<size_t>(end - begin));
  };
  zero(layout.vectors + layout.queries * part.dims * 4, layout.parameters);
  zero(layout.sizes, layout.copied);
  auto* parameters = staging_.as<BatchQuery>(layout.parameters);
  const int64_t chunk_bytes =
      layout.columns ? column_bytes(kPackedAtOnce, part.dims) : fragment_bytes(kPackedAtOnce, part.dims);
  const auto pack_some = [&](int, int64_t chunk) {
    zero(layout.codes + chunk * chunk_bytes, layout.codes + (chunk + 1) * chunk_bytes);
    const int64_t last = std::min(layout.queries, (chunk + 1) * kPackedAtOnce);
    for (int64_t i = chunk * kPackedAtOnce; i < last; ++i) {
      const Query& query = *requests[static_cast<size_t>(i)].query;
      const QuantizedQuery quantized = quantize_for_batch(query);
      const auto pack_codes = layout.columns ? &pack_columns : &pack_fragments;
      pack_codes(quantized.codes, i, part.dims, staging_.as<int8_t>(layout.codes));
      std::memcpy(staging_.as<float>(layout.vectors) + i * part.dims, query.vector.data(),
                  static_cast<size_t>(part.dims) * 4);
      parameters[i] = {quantized.bound, query.norm_squared};
    }
  };
  const auto threads = static_cast<int>(std::clamp<int64_t>(layout.queries / kPackedPerThread, 1, 16));
  ThreadPool::instance().run(std::min(threads, usable_cores()), layout.padded / kPackedAtOnce, pack_some);
  for (int64_t i = layout.queries; i < layout.padded; ++i) parameters[i] = {{1, 1, 1}, 1};
  return {};
}

// Polls, so that an interrupt is noticed, and sleeps between polls of a long round.
Status BatchSearch::wait(const InterruptCheck& interrupted) {
  const Timer timer;
  InterruptPoll poll(interrupted);
  while (true) {
    const cudaError_t state = cudaStreamQuery(stream_.get());
    if (state == cudaSuccess) break;
    if (state != cudaErrorNotReady) return cuda_failure(state, "scanning a batch");
    const double waited_us = timer.microseconds();
    // Takes effect when the round has finished.
    if (waited_us > kUsBeforeInterrupts) static_cast<void>(poll.stop());
    if (waited_us > kUsOfSpinning) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return poll.stopped() ? Status(interrupted_error()) : Status();
}

// Fills scan_ in for this round.
void BatchSearch::describe(const DevicePart& part, const Layout& layout, const BatchPlan& plan,
                           int64_t top_rows) {
  scan_.part = part;
  scan_.tiles = static_cast<int32_t>(tile_count(part.rows));
  scan_.groups = static_cast<int32_t>(component_groups(part.dims));
  scan_.steps = static_cast<int32_t>(matrix_steps(part.dims));
  const auto* const codes = device_.as<int8_t>(layout.codes);
  scan_.fragments = layout.columns ? nullptr : codes;
  scan_.columns = layout.columns ? codes : nullptr;
  scan_.query_vectors = device_.as<float>(layout.vectors);
  scan_.parameters = device_.as<BatchQuery>(layout.parameters);
  scan_.queries = static_cast<int32_t>(layout.queries);
  scan_.padded_queries = static_cast<int32_t>(layout.padded);
  scan_.top_rows = static_cast<int32_t>(top_rows);
  scan_.sample_tiles = static_cast<int32_t>(plan.sample_tiles);
  scan_.sample_groups = static_cast<int32_t>(layout.sample_groups);
  scan_.sample_best = device_.as<float>(layout.sample_best);
  scan_.thresholds = device_.as<float>(layout.thresholds);
  scan_.list_sizes = device_.as<uint32_t>(layout.sizes);
  scan_.lists = device_.as<ListedRow>(layout.lists);
  scan_.list_capacity = static_cast<uint32_t>(plan.list_capacity);
  scan_.answer_capacity = static_cast<uint32_t>(layout.answer_capacity);
  const auto place = [&](std::byte* answers) {
    return AnswerArrays{reinterpret_cast<int32_t*>(answers + layout.answer_sizes),
                        reinterpret_cast<int32_t*>(answers + layout.answer_ids),
                        reinterpret_cast<double*>(answers + layout.answer_similarities)};
  };
  answers_ = place(answer_.data());
  scan_.answers = layout.copied_back ? place(device_.data() + layout.answers) : answers_;
}

// Enqueues all steps of a round on the stream, one after another.
Status BatchSearch::launch(const Layout& layout, const BatchShape& shape) {
  const cudaStream_t stream = stream_.get();
  const auto record = [&](int i) { return cuda_status(cudaEventRecord(events_[i].get(), stream), "timing"); };
  GLOVE_RETURN_IF_ERROR(
      cuda_status(cudaMemcpyAsync(device_.data(), staging_.data(), static_cast<size_t>(layout.copied),
                                  cudaMemcpyHostToDevice, stream),
                  "copying queries"));
  GLOVE_RETURN_IF_ERROR(record(0));
  GLOVE_RETURN_IF_ERROR(cuda_status(launch_batch_thresholds(scan_, shape, stream), "launching a batch"));
  GLOVE_RETURN_IF_ERROR(record(1));
  const int32_t first_lists_end = scan_.tiles / 4;
  GLOVE_RETURN_IF_ERROR(
      cuda_status(launch_batch_lists(scan_, 0, first_lists_end, shape, stream), "launching a batch"));
  GLOVE_RETURN_IF_ERROR(cuda_status(launch_batch_tighten(scan_, stream), "launching a batch"));
  GLOVE_RETURN_IF_ERROR(cuda_status(launch_batch_lists(scan_, first_lists_end, scan_.tiles, shape, stream),
                                    "launching a batch"));
  GLOVE_RETURN_IF_ERROR(record(2));
  GLOVE_RETURN_IF_ERROR(cuda_status(launch_batch_answers(scan_, stream), "launching a batch"));
  if (layout.copied_back)
    GLOVE_RETURN_IF_ERROR(
        cuda_status(cudaMemcpyAsync(answer_.data(), device_.data() + layout.answers,
                                    static_cast<size_t>(layout.answer_bytes), cudaMemcpyDeviceToHost, stream),
                    "copying answers"));
  return record(3);
}

Status BatchSearch::round(const DevicePart& part, const BatchShape& shape, const BatchPlan& plan,
                          std::span<SearchRequest> requests, int64_t top_rows,
                          const InterruptCheck& interrupted) {
  const Timer timer;
  const Layout layout(part, shape, plan, static_cast<int64_t>(requests.size()), top_rows);
  GLOVE_RETURN_IF_ERROR(reserve(layout));
  GLOVE_RETURN_IF_ERROR(pack(part, layout, requests));
  describe(part, layout, plan, top_rows);
  GLOVE_RETURN_IF_ERROR(launch(layout, shape));
  GLOVE_RETURN_IF_ERROR(wait(interrupted));

  const double select_us = microseconds_between(events_[0], events_[1]);
  const double rescore_us = microseconds_between(events_[2], events_[3]);
  const double wall_us = timer.microseconds();
  ScanCost cost;
  cost.select_us = select_us;
  cost.rescore_us = rescore_us;
  cost.scan_us = std::max(0.0, wall_us - select_us - rescore_us);  // including packing, copying and launching
  cost.rows_scanned = part.rows * layout.queries;
  const int64_t row_bytes = component_groups(part.dims) * kTileComponents + 8;
  cost.bytes_scanned = (scan_.tiles + plan.sample_tiles) * kTileRows * row_bytes;
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
    request.rows.push_back({answers_.ids[i], with_similarities ? answers_.similarities[i] : kNoSimilarity});
  request.cost.candidates += static_cast<int64_t>(size);
}

Status BatchSearch::run(const DevicePart& part, const BatchShape& shape, const BatchPlan& plan,
                        std::span<SearchRequest> requests, int64_t top_rows,
                        const InterruptCheck& interrupted, std::vector<size_t>& again) {
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
