// glove-convert: converts any word-embedding file to a model file.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/analysis.h"
#include "base/concat.h"
#include "base/file.h"
#include "base/system_calls.h"
#include "base/timer.h"
#include "base/utf8.h"
#include "convert/convert.h"
#include "convert/lists.h"
#include "convert/progress_display.h"
#include "cpu/cpu_analysis.h"
#include "glove_version.h"
#include "loader/format.h"
#include "loader/open.h"
#include "loader/shard.h"
#include "text/static_encoder.h"

namespace {

enum ExitCode { kSuccess = 0, kFailure = 1, kUsage = 2 };

struct Arguments {
  std::string input;
  std::string output;
  bool quiet = false;
  bool verify = false;
  bool info = false;
  glove::ConvertOptions convert;
};

// Makes text that may contain bytes of a file, or a name that others chose, safe for a terminal.
std::string printable(std::string_view text) {
  return glove::escaped(text, text.size());
}

std::string file_name(const std::string& path) {
  return printable(glove::file_name_of(path));
}

int fail(const glove::Error& error) {
  std::fputs(fmt::format("glove-convert: {}\n", printable(error.message)).c_str(), stderr);
  return kFailure;
}

std::string footer() {
  std::string text = "Formats, detected by content:\n";
  for (const glove::Format& format : glove::formats())
    text += fmt::format("  {:<16} {}\n", format.name, format.description);
  return text + R"(
Each may be compressed with gzip or zip; archive.zip/member names one file of an archive that has several. IN
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
    throw CLI::ValidationError("--lists", fmt::format("'{}' is not auto, none or a number from 1 to {}",
                                                      printable(text), glove::kMaxLists));
  return lists;
}

void describe_arguments(CLI::App& app, Arguments& arguments) {
  glove::ConvertOptions& convert = arguments.convert;
  app.add_option("IN", arguments.input, "The file to read: any format below")->required();
  CLI::Option* const output =
      app.add_option("OUT", arguments.output, "The model file to write, such as glove.safetensors");
  app.add_option("--format", convert.read.format, "Read IN as this format, and do not detect it by content");
  app.add_option("--vocabulary", convert.read.words_path,
                 "The words of IN, one per line, if IN contains only vectors")
      ->type_name("FILE");
  app.add_option("--tensor", convert.read.tensor, "The tensor of a safetensors file that holds the vectors")
      ->type_name("NAME");
  app.add_option("--top", convert.top, "Keep the first N words, which are the most frequent in most files")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, INT64_MAX))
      ->needs(output);
  app.add_option("--only-words", convert.subset_path, "Keep only the words in this list, one per line")
      ->type_name("FILE")
      ->needs(output);
  app.add_flag("--lower", convert.lower,
               "Change A-Z in words to a-z; of words that become equal, keep the first")
      ->needs(output);
  app.add_flag("--normalize", convert.normalize, "Divide each vector by its length")->needs(output);
  app.add_option("--shards", convert.shards,
                 "Write N files OUT-00001-of-0000N.safetensors with a part of the words each, and the index "
                 "OUT.safetensors.index.json, which opens as one model")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, glove::kMaxShards))
      ->needs(output);
  app.add_option_function<std::string>(
         "--lists", [&convert](const std::string& text) { convert.lists = read_lists(text); },
         "Put the words into N lists around centroids, so that a search reads half the bytes where the model "
         "is "
         "larger than the caches; auto chooses N for models of 100,000 words and more")
      ->type_name("N|auto|none")
      ->needs(output)
      ->excludes("--shards");
  app.add_option(
         "--seed", convert.seed,
         "Of the random rotation that a model with lists keeps, so that OUT can be made again byte by "
         "byte; by default one is drawn")
      ->type_name("N")
      ->needs("--lists");
  app.add_option("--threads", convert.threads, "Number of threads; 0: all cores that the process may use")
      ->check(CLI::Range(0, 1024));
  app.add_flag(
      "--verify", arguments.verify,
      "Check the checksums and contents of IN, a model file or an index of shards. With OUT: check OUT after "
      "writing it");
  app.add_flag("--info", arguments.info, "Print information about IN")->excludes(output);
  app.add_flag("-q,--quiet", arguments.quiet, "Print only errors");
  app.set_version_flag("--version", fmt::format("glove-convert {} ({})", GLOVE_VERSION, GLOVE_GIT_DESCRIBE));
  app.footer(footer());
}

// Set when the program is asked to end: the work stops at the next block or step, and its temporary file is
// removed. After the output has been renamed, it is complete and is kept.
volatile std::sig_atomic_t g_interrupted = 0;

bool interrupted() {
  return g_interrupted != 0;
}

// Calls work(progress) while displaying its progress.
template <class Work>
auto with_progress(const Arguments& arguments, const std::string& title, const Work& work) {
  using Display = glove::ProgressDisplay;
  Display display(Display::style_for_stderr(arguments.quiet), title);
  return work([&](int64_t done, int64_t total) { display.update(done, total); });
}

int verify(const Arguments& arguments, const std::string& path, const glove::ReadOptions& read) {
  const auto result = with_progress(arguments, "verifying " + file_name(path), [&](const auto& progress) {
    glove::OpenOptions options;
    options.verify = true;
    options.progress = progress;
    options.interrupted = interrupted;
    options.threads = arguments.convert.threads;
    options.read = read;
    return glove::open_model(path, options);
  });
  if (!result.ok()) return fail(result.error());
  if (!arguments.quiet)
    fmt::print(stderr, "{}: verified, {} words, {} dimensions\n", printable(path), result.value()->words(),
               result.value()->dims());
  return kSuccess;
}

int info(const Arguments& arguments) {
  const auto result =
      with_progress(arguments, "reading " + file_name(arguments.input), [&](const auto& progress) {
        glove::OpenOptions options;
        options.progress = progress;
        options.interrupted = interrupted;
        options.threads = arguments.convert.threads;
        options.read = arguments.convert.read;
        return glove::open_model(arguments.input, options);
      });
  if (!result.ok()) return fail(result.error());
  const glove::Model& model = *result.value();
  int64_t zero_rows = 0;
  for (const glove::ModelPart& part : model.parts())
    zero_rows += std::count(part.norms_squared.begin(), part.norms_squared.end(), 0.0);
  fmt::print("format      {}\n", model.source().format);
  fmt::print("words       {}\n", model.words());
  fmt::print("dimensions  {}\n", model.dims());
  fmt::print("file        {} ({} bytes)\n", glove::format_bytes(model.source().file_bytes),
             model.source().file_bytes);
  fmt::print("first word  {}\n", printable(model.vocabulary().word(0)));
  fmt::print("last word   {}\n", printable(model.vocabulary().word(model.words() - 1)));
  fmt::print("zero rows   {}\n", zero_rows);
  return kSuccess;
}

void print_report(const glove::ConvertReport& report, double seconds) {
  fmt::print(stderr, "{}: {} words, {} dimensions, {} in {:.2f} s (from {})\n", printable(report.path),
             report.rows, report.dims, glove::format_bytes(report.bytes), seconds, report.format);
  const auto note = [](int64_t count, const char* noun, const char* text) {
    if (count > 0) fmt::print(stderr, "  {} {}\n", glove::counted(count, noun), text);
  };
  note(report.counts.duplicates, "rows", "left out for a word that was there already");
  note(report.counts.invalid_utf8, "words", "not valid in UTF-8, kept unchanged");
  note(report.counts.zero_rows, "vectors", "of zeros, which no search finds");
  note(report.subset_missing, "words", "of the list not in the input");
}

int convert(Arguments& arguments) {
  const glove::Timer timer;
  glove::CpuBackendOptions backend;
  backend.threads = arguments.convert.threads;
  const auto analysis = glove::make_cpu_analysis(backend);
  if (!analysis.ok()) return fail(analysis.error());
  arguments.convert.analysis = analysis.value().get();
  const auto searches = glove::make_cpu_backend(backend);
  arguments.convert.backend = searches.get();
  const auto result =
      with_progress(arguments, "reading " + file_name(arguments.input), [&](const auto& progress) {
        arguments.convert.progress = progress;
        arguments.convert.interrupted = interrupted;
        return glove::convert(arguments.input, arguments.output, arguments.convert);
      });
  if (!result.ok()) return fail(result.error());
  const double seconds = timer.microseconds() * 1e-6;
  if (!arguments.quiet) print_report(result.value(), seconds);
  glove::ReadOptions read;
  read.read_tokenizer = glove::read_tokenizer;
  return arguments.verify ? verify(arguments, result.value().path, read) : kSuccess;
}

int run(std::vector<std::string> arguments_in_reverse) {
  CLI::App app(
      "Makes a model file of a word-embedding file, for sqlite-glove to open without reading it through.",
      "glove-convert");
  Arguments arguments;
  arguments.convert.read.read_tokenizer = glove::read_tokenizer;
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
  if (arguments.output.empty()) return verify(arguments, arguments.input, arguments.convert.read);
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
    std::fputs(fmt::format("glove-convert: {}\n", error.what()).c_str(), stderr);
  }
  return kFailure;
}
