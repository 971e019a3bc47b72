// A model that is open on a backend, and what may be asked of it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/status.h"
#include "search/neighbor.h"
#include "search/query.h"

namespace glove {

// What a search cost. Searchers add to it.
struct ScanCost {
  int64_t rows_scanned = 0;
  int64_t bytes_scanned = 0;  // bytes of the compact copy that were read
  int64_t candidates = 0;
  double scan_us = 0;
  double select_us = 0;
  double rescore_us = 0;

  void add(const ScanCost& other);
};

// One query with all that belongs to it; a batch is a span of these.
struct SearchRequest {
  const Query* query = nullptr;                 // outlives the call
  int64_t k = 0;                                // >= 1
  const InterruptCheck* interrupted = nullptr;  // of the caller who asked; polled on the thread that called
                                                // search(). May be null.
  // What the request cost. What the requests of a batch share is divided equally among them.
  ScanCost cost;
  // Whether this request failed where the others need not, as by its own interrupt.
  Status status;
  // The first min(k, admissible) rows of the relation, best first. Admissible rows are neither zero nor in
  // Query::excluded.
  std::vector<Neighbor> rows;
};

// For glove_models.
struct SearcherInfo {
  std::string state;   // "mapped", "uploading", "resident", "failed: <why>", "not loaded"
  std::string device;  // "AMD EPYC, 2 threads, AVX3_DL", "NVIDIA H200"
  int64_t device_bytes = 0;
};

// Thread-safe: any member may be called at any time, from any thread. Frees what it holds when the last
// holder drops it. Ids in answers are the model's row ids, and similarities are exact, so that every searcher
// gives the same rows, bit for bit.
class Searcher {
 public:
  virtual ~Searcher() = default;

  // Answers every request. An error concerns all of them; one request's own failure is in its status.
  // REQUIRES: the float environment.
  virtual Status search(std::span<SearchRequest> requests) = 0;

  // dots[i] = D(q, x_i) for every row i, bit for bit. For k near the model's size. REQUIRES: the float
  // environment.
  virtual Status score_all(const Query& query, std::span<double> dots, const InterruptCheck& interrupted,
                           ScanCost& cost) = 0;

  virtual SearcherInfo info() const = 0;
};

// Divides what several requests cost together equally among them.
void charge(std::span<SearchRequest> requests, const ScanCost& shared);

// The interrupts of several requests as one check for the work that they share. Used on one thread.
class SharedInterrupt {
 public:
  // The requests outlive this object.
  explicit SharedInterrupt(std::span<SearchRequest> requests);
  SharedInterrupt(const SharedInterrupt&) = delete;
  SharedInterrupt& operator=(const SharedInterrupt&) = delete;

  // True when every request was interrupted. Sets the status of those that were, so that the others go on.
  const InterruptCheck& check() const { return *check_; }

 private:
  bool poll();

  std::span<SearchRequest> requests_;
  InterruptCheck own_;
  const InterruptCheck* check_;
};

}  // namespace glove
