// What the caller specifies about a file in addition to its path, and how long-running work reports its
// progress.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "model/model_assembler.h"
#include "model/stored_tokenizer.h"

namespace glove {

// Parses a tokenizer.json. `source`, its path, begins the messages. text/ has the only one, read_tokenizer(),
// which loader/ may not include.
using TokenizerReader = std::function<Result<TokenizerContent>(
    const std::string& source, std::string_view json, const InterruptCheck& interrupted)>;

// Called from time to time while a file is read, only on the calling thread. It only reports; an
// InterruptCheck stops the work.
using ProgressCallback = std::function<void(int64_t bytes_done, int64_t bytes_total)>;

// How to read a file.
struct ReadOptions {
  std::string format;  // a name from the table in format.cpp; if empty, found from the content
  // the word list, for formats with a separate one; if empty, a file next to the input
  std::string words_path;
  bool skip_invalid = false;  // leaves out rows that would be errors (docs/format.md)
  std::string encoding;       // of the words, for system_calls::recode(); if empty, UTF-8
  InvalidUtf8 invalid_utf8 = InvalidUtf8::kReplace;
  std::string tensor;              // the tensor of a safetensors file; if empty, its only matrix
  TokenizerReader read_tokenizer;  // required for static embedding models; if empty, they are an error
};

}  // namespace glove
