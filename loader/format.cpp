#include "loader/format.h"

#include <algorithm>
#include <iterator>

#include "loader/formats/formats.h"

namespace glove {
namespace {

// The order matters: a format whose sniff asks for more stands before one that asks for less.
constexpr Format kFormats[] = {
    {"glove-text", "GloVe text: word v1 ... vd", sniff_glove_text, open_glove_text},
};

std::string format_names() {
  std::string names;
  for (const Format& format : kFormats) names += (names.empty() ? "" : ", ") + std::string(format.name);
  return names;
}

}  // namespace

std::span<const Format> formats() {
  return kFormats;
}

Result<const Format*> find_format(const Input& input, const ReadOptions& options) {
  if (!options.format.empty()) {
    const auto* const named =
        std::find_if(std::begin(kFormats), std::end(kFormats),
                     [&](const Format& format) { return format.name == options.format; });
    if (named != std::end(kFormats)) return named;
    return Error{ErrorCode::kInvalidArgument,
                 "there is no format '" + options.format + "'; there are " + format_names()};
  }
  for (const Format& format : kFormats)
    if (format.sniff(input, options)) return &format;
  return Error{ErrorCode::kCorrupt,
               input.path() + ": offset 0: the content is of no known format (" + format_names() + ")"};
}

}  // namespace glove
