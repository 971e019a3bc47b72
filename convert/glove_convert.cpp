// glove-convert: converts any word-embedding file to a model file.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/concat.h"
#include "base/file.h"
#include "base/system_calls.h"
#include "base/timer.h"
#include "convert/lists.h"
#include "convert/progress_display.h"
#include "convert/task.h"
#include "glove_version.h"
#include "loader/shard.h"

namespace {

constexpr const char* kVersion = GLOVE_VERSION " (" GLOVE_GIT_DESCRIBE ")";

enum ExitCode { kSuccess = 0, kFailure = 1, kUsage = 2 };

using glove::ConvertTask;
using Text = ConvertTask::Text;

struct Arguments {
  std::string input;
  std::string output;
  std::string format;
  std::string vocabulary;
  std::string tensor;
  std::string only_words;
  std::string encoding;
  std::string metric;
  std::string type;
  bool quiet = false;
  bool verify = false;
  bool info = false;
  ConvertTask task;  // with the numbers and flags of its options
};

// What a task has passed to its caller, who may be shown its progress.
struct Told {
  std::array<std::string, ConvertTask::kTexts> texts;
  glove::TaskNumbers numbers;
  glove::ProgressDisplay* display = nullptr;

  const std::string& text(Text which) const { return texts[static_cast<size_t>(which)]; }
};

// Makes text that may contain bytes of a file, or a name that others chose, safe for a terminal.
std::string printable(std::string_view text) {
  return glove::escaped(text, text.size());
}

std::string file_name(const std::string& path) {
  return printable(glove::file_name_of(path));
}

template <class... Pieces>
void print(std::FILE* file, const Pieces&... pieces) {
  std::fputs(glove::concat(pieces...).c_str(), file);
}

int fail(const std::string& message) {
  print(stderr, "glove-convert: ", printable(message), "\n");
  return kFailure;
}

std::string footer() {
  std::string text = "Formats, detected by content:\n";
  ConvertTask task;
  task.work = ConvertTask::Work::kListFormats;
  task.version = kVersion;
  task.context = &text;
  task.text = [](void* context, Text which, const char* bytes, size_t size) {
    const std::string_view told(bytes, size);
    *static_cast<std::string*>(context) += which == Text::kFormat
                                               ? glove::format("  %-16.*s ", static_cast<int>(size), bytes)
                                               : glove::concat(told, "\n");
  };
  glove::run_task(task);
  return text + R"(
Each may be compressed with gzip, bzip2, xz, zstd or zip; archive.zip/member names one file of an archive that has several. IN
and OUT must be regular files; pipes, and - for standard input or output, are not supported.

Examples:
  glove-convert glove.6B.100d.txt glove.safetensors
  glove-convert glove.6B.zip/glove.6B.300d.txt glove-300.safetensors --top 100000
  glove-convert vectors.npy vectors.safetensors --vocabulary words.txt
  glove-convert glove.6B.100d.txt glove.safetensors --shards 3
  glove-convert --verify glove.safetensors
  glove-convert --info glove.safetensors

Exit status: 0 success, 1 failure (one line on standard error says why; OUT is unchanged), 2 invalid arguments.)";
}

int64_t read_lists(const std::string& text) {
  if (text == "auto") return glove::kAutoLists;
  if (text == "none") return 0;
  int64_t lists = 0;
  if (!CLI::detail::lexical_cast(text, lists) || lists < 1 || lists > glove::kMaxLists)
    throw CLI::ValidationError(
        "--lists",
        glove::concat("'", printable(text), "' is not auto, none or a number from 1 to ", glove::kMaxLists));
  return lists;
}

// The options that say how IN is read.
void describe_reading(CLI::App& app, Arguments& arguments) {
  app.add_option("--format", arguments.format, "Read IN as this format, and do not detect it by content");
  app.add_option("--vocabulary", arguments.vocabulary,
                 "The words of IN, one per line, if IN contains only vectors")
      ->type_name("FILE");
  app.add_flag("--skip-invalid", arguments.task.skip_invalid,
               "Leave out rows that are no word and vector, and say how many and where");
  app.add_option_function<std::string>(
         "--invalid-utf8",
         [&arguments](const std::string& fate) {
           using glove::InvalidUtf8;
           arguments.task.invalid_utf8 = fate == "skip"   ? InvalidUtf8::kSkip
                                         : fate == "keep" ? InvalidUtf8::kKeep
                                                          : InvalidUtf8::kReplace;
         },
         "What becomes of words that are not UTF-8: U+FFFD for each invalid byte (replace, the default), "
         "nothing (skip), or the same bytes (keep)")
      ->type_name("replace|skip|keep")
      ->check(CLI::IsMember({"replace", "skip", "keep"}));
  app.add_option("--encoding", arguments.encoding,
                 "Convert the words from this encoding, such as latin1 or gbk")
      ->type_name("NAME");
  app.add_option("--tensor", arguments.tensor, "The tensor of a safetensors file that holds the vectors")
      ->type_name("NAME");
}

void describe_arguments(CLI::App& app, Arguments& arguments) {
  app.add_option("IN", arguments.input, "The file to read: any format below")->required();
  CLI::Option* const output =
      app.add_option("OUT", arguments.output, "The model file to write, such as glove.safetensors");
  describe_reading(app, arguments);
  app.add_option("--top", arguments.task.top,
                 "Keep the first N words, which are the most frequent in most files")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, INT64_MAX))
      ->needs(output);
  app.add_option("--only-words", arguments.only_words, "Keep only the words in this list, one per line")
      ->type_name("FILE")
      ->needs(output);
  app.add_flag("--lower", arguments.task.lower,
               "Change A-Z in words to a-z; of words that become equal, keep the first")
      ->needs(output);
  app.add_flag("--normalize", arguments.task.vectors.normalize, "Divide each vector by its length")
      ->needs(output);
  app.add_option(
         "--metric", arguments.metric,
         "Compare the words by angles, inner products or Euclidean distances; default: as IN does, or cosine")
      ->type_name("cosine|dot|l2")
      ->check(CLI::IsMember({"cosine", "dot", "l2"}))
      ->needs(output);
  app.add_option("--type", arguments.type,
                 "Round the vectors to this type, of 4, 2, 2 or 1 bytes per number; int8 requires integers; "
                 "default: float32")
      ->type_name("float32|float16|bfloat16|int8")
      ->check(CLI::IsMember({"float32", "float16", "bfloat16", "int8"}))
      ->needs(output);
  app.add_option("--shards", arguments.task.shards,
                 "Write N files OUT-00001-of-0000N.safetensors with a part of the words each, and the index "
                 "OUT.safetensors.index.json, which opens as one model")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, glove::kMaxShards))
      ->needs(output);
  app.add_option_function<std::string>(
         "--lists", [&arguments](const std::string& text) { arguments.task.lists = read_lists(text); },
         "Put the words into N lists around centroids, so that a search reads half the bytes where the model "
         "is "
         "larger than the caches; auto chooses N for models of 100,000 words and more")
      ->type_name("N|auto|none")
      ->needs(output)
      ->excludes("--shards");
  app.add_option("--threads", arguments.task.threads,
                 "Number of threads; 0: all cores that the process may use")
      ->check(CLI::Range(0, 1024));
  app.add_flag(
      "--verify", arguments.verify,
      "Check the checksums and contents of IN, a model file or an index of shards. With OUT: check OUT after "
      "writing it");
  app.add_flag("--info", arguments.info, "Print information about IN")->excludes(output);
  app.add_flag("-q,--quiet", arguments.quiet, "Print only errors");
  app.set_version_flag("--version", glove::concat("glove-convert ", kVersion));
  app.footer(footer);
}

// Set when the program is asked to end: the work stops at the next block or step, and its temporary file is
// removed. After the output has been renamed, it is complete and is kept.
volatile std::sig_atomic_t g_interrupted = 0;

bool interrupted() {
  return g_interrupted != 0;
}

// Does the work while displaying its progress. Returns false after an error, which has been printed.
bool perform(const Arguments& arguments, const std::string& title, ConvertTask task, Told& told) {
  using Display = glove::ProgressDisplay;
  Display display(Display::style_for_stderr(arguments.quiet), title);
  told.display = &display;
  task.version = kVersion;
  task.threads = arguments.task.threads;
  task.numbers = &told.numbers;
  task.context = &told;
  task.text = [](void* context, Text which, const char* bytes, size_t size) {
    static_cast<Told*>(context)->texts[static_cast<size_t>(which)].assign(bytes, size);
  };
  task.progress = [](void* context, int64_t done, int64_t total) {
    static_cast<Told*>(context)->display->update(done, total);
  };
  task.interrupted = interrupted;
  return glove::run_task(task);
}

// The work on IN, as the options say that it is read.
ConvertTask task_for_input(const Arguments& arguments, ConvertTask::Work work) {
  ConvertTask task = arguments.task;
  task.work = work;
  task.input = arguments.input.c_str();
  task.format = arguments.format.c_str();
  task.vocabulary = arguments.vocabulary.c_str();
  task.tensor = arguments.tensor.c_str();
  task.encoding = arguments.encoding.c_str();
  return task;
}

int verify(const Arguments& arguments, const ConvertTask& task) {
  Told told;
  if (!perform(arguments, "verifying " + file_name(task.input), task, told))
    return fail(told.text(Text::kError));
  if (!arguments.quiet)
    print(stderr, printable(task.input), ": verified, ", told.numbers.rows, " words, ", told.numbers.dims,
          " dimensions\n");
  return kSuccess;
}

int info(const Arguments& arguments) {
  Told told;
  const ConvertTask task = task_for_input(arguments, ConvertTask::Work::kInfo);
  if (!perform(arguments, "reading " + file_name(arguments.input), task, told))
    return fail(told.text(Text::kError));
  const glove::TaskNumbers& numbers = told.numbers;
  print(stdout, "format      ", told.text(Text::kFormat), "\nwords       ", numbers.rows, "\ndimensions  ",
        numbers.dims, "\nfile        ", glove::format_bytes(numbers.bytes), " (", numbers.bytes,
        " bytes)\nfirst word  ", printable(told.text(Text::kFirstWord)), "\nlast word   ",
        printable(told.text(Text::kLastWord)), "\nzero rows   ", numbers.zero_rows, "\n");
  if (const std::string& metric = told.text(Text::kMetric); metric != "cosine")
    print(stdout, "metric      ", metric, "\n");
  if (const std::string& type = told.text(Text::kType); type != "float32")
    print(stdout, "type        ", type, "\n");
  if (numbers.ngram_rows > 0) print(stdout, "n-grams     ", numbers.ngram_rows, " rows\n");
  return kSuccess;
}

void print_report(const Told& told, double seconds) {
  const glove::TaskNumbers& numbers = told.numbers;
  print(stderr, printable(told.text(Text::kPath)), ": ", numbers.rows, " words, ", numbers.dims,
        " dimensions, ", glove::format_bytes(numbers.bytes), glove::format(" in %.2f s (from ", seconds),
        told.text(Text::kFormat), ")\n");
  for (std::string_view notes = told.text(Text::kNotes); !notes.empty();) {
    const size_t end = std::min(notes.find('\n'), notes.size());
    print(stderr, "  ", printable(notes.substr(0, end)), "\n");
    notes.remove_prefix(std::min(end + 1, notes.size()));
  }
}

int convert(const Arguments& arguments) {
  const glove::Timer timer;
  ConvertTask task = task_for_input(arguments, ConvertTask::Work::kConvert);
  task.output = arguments.output.c_str();
  task.only_words = arguments.only_words.c_str();
  task.vectors.metric = arguments.metric.c_str();
  task.vectors.type = arguments.type.c_str();
  Told told;
  if (!perform(arguments, "reading " + file_name(arguments.input), task, told))
    return fail(told.text(Text::kError));
  const double seconds = timer.microseconds() * 1e-6;
  if (!arguments.quiet) print_report(told, seconds);
  if (!arguments.verify) return kSuccess;
  ConvertTask check;  // the output's format needs no options
  check.work = ConvertTask::Work::kVerify;
  check.input = told.text(Text::kPath).c_str();
  return verify(arguments, check);
}

int run(std::vector<std::string> arguments_in_reverse) {
  CLI::App app(
      "Makes a model file of a word-embedding file, for sqlite-glove to open without reading it through.",
      "glove-convert");
  Arguments arguments;
  app.allow_windows_style_options(false);  // /folder/file is a path
  describe_arguments(app, arguments);
  try {
    app.parse(std::move(arguments_in_reverse));
    // A pipe cannot be read twice, which detecting the format requires, and "-" is not meant as a file name.
    if (arguments.input == "-" || arguments.output == "-")
      throw CLI::ValidationError("-",
                                 "glove-convert reads and writes regular files; save a pipe to a file first "
                                 "(./- is a file called -)");
    if (arguments.output.empty() && !arguments.verify && !arguments.info) throw CLI::RequiredError("OUT");
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kSuccess : kUsage;
  }
  if (arguments.info) return info(arguments);
  if (arguments.output.empty())
    return verify(arguments, task_for_input(arguments, ConvertTask::Work::kVerify));
  return convert(arguments);
}

}  // namespace

int main(int argc, char** argv) {
  glove::system_calls::on_request_to_end([](int) { g_interrupted = 1; });
  try {
    std::vector<std::string> arguments = glove::system_calls::program_arguments(argc, argv);
    if (!arguments.empty()) arguments.erase(arguments.begin());  // the program's name
    std::ranges::reverse(arguments);                             // as CLI11 takes them
    return run(std::move(arguments));
  } catch (const std::bad_alloc&) {
    std::fputs("glove-convert: out of memory\n", stderr);
  } catch (const std::exception& error) {
    print(stderr, "glove-convert: ", error.what(), "\n");
  }
  return kFailure;
}
