#include "loader/format.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "base/concat.h"
#include "loader/formats/formats.h"
#include "loader/formats/text.h"

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
    {"fasttext", "a model of fastText, .bin", false, false, sniff_fasttext, open_fasttext},
    {"word2vec-binary", "word2vec binary", false, false, sniff_word2vec_binary, open_word2vec_binary},
    {"word2vec-text", "word2vec text, fastText .vec: a header, then word v1 ... vd", false, false,
     sniff_word2vec_text, open_word2vec_text},
    {"text-matrix", "text: v1 ... vd, and a word list", true, false, sniff_text_matrix, open_text_matrix},
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

// Files of other programs that people try to load, and what makes something of them that can be read.
struct Foreign {
  size_t offset;
  std::string_view magic;
  const char* what;
};

constexpr const char* kUnpack = "an archive; unpack it and load the file of vectors in it";
constexpr const char* kTable =
    "a table or database; write a word, then its numbers separated by spaces or tabs, on each line (or read "
    "it into SQLite, and use glove_load_table)";
constexpr size_t kAfterSpace = SIZE_MAX;
constexpr const char* kPage = "a page of HTML or XML and not the file that was meant; download that";
constexpr const char* kJson = "JSON; write a word, then its numbers separated by spaces, on each line";
constexpr const char* kUtf16 = "text in UTF-16; convert it with iconv -f UTF-16 -t UTF-8";
constexpr const char* kPickle =
    "a pickle of Python; save the vectors as another format, such as gensim's "
    "KeyedVectors.load(PATH).save_word2vec_format('vectors.bin', binary=True), or use "
    "sqlite_glove.load_gensim(conn, KeyedVectors.load(PATH))";

constexpr Foreign kForeign[] = {
    {257, "ustar", kUnpack},
    {0, "7z\xBC\xAF\x27\x1C", kUnpack},
    {0, "Rar!", kUnpack},
    {0, "LZIP", kUnpack},
    {0, "\x04\x22\x4D\x18", kUnpack},  // lz4
    {0, "\x1F\x9D", kUnpack},          // compress
    {0, "\x80\x02", kPickle},
    {0, "\x80\x03", kPickle},
    {0, "\x80\x04", kPickle},
    {0, "\x80\x05", kPickle},
    {0, "GGUF", "GGUF, a language model; load a file of embeddings, or an ONNX folder as a neural encoder"},
    {0, "PAR1", kTable},
    {0, "ARROW1", kTable},
    {0, "SQLite format 3", kTable},
    {0, "\x89HDF", "HDF5; save the matrix with numpy.save(), and put the words beside it"},
    {0, "\xFF\xFE", kUtf16},
    {0, "\xFE\xFF", kUtf16},
    {kAfterSpace, "<!", kPage},
    {kAfterSpace, "<html", kPage},
    {kAfterSpace, "<HTML", kPage},
    {kAfterSpace, "<?xml", kPage},
    {kAfterSpace, "{", kJson},
    {kAfterSpace, "[", kJson}};

// Whether fields of numbers are separated by commas or semicolons.
bool is_csv(const Input& input) {
  const auto lines = sample_lines(input);
  if (!lines.ok() || lines.value().empty()) return false;
  const std::string_view line = lines.value().back();
  const size_t comma = line.find_last_of(",;");
  return comma != std::string_view::npos && trailing_numbers(concat("word ", line.substr(comma + 1))) == 1;
}

// Returns what the file is. `sure`: only by magic that no text or matrix begins with.
const char* foreign(const Input& input, bool sure) {
  const std::string_view head = input.sample();
  const size_t indent = std::min(head.find_first_not_of(" \t\r\n"), head.size());
  for (const Foreign& foreign : kForeign) {
    const size_t offset = foreign.offset == kAfterSpace ? indent : foreign.offset;
    const bool is_sure =
        foreign.magic.size() >= 4 && foreign.magic.find_first_of("\xB5\xBC\xFD") != head.npos;
    if (head.size() > offset && head.substr(offset).starts_with(foreign.magic) && (is_sure || !sure))
      return foreign.what;
  }
  return !sure && is_csv(input) ? kTable : nullptr;
}

Error unknown_format(const Input& input) {
  if (is_lfs_pointer(input.sample())) return lfs_pointer_error(input.path());
  if (const char* const what = foreign(input, false)) return corrupt_file(input.path(), "the file is ", what);
  return corrupt_file(input.path(), "offset 0: the content is of no known format (", format_names(), ")");
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
  return corrupt_file(path,
                      "the file is a pointer of Git LFS and not the content; run "
                      "'git lfs pull' in its repository");
}

std::span<const Format> formats() {
  return kFormats;
}

Result<const Format*> find_format(const Input& input, const ReadOptions& options) {
  const Format* format = nullptr;
  if (options.format.empty()) {
    if (foreign(input, true) != nullptr) return unknown_format(input);
    GLOVE_ASSIGN_OR_RETURN(format, find_by_content(input, options));
    if (format == nullptr) return unknown_format(input);
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
