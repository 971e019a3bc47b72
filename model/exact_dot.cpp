#include "model/exact_dot.h"

namespace glove {

double exact_dot(const float* a, const float* b, int64_t dims) {
  double p[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  int64_t j = 0;
  for (; j + 8 <= dims; j += 8)
    for (int l = 0; l < 8; ++l) p[l] += static_cast<double>(a[j + l]) * static_cast<double>(b[j + l]);
  for (int l = 0; j < dims; ++j, ++l) p[l] += static_cast<double>(a[j]) * static_cast<double>(b[j]);
  return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
}

}  // namespace glove
