// The options argument of glove_load and glove_load_table: a JSON object.
#pragma once

#include <string_view>

#include "loader/open.h"
#include "loader/status.h"

namespace glove::sql {

// option     value           meaning
// verify     true, false     check every checksum and invariant of a model file (default false)
// threads    0 .. 1024       for parsing; 0 (default) = the cores this process may use
// Text that is no JSON object, an unknown option and a wrong value are errors that name it and what
// there is. `function` begins the message.
Result<OpenOptions> parse_load_options(std::string_view json, std::string_view function);

}  // namespace glove::sql
