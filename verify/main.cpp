// glove-verify: proves that kernels in PTX have no deadlock, no misuse of barriers and no race.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <regex>
#include <sstream>

#include "verify/launch/spec_file.h"
#include "verify/ptx/parser.h"
#include "verify/report/json.h"
#include "verify/report/text.h"
#include "verify/run/verify.h"

namespace {

using glove::verify::Launch;
using glove::verify::Verdict;

constexpr int kUsage = 4;

struct CommandLine {
  std::vector<std::string> files;
  std::string kernel, block, grid, launch, name, time_limit, data;
  glove::verify::Options options;
  std::string format = "text";
  bool explain = false;
  bool list = false;
};

bool parse_size(const std::string& text, std::array<uint32_t, 3>* size) {
  *size = {1, 1, 1};
  std::stringstream in(text);
  std::string part;
  for (size_t i = 0; i < 3 && std::getline(in, part, ','); ++i) {
    char* end = nullptr;
    const unsigned long value = std::strtoul(part.c_str(), &end, 10);
    if (*end != '\0' || value == 0 || value > 65535) return false;
    (*size)[i] = static_cast<uint32_t>(value);
  }
  return in.eof();
}

// The numbers among the options. Returns what is wrong with them, or nothing.
std::string parse_numbers(CommandLine* arguments) {
  std::array<uint32_t, 3> size;
  for (const std::string* text : {&arguments->block, &arguments->grid})
    if (!text->empty() && !parse_size(*text, &size))
      return "'" + *text + "' is no size; write X, X,Y or X,Y,Z";
  char* end = nullptr;
  if (const std::string& text = arguments->time_limit; !text.empty()) {
    arguments->options.time_limit = std::strtod(text.c_str(), &end);
    const bool in_range = arguments->options.time_limit >= 0.001 && arguments->options.time_limit <= 1e6;
    if (*end != '\0' || !in_range)
      return "--time-limit '" + text + "' is not a number of seconds from 0.001 to 1000000";
  }
  if (const std::string& text = arguments->data; !text.empty()) {
    arguments->options.data_seed = std::strtoull(text.c_str(), &end, 10);
    if (*end != '\0' || text.size() > 19 || text[0] == '-')
      return "--data '" + text + "' is not a number; write a seed such as 1";
  }
  return "";
}

// What forbids this launch of the kernel, or nothing.
std::string launch_error(const glove::verify::Kernel& kernel, const Launch& launch) {
  const auto product = [](const std::array<uint32_t, 3>& size) {
    return uint64_t{size[0]} * size[1] * size[2];
  };
  if (launch.block[0] == 0) return kernel.name + " has no .maxntid; please give its size with --block";
  const uint64_t threads = product(launch.block), most = product(kernel.max_threads);
  if (threads > 1024) return "a block has at most 1024 threads, and not " + std::to_string(threads);
  if (kernel.max_threads[0] != 0 && threads > most)
    return kernel.name + " is compiled for at most " + std::to_string(most) +
           " threads per block (.maxntid), and --block or the launch file asks for " +
           std::to_string(threads);
  if (kernel.exact_threads && threads != most)
    return kernel.name + " is compiled for exactly " + std::to_string(most) +
           " threads per block (.reqntid), and --block or the launch file asks for " +
           std::to_string(threads);
  if (product(launch.grid) > 65536) return "a grid has at most 65536 blocks here";
  return "";
}

// The worse of two exit codes: a defect, a usage error, something unsupported, something unproved.
int worse(int a, int b) {
  const auto rank = [](int code) {
    return code == 1 ? 4 : code == 4 ? 3 : code == 3 ? 2 : code == 2 ? 1 : 0;
  };
  return rank(a) > rank(b) ? a : b;
}

int complain(const std::string& message) {
  std::cerr << message << "\n";
  return kUsage;
}

std::optional<glove::verify::Module> read_module(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  if (!in) {
    complain("glove-verify: cannot read '" + file + "'");
    return std::nullopt;
  }
  const std::string source = text.str();
  glove::verify::ParseError error;
  auto module = glove::verify::parse(source, &error);
  if (!module) complain(file + ":" + std::to_string(error.line) + ": " + error.message);
  return module;
}

// One line per kernel: its name, the size of its blocks, its static shared memory.
void list_kernel(const glove::verify::Kernel& kernel) {
  std::cout << kernel.name << ": ";
  if (kernel.max_threads[0] == 0)
    std::cout << "any block";
  else
    std::cout << "block " << kernel.max_threads[0] << "," << kernel.max_threads[1] << ","
              << kernel.max_threads[2];
  std::cout << ", " << kernel.shared_bytes << " bytes of shared memory, " << kernel.code.size()
            << " instructions\n";
}

int run_kernel(const glove::verify::Kernel& kernel, Launch launch, const CommandLine& arguments,
               const std::string& file, std::vector<Verdict>* verdicts) {
  if (!arguments.block.empty()) parse_size(arguments.block, &launch.block);
  if (launch.block[0] == 0) launch.block = kernel.max_threads;
  if (!arguments.grid.empty()) parse_size(arguments.grid, &launch.grid);
  if (const std::string error = launch_error(kernel, launch); !error.empty())
    return complain("glove-verify: " + error);
  Verdict verdict = glove::verify::verify(kernel, launch, arguments.options);
  verdict.file = file;
  if (arguments.format == "text") std::cout << glove::verify::text_of(verdict, arguments.explain);
  const int code = verdict.exit_code();
  verdicts->push_back(std::move(verdict));
  return code;
}

bool is_pattern(const std::string& text) {
  try {
    static_cast<void>(std::regex(text));
    return true;
  } catch (const std::regex_error&) {
    return false;
  }
}

int run_file(const std::string& file, const CommandLine& arguments, std::vector<Verdict>* verdicts) {
  const auto module = read_module(file);
  if (!module) return kUsage;
  glove::verify::SpecFile spec;
  spec.launches.emplace_back();
  std::string error;
  if (!arguments.launch.empty()) {
    spec.launches.clear();
    if (!glove::verify::read_spec(arguments.launch, &spec, &error)) return complain(error);
  }
  std::vector<std::string> patterns = {arguments.kernel, arguments.name};
  for (const Launch& launch : spec.launches) patterns.push_back(launch.kernel);
  for (const std::string& pattern : patterns)
    if (!is_pattern(pattern)) return complain("'" + pattern + "' is not a regular expression");
  int worst = 0;
  size_t matched = 0;
  const auto matches = [](const std::string& text, const std::string& pattern) {
    return pattern.empty() || std::regex_search(text, std::regex(pattern));
  };
  for (const auto& kernel : module->kernels) {
    if (!matches(kernel.name, arguments.kernel)) continue;
    if (arguments.list) {
      ++matched;
      list_kernel(kernel);
      continue;
    }
    for (const Launch& launch : spec.launches) {
      if (!matches(kernel.name, launch.kernel) || !matches(launch.name, arguments.name)) continue;
      ++matched;
      worst = worse(worst, run_kernel(kernel, launch, arguments, file, verdicts));
    }
  }
  if (matched == 0)
    return complain(file + ": no kernel" +
                    (arguments.kernel.empty() ? "" : " matches '" + arguments.kernel + "'"));
  return worst;
}

// The exit status of the program. What runs that were out of time have left may still be freed by their
// threads; the end does not wait for that.
int leave(int status, const std::vector<Verdict>& verdicts) {
  std::cout.flush();
  for (const Verdict& verdict : verdicts)
    if (verdict.out_of_time) std::_Exit(status);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  CommandLine arguments;
  CLI::App app("Proves that CUDA kernels in PTX have no deadlock, no misuse of barriers and no race.");
  app.add_option("files", arguments.files, "PTX files")->required();
  app.add_option("--kernel", arguments.kernel, "only kernels whose name matches this regular expression");
  app.add_option("--launch", arguments.launch, "a launch spec (TOML)");
  app.add_option("--name", arguments.name,
                 "only launches of the spec whose name matches this regular expression");
  app.add_option("--block", arguments.block, "threads of a block: X[,Y[,Z]]");
  app.add_option("--grid", arguments.grid, "blocks: X[,Y[,Z]]");
  app.add_flag("--shared-only", arguments.options.shared_only, "leave global memory out");
  app.add_flag("--lockstep", arguments.options.lockstep,
               "the lanes of a warp run in step, as before compute capability 7.0");
  app.add_flag("--strict-barriers", arguments.options.strict_barriers,
               "all threads come to the same barrier of the program");
  app.add_flag("--allow-undefined", arguments.options.allow_undefined,
               "do not report reads of shared memory that nobody wrote");
  app.add_option("--time-limit", arguments.time_limit, "seconds for a kernel (60)");
  app.add_option("--data", arguments.data, "test with random data of this seed, and prove nothing");
  app.add_option("--format", arguments.format, "text, json or sarif")
      ->check(CLI::IsMember({"text", "json", "sarif"}));
  app.add_flag("--list", arguments.list, "list the kernels and verify nothing");
  app.add_flag("--explain", arguments.explain, "how each defect comes about");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  if (const std::string error = parse_numbers(&arguments); !error.empty())
    return complain("glove-verify: " + error);
  int worst = 0;
  std::vector<Verdict> verdicts;
  bool all_read = true;
  for (const std::string& file : arguments.files) {
    const int code = run_file(file, arguments, &verdicts);
    all_read = all_read && code != kUsage;
    worst = worse(worst, code);
  }
  if (arguments.list) return worst;
  if (arguments.format == "json") std::cout << glove::verify::json_of(verdicts);
  if (arguments.format == "sarif") std::cout << glove::verify::sarif_of(verdicts, all_read);
  return leave(worst, verdicts);
}
