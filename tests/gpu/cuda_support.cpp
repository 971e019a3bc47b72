#include "tests/gpu/cuda_support.h"

#include <map>
#include <mutex>
#include <thread>

#include "base/float_environment.h"
#include "base/thread_pool.h"
#include "cpu/cpu_backend.h"
#include "gpu/backend/cuda_backend.h"
#include "gpu/backend/cuda_device.h"
#include "model/nibbles.h"
#include "tests/search/reference.h"

namespace glove::testing {

namespace {

struct KeptSearchers {
  std::mutex mutex;
  std::map<uint64_t, ModelSearchersPtr> by_model;
};

KeptSearchers& kept() {
  static KeptSearchers* const instance = new KeptSearchers;
  return *instance;
}

}  // namespace

Engine& engine() {
  static Engine* const instance = [] {
    auto* made = new Engine;
    auto cpu = make_cpu_backend();
    made->backends().add(make_cuda_backend(made->settings(), made->log(), cpu.get()));
    made->backends().add(std::move(cpu));
    return made;
  }();
  return *instance;
}

Backend& backend_named(std::string_view name) {
  return *engine().backends().find(name);
}

ModelSearchers& searchers_of(const ModelPtr& model) {
  const std::lock_guard lock(kept().mutex);
  ModelSearchersPtr& searchers = kept().by_model[model->id()];
  if (searchers == nullptr) searchers = std::make_shared<ModelSearchers>(engine(), model);
  return *searchers;
}

void forget(const ModelPtr& model) {
  ModelSearchersPtr gone;  // freed when no lock is held
  const std::lock_guard lock(kept().mutex);
  gone = std::move(kept().by_model[model->id()]);
  kept().by_model.erase(model->id());
}

SearcherInfo info_of(const ModelPtr& model) {
  return searchers_of(model).info(0);
}

std::shared_ptr<gpu::SharedDevice> open_device(int number) {
  auto device = std::make_shared<gpu::SharedDevice>(
      number, [number] { return gpu::open_cuda_device(number); }, [] { return Result<int64_t>(0); });
  const Status status = device->available();
  EXPECT_TRUE(status.ok()) << status.error().message;
  return device;
}

std::shared_ptr<gpu::Arena> arena_of(const std::shared_ptr<gpu::SharedDevice>& device, const ModelPtr& model,
                                     int64_t room) {
  std::shared_ptr<gpu::Arena> arena;
  const auto work = [&]() -> Status {
    GLOVE_ASSIGN_OR_RETURN(arena, gpu::Arena::make(device, model, room, {}));
    return {};
  };
  const Status status = device->in_turn({}, work);
  EXPECT_TRUE(status.ok()) << status.error().message;
  return arena;
}

std::vector<Query> random_queries(std::mt19937_64& random, const Model& model, Rows kind, size_t count) {
  std::vector<Query> queries;
  while (queries.size() < count) {
    if (random() % 2 == 0) {
      const auto row = static_cast<int32_t>(random() % static_cast<uint64_t>(model.words()));
      if (model.norm_squared(row) > 0)
        queries.push_back(query_of({model.vector(row), model.vector(row) + model.dims()}, {row}));
    } else if (Query query = query_of(random_vector(random, model.dims(), kind)); query.norm_squared > 0) {
      queries.push_back(std::move(query));
    }
  }
  return queries;
}

std::vector<std::vector<Neighbor>> rows_by(const std::string& backend, const ModelPtr& model,
                                           const std::vector<Query>& queries, int64_t k,
                                           SearchReport* report) {
  SearchReport own;
  auto rows =
      nearest(searchers_of(model), queries, k, SearchOptions{backend, {}}, report != nullptr ? *report : own);
  EXPECT_TRUE(rows.ok()) << rows.error().message;
  return rows.ok() ? std::move(rows).value() : std::vector<std::vector<Neighbor>>(queries.size());
}

void expect_equal_rows(const ModelPtr& model, const std::vector<Query>& queries, int64_t k) {
  const auto wanted = rows_by("cpu", model, queries, k);
  const auto got = rows_by("cuda", model, queries, k);
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_EQ(difference(got[i], wanted[i]), "")
        << "query " << i << " of " << queries.size() << ", k " << k << ", " << model->words() << " x "
        << model->dims() << ", GLOVE_TEST_SEED=" << test_seed();
}

namespace {

struct HeapArrays {
  std::vector<float> vectors;
  std::vector<double> norms_squared;
  std::vector<int8_t> codes;
  std::vector<float> scales;
  std::vector<float> residuals;
  std::vector<int8_t> nibbles;
  std::vector<float> nibble_scales;
  std::vector<float> nibble_residuals;
  std::vector<char> word_bytes;
  std::vector<int64_t> word_offsets;
  std::vector<int32_t> sorted_ids;
};

// Fills rows [first, last) with about gaussian numbers (sums of four uniform ones) from a separate generator.
void fill_rows(HeapArrays& arrays, uint64_t seed, int64_t first, int64_t last, int64_t dims) {
  const ScopedFloatEnvironment float_environment;
  uint64_t state = seed * 0x9E3779B97F4A7C15u + static_cast<uint64_t>(first) + 1;
  const auto next = [&state] {
    state += 0x9E3779B97F4A7C15u;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  };
  for (int64_t row = first; row < last; ++row) {
    float* x = arrays.vectors.data() + row * dims;
    for (int64_t j = 0; j < dims; ++j) {
      const uint64_t bits = next();
      const auto sum = static_cast<int64_t>((bits & 0xffff) + ((bits >> 16) & 0xffff) +
                                            ((bits >> 32) & 0xffff) + (bits >> 48));
      x[j] = static_cast<float>(sum - 131070) * 1e-5f;
    }
    arrays.norms_squared[static_cast<size_t>(row)] = exact_dot(x, x, dims);
  }
  for (int64_t row = first; row < last; ++row) {
    const auto i = static_cast<size_t>(row);
    quantize_row(arrays.vectors.data() + row * dims, arrays.norms_squared[i], dims,
                 arrays.codes.data() + code_index(row, 0, dims), kTileRows * kTileComponents,
                 arrays.scales[i], arrays.residuals[i]);
    quantize_row_nibbles(arrays.vectors.data() + row * dims, arrays.norms_squared[i], dims,
                         arrays.nibbles.data() + nibble_index(row, 0, dims), kTileRows * kNibbleWordBytes,
                         arrays.nibble_scales[i], arrays.nibble_residuals[i]);
  }
}

}  // namespace

ModelPtr large_model(uint64_t seed, int64_t words, int64_t dims) {
  auto arrays = std::make_shared<HeapArrays>();
  const auto n = static_cast<size_t>(words);
  arrays->vectors.resize(n * static_cast<size_t>(dims));
  arrays->norms_squared.resize(n);
  arrays->codes.resize(static_cast<size_t>(code_bytes(words, dims)));
  arrays->scales.resize(n);
  arrays->residuals.resize(n);
  arrays->nibbles.resize(static_cast<size_t>(nibble_bytes(words, dims)));
  arrays->nibble_scales.resize(n);
  arrays->nibble_residuals.resize(n);
  arrays->word_offsets.resize(n + 1);
  arrays->sorted_ids.resize(n);
  const int64_t threads = usable_cores();
  const int64_t share = (words / threads / kTileRows + 1) * kTileRows;
  std::vector<std::thread> workers;
  for (int64_t first = 0; first < words; first += share)
    workers.emplace_back(
        [&, first] { fill_rows(*arrays, seed, first, std::min(words, first + share), dims); });
  for (std::thread& worker : workers) worker.join();

  ModelPart part;
  part.rows = words;
  part.dims = dims;
  part.vectors = arrays->vectors;
  part.norms_squared = arrays->norms_squared;
  part.levels = {{4, arrays->nibbles, arrays->nibble_scales, arrays->nibble_residuals},
                 {8, arrays->codes, arrays->scales, arrays->residuals}};
  const Vocabulary vocabulary(arrays->word_bytes, arrays->word_offsets, arrays->sorted_ids);
  Model::Source source;
  source.path = "random rows";
  return std::make_shared<Model>(std::vector{part}, vocabulary, source, arrays);
}

}  // namespace glove::testing
