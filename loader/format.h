// The file formats that can be read: one row a format in the table of format.cpp, one file a
// format in formats/.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "loader/input.h"
#include "loader/read_options.h"
#include "loader/row_reader.h"

namespace glove {

struct Format {
  std::string_view name;         // as --format takes it
  std::string_view description;  // one line for --help
  bool takes_words;              // which ReadOptions have a meaning for it; find_format() refuses the others
  bool takes_tensor;
  // Whether the input looks like this format. Called in the table's order; the first that says yes reads.
  // An error, such as an interrupt, says that it could not be found out.
  Result<bool> (*sniff)(const Input& input, const ReadOptions& options);
  Result<std::unique_ptr<RowReader>> (*open)(const Input& input, const ReadOptions& options);
};

// Every format, in the order in which find_format() asks them.
std::span<const Format> formats();

// The format that options.format names, or that the content shows. Errors list the formats there are, or name
// the option that the format has no use for.
Result<const Format*> find_format(const Input& input, const ReadOptions& options);

}  // namespace glove
