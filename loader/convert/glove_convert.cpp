// glove-convert: any word-embedding file -> a model file.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "glove_version.h"
#include "loader/convert.h"
#include "loader/convert/progress_display.h"
#include "loader/format.h"
#include "loader/open.h"

namespace {

// Exit codes; CLI11's own, above 100, are mapped to kUsage.
enum ExitCode { kSuccess = 0, kFailure = 1, kUsage = 2 };

struct Arguments {
  std::string input;
  std::string output;
  bool quiet = false;
  bool verify = false;
  bool info = false;
  glove::ConvertOptions convert;
};

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

int fail(const glove::Error& error) {
  std::fputs(fmt::format("glove-convert: {}\n", error.message).c_str(), stderr);
  return kFailure;
}

void describe_arguments(CLI::App& app, Arguments& arguments) {
  app.add_option("IN", arguments.input, "The file to read: any format below, plain, gzip or zip")->required();
  app.add_option("OUT", arguments.output, "The model file to write, such as glove.safetensors");
  app.add_flag("-q,--quiet", arguments.quiet, "Print nothing but errors");
  app.add_option("--threads", arguments.convert.threads, "Threads to use; 0: the cores there are")
      ->check(CLI::Range(0, 1024));
  app.set_version_flag("--version", fmt::format("glove-convert {} ({})", GLOVE_VERSION, GLOVE_GIT_DESCRIBE));
}

int convert(Arguments& arguments) {
  using Display = glove::ProgressDisplay;
  const auto begin = std::chrono::steady_clock::now();
  glove::Result<glove::ConvertReport> result = [&] {
    Display display(Display::style_for_stderr(arguments.quiet), "reading " + file_name(arguments.input));
    arguments.convert.progress = [&](int64_t done, int64_t total) {
      display.update(done, total);
      return true;
    };
    return glove::convert(arguments.input, arguments.output, arguments.convert);
  }();
  if (!result.ok()) return fail(result.error());
  if (arguments.quiet) return kSuccess;
  const glove::ConvertReport& report = result.value();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  fmt::print(stderr, "{}: {} words, {} dimensions, {} in {:.2f} s (from {})\n", arguments.output, report.rows,
             report.dims, glove::format_bytes(report.bytes), seconds.count(), report.format);
  if (report.counts.duplicates > 0)
    fmt::print(stderr, "  {} rows left out: their word was there already\n", report.counts.duplicates);
  if (report.counts.invalid_utf8 > 0)
    fmt::print(stderr, "  {} words are not valid UTF-8; kept as they are\n", report.counts.invalid_utf8);
  if (report.counts.zero_rows > 0)
    fmt::print(stderr, "  {} vectors are zero; no search finds them\n", report.counts.zero_rows);
  return kSuccess;
}

int run(int argc, char** argv) {
  CLI::App app(
      "Makes a model file of a word-embedding file, for sqlite-glove to open without reading it through.");
  Arguments arguments;
  describe_arguments(app, arguments);
  try {
    app.parse(argc, argv);
    if (arguments.output.empty()) throw CLI::RequiredError("OUT");
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kSuccess : kUsage;
  }
  return convert(arguments);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("glove-convert: out of memory\n", stderr);
  } catch (const std::exception& error) {
    std::fputs(fmt::format("glove-convert: {}\n", error.what()).c_str(), stderr);
  }
  return kFailure;
}
