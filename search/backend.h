// What a device must do to be searched: propose candidates that are certain to contain
// the answer, and score every row exactly. search/nearest.h does the rest.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel.h"
#include "base/status.h"
#include "model/model.h"
#include "search/neighbor.h"
#include "search/query.h"

namespace glove {

// Rows that may belong to a query's top k.
struct Candidates {
  std::vector<int32_t> ids;  // each once, in any order; the engine sorts what does not come ranked
  // cosine_from_dots of each id, bit for bit, if the backend has rescored, else empty. A row without one
  // (D(x, x) is not above 0, or a damaged file's NaN) has kNoSimilarity or NaN.
  std::vector<double> similarities;
};

// What a scan cost. A backend adds to it; the engine adds its own stages.
struct ScanCost {
  int64_t rows_scanned = 0;
  int64_t bytes_scanned = 0;  // bytes of the compact copy read, all queries together
  int64_t candidates = 0;
  double scan_us = 0;
  double select_us = 0;
  double rescore_us = 0;
};

// Where a model stands with a backend, for glove_models.
struct Residency {
  std::string state;   // "mapped", "uploading", "resident", "failed: <why>", "not loaded"
  std::string device;  // "AMD EPYC, 2 threads, AVX3_DL", "NVIDIA H200"
  int64_t device_bytes = 0;
};

// Thread-safe: any member, any time, from any thread. One object per engine.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string_view name() const = 0;  // "cpu", "cuda": the SQL value

  // Ok if this machine can use it; otherwise why not. Cheap after the first call.
  virtual Status available() = 0;

  // Makes the model ready to scan (maps, uploads) unless it is already. `model` stays alive for as
  // long as the backend keeps anything of it. kInterrupted, and nothing done, if `interrupted` stopped it.
  virtual Status prepare(const ModelPtr& model, const InterruptCheck& interrupted) = 0;

  // For each query, a superset of the k best admissible rows, ties by id included: no row is left out
  // unless k admissible rows are strictly better. Admissible are rows that are neither zero nor in
  // Query::excluded (a backend may ask for k + excluded.size() rows and leave the exclusion
  // to the engine, which drops both). Candidates::ids may therefore hold inadmissible rows.
  // REQUIRES: prepare(model) was ok; 1 <= k; the float environment.
  virtual Result<std::vector<Candidates>> propose(const ModelPtr& model, std::span<const Query> queries,
                                                  int64_t k, const InterruptCheck& interrupted,
                                                  ScanCost& cost) = 0;

  // dots[i] = D(q, x_i) for every row i, bit for bit. For k near the model's size.
  virtual Status score_all(const ModelPtr& model, const Query& query, std::span<double> dots,
                           const InterruptCheck& interrupted, ScanCost& cost) = 0;

  virtual Residency residency(const Model& model) const = 0;

  // Frees what the backend holds of the model; running queries finish first or keep their part alive.
  virtual void release(const Model& model) = 0;
};

}  // namespace glove
