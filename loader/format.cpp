#include "loader/format.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "base/concat.h"
#include "base/utf8.h"
#include "loader/formats/formats.h"

namespace glove {
namespace {

// The order matters: stricter formats come before more permissive ones.
constexpr Format kFormats[] = {
    {"glove-model", "a model file of glove-convert", false, false, sniff_glove_model, open_glove_model},
    {"glove-shards", "an index of shards that glove-convert has written", false, false, sniff_glove_shards,
     open_glove_shards},
    {"static-model",
     "a static embedding model (model2vec, sentence-transformers): a folder, or its model.safetensors", false,
     false, sniff_static_model, open_static_model},
    {"safetensors", "a matrix in a safetensors file, and a word list", true, true, sniff_safetensors,
     open_safetensors},
    {"numpy", "a matrix in a .npy file, and a word list", true, false, sniff_numpy, open_numpy},
    {"word2vec-binary", "word2vec binary", false, false, sniff_word2vec_binary, open_word2vec_binary},
    {"word2vec-text", "word2vec text, fastText .vec: a header, then word v1 ... vd", false, false,
     sniff_word2vec_text, open_word2vec_text},
    {"norm-text", "text: word norm v1 ... vd", false, false, sniff_norm_text, open_norm_text},
    {"glove-text", "GloVe text: word v1 ... vd", false, false, sniff_glove_text, open_glove_text},
    {"norm-binary", "float32: norm v1 ... vd for each word of a word list", true, false, sniff_norm_binary,
     open_norm_binary},
};

// Returns the names of the formats for which `has` returns true.
template <class Predicate>
std::string format_names(const Predicate& has) {
  std::string names;
  for (const Format& format : kFormats)
    if (has(format)) names += (names.empty() ? "" : ", ") + std::string(format.name);
  return names;
}

std::string format_names() {
  return format_names([](const Format&) { return true; });
}

// Returns null if there is none.
Result<const Format*> find_by_content(const Input& input, const ReadOptions& options) {
  for (const Format& format : kFormats) {
    GLOVE_ASSIGN_OR_RETURN(const bool looks_like_it, format.sniff(input, options));
    if (looks_like_it) return &format;
  }
  return nullptr;
}

// Ignoring an option would be wrong, because the caller expects an effect. It is an error instead.
Status check_options(const std::string& path, const Format& format, const ReadOptions& options) {
  const auto useless = [&](const std::string& option, const std::string& takers) {
    return invalid_argument(path, ": it is read as ", format.name, ", which takes no ", option,
                            "; omit it (it is for ", takers, ")");
  };
  if (!options.words_path.empty() && !format.takes_words)
    return useless("word list (--vocabulary of glove-convert, \"vocabulary\" of glove_load)",
                   format_names([](const Format& other) { return other.takes_words; }));
  if (!options.tensor.empty() && !format.takes_tensor)
    return useless("tensor (--tensor of glove-convert, \"tensor\" of glove_load)",
                   format_names([](const Format& other) { return other.takes_tensor; }));
  return {};
}

}  // namespace

bool is_lfs_pointer(std::string_view head) {
  return head.starts_with("version https://git-lfs.github.com/spec/");
}

Error lfs_pointer_error(const std::string& path) {
  return {ErrorCode::kCorrupt, path +
                                   ": the file is a pointer of Git LFS and not the content; run "
                                   "'git lfs pull' in its repository"};
}

std::span<const Format> formats() {
  return kFormats;
}

Result<const Format*> find_format(const Input& input, const ReadOptions& options) {
  const Format* format = nullptr;
  if (options.format.empty()) {
    GLOVE_ASSIGN_OR_RETURN(format, find_by_content(input, options));
    if (format == nullptr && is_lfs_pointer({input.sample().data(), input.sample().size()}))
      return lfs_pointer_error(input.path());
    if (format == nullptr)
      return Error{ErrorCode::kCorrupt,
                   input.path() + ": offset 0: the content is of no known format (" + format_names() + ")"};
  } else {
    format = std::find_if(std::begin(kFormats), std::end(kFormats),
                          [&](const Format& named) { return named.name == options.format; });
    if (format == std::end(kFormats))
      return invalid_argument("there is no format ", quoted_value(options.format), "; there are ",
                              format_names());
  }
  GLOVE_RETURN_IF_ERROR(check_options(input.path(), *format, options));
  return format;
}

}  // namespace glove
