// What the caller says about a file beyond its path.
#pragma once

#include <string>

namespace glove {

struct ReadOptions {
  std::string format;      // a name of the table of format.cpp; empty: found by content
  std::string words_path;  // the word list of formats that keep it apart; empty: a neighbour of the file
  std::string tensor;      // the tensor of a safetensors file; empty: its only matrix
};

}  // namespace glove
