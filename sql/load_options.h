// The options argument of glove_load and glove_load_table: a JSON object.
#pragma once

#include <string_view>

#include "loader/open.h"
#include "base/status.h"

namespace glove::sql {

// What is loaded; not every option fits both.
enum class LoadSource { kFile, kTable };

// option   of           value          meaning
// format   file         a format name  reads the file as this format instead of looking at its content
// tensor   file         a name         the tensor of a safetensors file; default: its only matrix
// threads  file, table  0 .. 1024      for parsing and encoding; 0 (default) = the cores of this process
// verify   file         true, false    checks every checksum and invariant of a model file (default false)
// words    file         a path         the word list of a format that keeps it apart; default: a neighbour
//
// Text that is no JSON object, an unknown option and a wrong value are errors that name it and what there
// is. `function` begins the message.
Result<OpenOptions> parse_load_options(std::string_view json, LoadSource source, std::string_view function);

}  // namespace glove::sql
