// The file formats that can be read: one row per format in the table of format.cpp, one file per format in
// formats/.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "base/status.h"
#include "loader/input.h"
#include "loader/read_options.h"
#include "loader/row_reader.h"

namespace glove {

struct Format {
  std::string_view name;         // its name for --format
  std::string_view description;  // one line for --help
  bool takes_words;              // the ReadOptions that it accepts; find_format() rejects the others
  bool takes_tensor;
  // Returns true if the input looks like this format. Called in the table's order, and the first format that
  // returns true is used. An error, such as an interrupt, means that this could not be determined.
  using Sniff = Result<bool>(const Input& input, const ReadOptions& options);
  using Open = Result<std::unique_ptr<RowReader>>(const Input& input, const ReadOptions& options);
  Sniff* sniff;
  Open* open;
};

// Whether a file with these first bytes is a pointer of Git LFS, and the error for one.
bool is_lfs_pointer(std::string_view head);
Error lfs_pointer_error(const std::string& path);

// Returns every format, in the order in which find_format() tries them.
std::span<const Format> formats();

// Returns the format that options.format names, or the one that the content matches. Errors list the formats,
// or name the option that the format does not accept.
Result<const Format*> find_format(const Input& input, const ReadOptions& options);

}  // namespace glove
