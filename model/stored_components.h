// The common components of a model's texts, as a model file keeps them.
#pragma once

#include <cstdint>
#include <vector>

namespace glove {

// Common components (text/common_components.h) for weights by Zipf's law, and what they were derived from.
struct StoredComponents {
  double a = 0;       // the parameter of the weights, above 0
  int64_t words = 0;  // of the model that they were derived from, on which the weights depend
  int64_t count = 0;
  std::vector<float> vectors;  // [count, dims], the leading component first
};

}  // namespace glove
