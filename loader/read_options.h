// What the caller specifies about a file in addition to its path.
#pragma once

#include <string>

namespace glove {

struct ReadOptions {
  std::string format;  // a name from the table in format.cpp; if empty, found from the content
  // the word list, for formats with a separate one; if empty, a file next to the input
  std::string words_path;
  std::string tensor;  // the tensor of a safetensors file; if empty, its only matrix
};

}  // namespace glove
