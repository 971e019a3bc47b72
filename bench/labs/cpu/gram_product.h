// y = A^T (A x) of a double matrix, step by step.
#pragma once

#include <cstdint>

namespace glove::labs {

// a [rows, columns], x [columns], y [columns]; dots [rows] is scratch memory.
struct GramProduct {
  const double* a;
  const double* x;
  int64_t rows;
  int64_t columns;
  double* dots;
  double* y;
};

// The lab's: a dot product per row, then a sum per column, which reads A across its rows.
void lab_gram_product(const GramProduct& task);

// The second pass adds rows to y instead, so it reads A in its order.
void two_passes(const GramProduct& task);

// Reads each row once for both products, from memory, and then from the core's cache; a share of the rows per
// thread. Sums eight by eight, as vectors do. The result does not depend on the number of threads.
//   at_once  1 or 4 rows; x and y are read and written once for all of them
//   ahead    brings the next rows into the cache during the second product, which reads no memory itself
void fused_gram_product(const GramProduct& task, int threads, int at_once, bool ahead);

}  // namespace glove::labs
