// The functions behind the table of format.cpp; each pair lives in the file of its name.
#pragma once

#include <memory>

#include "loader/format.h"

namespace glove {

bool sniff_glove_text(const Input& input, const ReadOptions& options);
Result<std::unique_ptr<RowReader>> open_glove_text(const Input& input, const ReadOptions& options);

}  // namespace glove
