// The answers by definition: a plain kernel scores every row in double. Shares no code with the searches.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>
#include <vector>

#include "model/model.h"
#include "search/query.h"

namespace glove::bench {

struct CheckedRow {
  int64_t row;
  double similarity;
};

// The arguments of the kernel, with addresses of device memory.
struct CheckParams {
  const float* vectors;  // [rows, dims]
  int64_t first_row;
  int64_t rows;
  int32_t dims;
  int32_t queries;           // a multiple of kCheckedTogether
  const double* components;  // [queries, dims]
  const double* thresholds;  // [queries]: rows below are not listed
  const double* norms;       // [queries], D(q, q)
  CheckedRow* lists;         // [queries, capacity]
  uint32_t* sizes;           // [queries], zero before; also counts rows that do not fit
  uint32_t capacity;
};
constexpr int kCheckedTogether = 4;

// Lists the rows whose similarities are not below the thresholds.
cudaError_t launch_check(const CheckParams& check, cudaStream_t stream);

// The best k rows of each query, in the relation's order and without excluded rows, among the first ends[i]
// rows of the model: [ends][queries]. Reads the vectors from the host's memory, on the first `devices`
// devices. Exits on an error. REQUIRES: ends rises; a query excludes at most one row.
using Truth = std::vector<std::vector<Neighbor>>;
std::vector<Truth> check_rows(const Model& model, std::span<const Query> queries, size_t k,
                              std::span<const int64_t> ends, int devices);

}  // namespace glove::bench
