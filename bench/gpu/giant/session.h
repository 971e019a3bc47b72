// A model that is open on the engine of tests/gpu/cuda_support.h, and what its searches take.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "bench/gpu/giant/check.h"
#include "bench/gpu/giant/line.h"
#include "search/model_searchers.h"
#include "tests/gpu/cuda_support.h"

namespace glove::bench {

// Changes a setting; exits on an error.
void set(const std::string& key, const std::string& value);

// Returns the value, or exits with the error's message.
template <class T>
T value_or_exit(Result<T> result) {
  if (result.ok()) return std::move(result).value();
  std::fprintf(stderr, "%s\n", result.error().message.c_str());
  std::exit(1);
}

// Free bytes of each device.
std::vector<int64_t> free_bytes();

// Private memory of the process, without the rows.
int64_t private_bytes();

struct Session {
  explicit Session(const ModelPtr& model)
      : searchers(std::make_shared<ModelSearchers>(testing::engine(), model)) {}

  const Model& model() const { return *searchers->model(); }
  SearcherInfo info() const { return searchers->info(0); }

  // Searches for the queries together; exits on an error.
  Answers ask(std::span<const Query> queries, int64_t k, const std::string& backend = "cuda",
              SearchReport* report = nullptr) const;

  // Asks until everything that will be uploaded is on the devices.
  void settle(const Query& query) const;

  // Returns how many answers differ from the true ones: rows, order or bits. One by one, or all together.
  int64_t different(std::span<const Query> queries, const Truth& truth, int64_t k, bool together,
                    const std::string& backend = "cuda") const;

  ModelSearchersPtr searchers;
};

// Returns how many answers differ from the first k rows of the true ones.
int64_t count_different(const Answers& answers, const Truth& truth, int64_t k);

// Adds key_us, key_us_p10, _p90 and _p99 of single queries, one after another for about `seconds`.
void time_single(const Session& session, std::span<const Query> queries, int64_t k, double seconds,
                 Line& line);

// Adds the same of all queries together.
void time_batch(const Session& session, std::span<const Query> queries, int64_t k, double seconds,
                Line& line);

// Adds single queries per second and their latency, of `count` threads that ask all the time.
void time_connections(const Session& session, std::span<const Query> queries, size_t count, double seconds,
                      Line& line);

// Prints the time and rate of uploads to the first `devices` devices side by side: first what a scan reads,
// and then everything.
void time_upload(const ModelPtr& model, int devices);

}  // namespace glove::bench
