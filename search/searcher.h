// A model that is open on a backend, and the operations on it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "search/part_reader.h"
#include "search/query.h"

namespace glove {

// The cost of a search. Searchers add to it.
struct ScanCost {
  int64_t rows_scanned = 0;
  int64_t bytes_scanned = 0;  // bytes of the compact copy that were read
  int64_t candidates = 0;
  double scan_us = 0;
  double select_us = 0;
  double rescore_us = 0;
  // What was read of the rows, in turn ("4 bits -> vectors"), and why a wish was not followed; texts of
  // static duration. Of several searches those of the last that has any.
  std::string_view plan = {};
  std::string_view unmet = {};
  int64_t lists_read = 0;    // of an approximate search,
  int64_t lists = 0;         // of so many
  bool approximate = false;  // whether the searcher made use of SearchTerms::recall

  void add(const ScanCost& other);
};

// What a searcher may do for an answer.
struct SearchTerms {
  // The caller's; polled on the thread that called search(). May be null.
  const InterruptCheck* interrupted = nullptr;
  // At most 1. Below it, a searcher may return k rows of which some are not the nearest: on average over the
  // queries that its model was calibrated for, at least this share are (lists/recall_table.h). Their
  // similarities are exact. The rows are the same for every searcher that makes use of it, and a searcher
  // need not.
  double recall = 1;
  // Not null if this reads the codes of those parts of the model that have none in memory. Only the CPU's
  // searcher makes use of it.
  PartReader* reader = nullptr;
};

// One query with everything that belongs to it. A batch is a span of requests.
struct SearchRequest {
  const Query* query = nullptr;  // must outlive the call
  int64_t k = 0;                 // >= 1
  SearchTerms terms;
  // What the request cost. Costs that the requests of a batch share are divided equally among them.
  ScanCost cost;
  // An error that concerns this request only, such as its own interrupt.
  Status status;
  // The first min(k, admissible) rows of the relation, best first. Rows are admissible unless they are zero,
  // in Query::excluded, or not in Query::among. If the model has no vectors (has_vectors(),
  // search/candidates.h), all rows that may be among these, with upper bounds in place of the similarities,
  // the greatest bound first.
  std::vector<Neighbor> rows;
};

// Whether an answer to a request is shorter than that of an undamaged model of so many words.
inline bool lacks_rows(const SearchRequest& request, int64_t words) {
  const Query& query = *request.query;
  const int64_t admissible = query.among != nullptr ? query.among->count() : words;
  return std::ssize(request.rows) < std::min(request.k, admissible - std::ssize(query.excluded));
}

// For glove_models.
struct SearcherInfo {
  std::string state;   // "mapped", "uploading", "resident", "failed: <why>", "not loaded"
  std::string device;  // "AMD EPYC, 2 threads, AVX3_DL", "NVIDIA H200"
  int64_t device_bytes = 0;
};

// Thread-safe: any member may be called at any time, from any thread. Freed, with its resources, when the
// last holder releases it. Ids in answers are the model's row ids, and similarities are exact, so that every
// searcher returns the same rows, bit for bit.
class Searcher {
 public:
  virtual ~Searcher() = default;

  // Answers every request. An error concerns all of them; a failure of one request is in its status.
  // REQUIRES: the float environment; all queries have the same mask (Query::among), or none has one.
  virtual Status search(std::span<SearchRequest> requests) = 0;

  // Sets dots[i] = D(q, x_i) or, for kL2, minus the distance (product_of(), search/candidates.h) for every
  // row i, bit for bit; of a slice, for row Model::first_row() + i. For k close to the model's size.
  // REQUIRES: the float environment; the model has vectors.
  virtual Status score_all(const Query& query, std::span<double> dots, const InterruptCheck& interrupted,
                           ScanCost& cost) = 0;

  virtual SearcherInfo info() const = 0;
};

// Divides the common cost of several requests equally among them.
void charge(std::span<SearchRequest> requests, const ScanCost& shared);

// Combines the interrupts of several requests into one check for the work that they share. Used on one
// thread.
class SharedInterrupt {
 public:
  // The requests must outlive this object.
  explicit SharedInterrupt(std::span<SearchRequest> requests);
  SharedInterrupt(const SharedInterrupt&) = delete;
  SharedInterrupt& operator=(const SharedInterrupt&) = delete;

  // True once every request was interrupted. Sets the status of those that were, so that the others can
  // continue.
  const InterruptCheck& check() const { return *check_; }

 private:
  bool poll();

  std::span<SearchRequest> requests_;
  InterruptCheck own_;
  const InterruptCheck* check_;
};

}  // namespace glove
