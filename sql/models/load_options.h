// The options argument of glove_load and glove_load_table: a JSON object.
#pragma once

#include <optional>
#include <string_view>

#include "base/status.h"
#include "loader/open.h"

namespace glove::sql {

// What is loaded. Some options apply only to files.
enum class LoadSource { kFile, kTable };

// Parses the options, which have their defaults if there is no text. They are:
//
// option      applies to   value          meaning
// dims        encoder      1 to 65536     the first dimensions of its vectors; default: all
// document_prompt, query_prompt, prompt
//             encoder      a text         before each row's text, each query, or both; default: the model's
// file        encoder      a path         the network below the folder; default: onnx/model.onnx
// old         encoder      true, false    accepts a library whose checks of model files are weaker
// metric      table        cosine, dot, l2
//                                         how the rows are compared; default: cosine
// format      file         a format name  the format of the file; default: detect it
// frequencies file         a path         how often words occur, for the weights of texts; default: unknown
// encoding    file         a name         of the words, which are converted to UTF-8; default: they are UTF-8
// invalid     file         skip, error    what becomes of rows that are no word and vector; default: error
// invalid_utf8 file        replace, skip, keep
//                                         what becomes of words that are not UTF-8; default: replace
// top         file         a number       keeps the first words; default: all
// tensor      file         a name         the tensor of a safetensors file; default: its only matrix
// threads     file, table  0 to 1024      for parsing and encoding; 0 (default): all usable cores
// verify      file         true, false    checks all checksums and invariants of a model file; default: false
// vocabulary  file         a path         the word list of a format without words; default: one beside it
//
// It is an error if `json` is not a JSON object, an option is unknown, or a value is invalid; the message
// begins with `function`, names the offender, and lists what is allowed.
Result<OpenOptions> parse_load_options(std::optional<std::string_view> json, LoadSource source,
                                       std::string_view function);

}  // namespace glove::sql
