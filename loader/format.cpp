#include "loader/format.h"

#include <algorithm>
#include <iterator>

#include "loader/formats/formats.h"

namespace glove {
namespace {

// The order matters: a format whose sniff asks for more stands before one that asks for less.
constexpr Format kFormats[] = {
    {"glove-model", "a model file of glove-convert", sniff_glove_model, open_glove_model},
    {"safetensors", "a matrix in a safetensors file, and a word list", sniff_safetensors, open_safetensors},
    {"numpy", "a matrix in a .npy file, and a word list", sniff_numpy, open_numpy},
    {"word2vec-binary", "word2vec binary", sniff_word2vec_binary, open_word2vec_binary},
    {"word2vec-text", "word2vec text, fastText .vec: a header, then word v1 ... vd", sniff_word2vec_text,
     open_word2vec_text},
    {"norm-text", "text: word norm v1 ... vd", sniff_norm_text, open_norm_text},
    {"glove-text", "GloVe text: word v1 ... vd", sniff_glove_text, open_glove_text},
    {"norm-binary", "float32: norm v1 ... vd for each word of a word list", sniff_norm_binary,
     open_norm_binary},
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
