// What the program glove-convert has the library do. In plain types, because the program of some packages
// calls a glove.so beside it (convert/loaded_task.cpp), which contains a C++ library of its own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/model_assembler.h"

namespace glove {

// What a task has counted.
struct TaskNumbers {
  int64_t rows = 0;
  int64_t dims = 0;
  int64_t bytes = 0;      // of the input (kInfo), or of all that was written
  int64_t zero_rows = 0;  // of kInfo
  int64_t ngram_rows = 0;
};

// The texts and `context` belong to the caller and are only used during the call. No text is null; paths are
// as in base/file_calls.h, and "" is an option that is not set. The options mean what ConvertOptions
// (convert/convert.h) and ReadOptions say.
struct ConvertTask {
  enum class Work : int32_t { kConvert, kVerify, kInfo, kListFormats };
  // What `text` receives: the error; the input's format, and the path that was written or read; of kInfo the
  // words, the metric and the type; of kListFormats each format followed by its description; and of kConvert
  // lines on the rows.
  enum class Text : int32_t {
    kError,
    kFormat,
    kPath,
    kFirstWord,
    kLastWord,
    kDescription,
    kNotes,
    kMetric,
    kType
  };
  static constexpr size_t kTexts = 9;

  Work work = Work::kConvert;
  int32_t threads = 0;
  const char* version = "";  // of the program; a library of another version returns an error
  const char* input = "";
  const char* output = "";
  const char* format = "";
  const char* vocabulary = "";
  const char* tensor = "";
  const char* only_words = "";
  const char* encoding = "";
  struct Vectors {
    const char* metric = "";
    const char* type = "";
    bool normalize = false;
  } vectors;
  InvalidUtf8 invalid_utf8 = InvalidUtf8::kReplace;
  int64_t top = 0;
  int64_t shards = 0;
  int64_t lists = 0;
  bool lower = false;
  bool skip_invalid = false;

  void* context = nullptr;  // for these, which are called on the calling thread
  void (*text)(void* context, Text which, const char* bytes, size_t size) = nullptr;
  void (*progress)(void* context, int64_t done, int64_t total) = nullptr;
  bool (*interrupted)() = nullptr;
  TaskNumbers* numbers = nullptr;
};

// Does the work. Returns false after an error, which it passes to `text`; throws nothing.
using RunTask = bool(const ConvertTask& task);
RunTask run_task;

constexpr const char* kTaskEntry = "glove_convert_entry";
// The function of that name in glove.so, which returns the address of its run_task().
using TaskEntry = RunTask*();

}  // namespace glove
