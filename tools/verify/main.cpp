// glove-verify: proves that kernels in PTX have no deadlock, no misuse of barriers and no race.
#include <cxxabi.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "glove_verify/verify.h"
#include "record/command.h"

namespace {

using glove::verify::Error;
using glove::verify::ErrorCode;
using glove::verify::KernelInfo;
using glove::verify::Launch;
using glove::verify::Module;
using glove::verify::ParameterValue;
using glove::verify::Result;
using glove::verify::Verdict;

constexpr int kUsage = 4;

struct CommandLine {
  std::vector<std::string> files, parameters, allowed;
  std::string kernel, block, grid, cluster, launch, name, time_limit, memory_limit, data, dynamic_shared;
  Launch given;  // what --param and --dynamic-shared say
  glove::verify::Options options;
  std::string format = "text";
  bool explain = false;
  bool list = false;
};

bool is_pattern(const std::string& text) {
  try {
    static_cast<void>(std::regex(text));
    return true;
  } catch (const std::regex_error&) {
    return false;
  }
}

// Reads an integer without sign that is all of the text.
bool parse_integer(std::string_view text, uint64_t* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

bool parse_size(const std::string& text, std::array<uint32_t, 3>* size) {
  *size = {1, 1, 1};
  size_t start = 0;
  for (uint32_t& part : *size) {
    const size_t end = std::min(text.find(',', start), text.size());
    uint64_t value = 0;
    if (!parse_integer(std::string_view(text).substr(start, end - start), &value)) return false;
    if (value == 0 || value > 65535) return false;
    part = static_cast<uint32_t>(value);
    if (end == text.size()) return true;
    start = end + 1;
  }
  return false;
}

uint64_t product(const std::array<uint32_t, 3>& size) {
  return uint64_t{size[0]} * size[1] * size[2];
}

// What is wrong with --block or --grid, or nothing. limit: what `most` is.
std::string size_error(const std::string& option, const std::string& text, uint64_t most,
                       const std::string& limit) {
  std::array<uint32_t, 3> size;
  if (text.empty()) return "";
  if (!parse_size(text, &size))
    return option + " '" + text + "' is not a size; write X, X,Y or X,Y,Z, each an integer from 1 to 65535";
  if (product(size) > most)
    return option + " '" + text + "' is too large: " + limit + ", and not " + std::to_string(product(size));
  return "";
}

// INDEX=VALUE, or INDEX+BYTE=VALUE for a field of a struct; VALUE may end with u32 or u64. Returns false if
// the text is none.
bool parse_parameter(const std::string& text, Launch* launch) {
  const size_t equals = std::min(text.find('='), text.size()), plus = std::min(text.find('+'), equals);
  ParameterValue value;
  value.own = true;
  uint64_t index = 0;
  std::string number = text.substr(std::min(equals + 1, text.size()));
  const bool field = plus < equals;
  for (const unsigned bytes : {4u, 8u})
    if (number.ends_with(bytes == 4 ? "u32" : "u64")) value.bytes = bytes, number.resize(number.size() - 3);
  const bool negative = number.starts_with("-");
  const bool good =
      parse_integer(std::string_view(text).substr(0, plus), &index) && index < 65536 &&
      (!field || parse_integer(std::string_view(text).substr(plus + 1, equals - plus - 1), &value.offset)) &&
      parse_integer(std::string_view(number).substr(negative ? 1 : 0), &value.value) &&
      value.offset < 65536 && value.value < (negative ? uint64_t{1} << 63 : ~uint64_t{0}) &&
      (value.bytes != 4 || value.value <= UINT32_MAX);
  if (negative) value.value = ~value.value + 1;
  value.index = index;
  launch->parameters.push_back(value);
  return good;
}

// What is wrong with --param, --dynamic-shared, --memory-limit or --allow, or nothing.
std::string check_values(CommandLine* arguments) {
  for (const std::string& text : arguments->parameters)
    if (!parse_parameter(text, &arguments->given))
      return "--param '" + text +
             "' is no parameter; write INDEX=NUMBER, such as 2=1024, or INDEX+BYTE=NUMBER for a "
             "field of a struct";
  if (const std::string& text = arguments->dynamic_shared; !text.empty()) {
    uint64_t bytes = 0;
    if (!parse_integer(text, &bytes) || bytes > glove::verify::kMostBlockShared)
      return "--dynamic-shared '" + text + "' is not a number of bytes from 0 to 232448";
    arguments->given.dynamic_shared = bytes;
  }
  if (const std::string& text = arguments->memory_limit; !text.empty()) {
    uint64_t mebibytes = 0;
    if (!parse_integer(text, &mebibytes) || mebibytes == 0 || mebibytes > uint64_t{1} << 30)
      return "--memory-limit '" + text + "' is not a number of MiB from 1 to 2^30";
    arguments->options.memory_limit = mebibytes << 20;
  }
  for (const std::string& name : arguments->allowed) {
    const auto kind = glove::verify::kind_of_rule(name);
    if (!kind || !glove::verify::may_be_allowed(*kind))
      return "--allow '" + name + "' is not one of race-of-equal-values and missing-acquire";
    arguments->options.allowed.push_back(*kind);
  }
  return "";
}

// What is wrong with the options, or nothing. Sets the numbers among them.
std::string check_options(CommandLine* arguments) {
  for (const std::string& error :
       {check_values(arguments),
        size_error("--block", arguments->block, 1024, "a block has at most 1024 threads"),
        size_error("--grid", arguments->grid, 65536, "a grid has at most 65536 blocks here"),
        size_error("--cluster", arguments->cluster, glove::verify::kMostClusterBlocks,
                   "a cluster has at most 16 blocks")})
    if (!error.empty()) return error;
  if (const std::string& text = arguments->time_limit; !text.empty()) {
    char* end = nullptr;
    arguments->options.time_limit = std::strtod(text.c_str(), &end);
    const bool in_range = arguments->options.time_limit >= 0.001 && arguments->options.time_limit <= 1e6;
    if (*end != '\0' || !in_range)
      return "--time-limit '" + text + "' is not a number of seconds from 0.001 to 1000000";
  }
  if (const std::string& text = arguments->data; !text.empty()) {
    uint64_t seed = 0;
    if (!parse_integer(text, &seed))
      return "--data '" + text + "' is not an integer from 0 to 2^64-1; write a seed such as 1";
    arguments->options.data_seed = seed;
  }
  if (!is_pattern(arguments->kernel))
    return "--kernel '" + arguments->kernel + "' is not a regular expression";
  if (!is_pattern(arguments->name)) return "--name '" + arguments->name + "' is not a regular expression";
  if (!arguments->name.empty() && arguments->launch.empty())
    return "--name chooses launches of a --launch file; give one";
  return "";
}

// The worse of two exit codes: a defect, a usage error, something unsupported, something unproved.
int worse(int a, int b) {
  constexpr int kRanks[] = {0, 4, 1, 2, 3};
  return kRanks[a] > kRanks[b] ? a : b;
}

int complain(const std::string& message) {
  std::cerr << message << "\n";
  return kUsage;
}

int complain(const Error& error) {
  return complain((error.code == ErrorCode::kLaunch ? "glove-verify: " : "") + error.message);
}

Result<Module> read_module(const std::string& file) {
  const auto fail = [](std::string message) { return Error{ErrorCode::kLaunch, std::move(message)}; };
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored))
    return fail("'" + file + "' is a directory; name a PTX file");
  std::ifstream in(file, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  if (!in) return fail("cannot read '" + file + "'");
  return glove::verify::parse(text.str(), file);
}

std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && text != nullptr ? text.get() : name;
}

// A launch of the kernel, as a launch file has it, with what is to be filled in as comments.
void list_kernel(const KernelInfo& kernel) {
  const auto& most = kernel.max_threads;
  const std::string block = most[0] == 0 ? ""
                                         : std::to_string(most[0]) + ", " + std::to_string(most[1]) + ", " +
                                               std::to_string(most[2]);
  std::cout << "# " << demangled(kernel.name) << ": " << kernel.shared_bytes << " bytes of shared memory"
            << (kernel.dynamic_shared ? " and dynamic" : "") << ", " << kernel.instructions
            << " instructions\n"
            << "[[launch]]\nkernel = '^" << std::regex_replace(kernel.name, std::regex("\\$"), "\\$")
            << "$'\n"
            << (block.empty() ? "# block = [X, Y, Z]\n" : "block = [" + block + "]\n") << "grid = 2\n"
            << (kernel.dynamic_shared ? "# dynamic_shared = BYTES\n" : "") << "parameters = [\n";
  for (size_t i = 0; i < kernel.parameters.size(); ++i) {
    const auto& [offset, bytes, type, is_pointer] = kernel.parameters[i];
    const std::string index = "{ index = " + std::to_string(i) + ", ";
    const bool is_struct = bytes > 8;
    if (is_pointer)
      std::cout << "  " << index << "buffer = 'p" << i << "' },";
    else
      std::cout << "  # " << index << (is_struct ? "at = BYTE, " : "") << (bytes == 8 ? "u64" : "u32")
                << " = NUMBER },";
    std::cout << "  # offset " << offset << ", "
              << (is_struct    ? std::to_string(bytes) + " bytes: a field of the struct"
                  : is_pointer ? "a pointer"
                               : type + (bytes == 8 ? "; of a pointer write buffer = 'NAME'" : ""))
              << "\n";
  }
  std::cout << "]\n\n";
}

// A launch that the command line asks for, and the kernels that it is for.
struct Wanted {
  Launch launch;
  std::vector<size_t> kernels;
};

// The launches of the launch file whose names match, or without one a launch about which nothing is said.
Result<std::vector<Wanted>> read_wanted(const CommandLine& arguments, const Module& module) {
  Result<std::vector<Launch>> launches = std::vector<Launch>(1);
  if (!arguments.launch.empty()) launches = glove::verify::read_launches(arguments.launch, module);
  if (!launches.ok()) return launches.error();
  const std::regex name(arguments.name);
  std::vector<Wanted> wanted;
  for (Launch& launch : launches.value()) {
    if (!std::regex_search(launch.name, name)) continue;
    if (!arguments.block.empty()) parse_size(arguments.block, &launch.block);
    if (!arguments.grid.empty()) parse_size(arguments.grid, &launch.grid);
    if (!arguments.cluster.empty()) parse_size(arguments.cluster, &launch.cluster);
    if (arguments.given.dynamic_shared) launch.dynamic_shared = arguments.given.dynamic_shared;
    launch.parameters.insert(launch.parameters.begin(), arguments.given.parameters.begin(),
                             arguments.given.parameters.end());  // before those of the file
    auto kernels = glove::verify::kernels_of(launch, module);
    if (!kernels.ok()) return kernels.error();
    wanted.push_back({std::move(launch), std::move(kernels.value())});
  }
  return wanted;
}

// Why nothing of a file was verified.
std::string nothing_matched(const std::string& file, const Module& module, const CommandLine& arguments) {
  if (module.kernels().empty()) return file + ": there is no kernel in this file";
  std::string text = file + ": no kernel";
  if (!arguments.kernel.empty()) text += " matches --kernel '" + arguments.kernel + "'";
  if (arguments.launch.empty() || arguments.list) return text;
  text += arguments.kernel.empty() ? " matches" : " and";
  text += " a launch of " + arguments.launch;
  return text + (arguments.name.empty() ? "" : " whose name matches --name '" + arguments.name + "'");
}

int run_kernel(const Module& module, size_t kernel, const Launch& launch, const CommandLine& arguments,
               const std::string& file, std::vector<Verdict>* verdicts) {
  auto result = glove::verify::verify(module, kernel, launch, arguments.options);
  if (!result.ok()) return complain(result.error());
  Verdict& verdict = result.value();
  verdict.file = file;
  if (arguments.format == "text") std::cout << glove::verify::text_of(verdict, arguments.explain);
  const int code = verdict.exit_code();
  verdicts->push_back(std::move(verdict));
  return code;
}

int run_file(const std::string& file, const CommandLine& arguments, std::vector<Verdict>* verdicts) {
  const auto read = read_module(file);
  if (!read.ok()) return complain(read.error());
  const Module& module = read.value();
  const auto wanted = read_wanted(arguments, module);
  if (!wanted.ok()) return complain(wanted.error());
  const std::regex pattern(arguments.kernel);
  int worst = 0;
  size_t matched = 0;
  for (size_t kernel = 0; kernel < module.kernels().size(); ++kernel) {
    if (!std::regex_search(module.kernels()[kernel].name, pattern)) continue;
    if (arguments.list) ++matched, list_kernel(module.kernels()[kernel]);
    for (const auto& [launch, kernels] : wanted.value()) {
      if (arguments.list) break;
      if (!std::ranges::binary_search(kernels, kernel)) continue;
      ++matched;
      worst = worse(worst, run_kernel(module, kernel, launch, arguments, file, verdicts));
    }
  }
  return matched == 0 ? complain(nothing_matched(file, module, arguments)) : worst;
}

// The exit status of the program. What runs that were out of time have left may still be freed by their
// threads; the end does not wait for that.
int leave(int status, const std::vector<Verdict>& verdicts) {
  std::cout.flush();
  if (std::ranges::any_of(verdicts, &Verdict::out_of_time)) std::_Exit(status);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "record") return glove::verify::record(argc, argv);
  CommandLine arguments;
  CLI::App app("Proves that CUDA kernels in PTX have no deadlock, no misuse of barriers and no race.");
  app.add_option("files", arguments.files, "PTX files")->required();
  app.add_option("--kernel", arguments.kernel, "only kernels whose name matches this regular expression");
  app.add_option("--launch", arguments.launch, "a launch spec (TOML)");
  app.add_option("--name", arguments.name,
                 "only launches of the spec whose name matches this regular expression");
  app.add_option("--block", arguments.block, "threads of a block: X[,Y[,Z]]");
  app.add_option("--grid", arguments.grid, "blocks: X[,Y[,Z]]");
  app.add_option("--cluster", arguments.cluster, "blocks of a cluster: X[,Y[,Z]]");
  app.add_option("--param", arguments.parameters, "a number that the kernel gets: INDEX=NUMBER");
  app.add_option("--dynamic-shared", arguments.dynamic_shared, "bytes of dynamic shared memory");
  app.add_option("--allow", arguments.allowed, "takes race-of-equal-values or missing-acquire for no defect");
  app.add_option("--memory-limit", arguments.memory_limit,
                 "MiB of the program's memory (three quarters of the machine's)");
  app.add_flag("--strict-exits", arguments.options.strict_exits,
               "barriers miss threads that have left the kernel, as before compute capability 7.0");
  app.add_flag("--shared-only", arguments.options.shared_only, "leave global memory out");
  app.add_flag("--lockstep", arguments.options.lockstep,
               "the lanes of a warp run in step, as before compute capability 7.0");
  app.add_flag("--strict-barriers", arguments.options.strict_barriers,
               "all threads come to the same barrier of the program");
  app.add_flag("--allow-undefined", arguments.options.allow_undefined,
               "do not report reads of shared memory that nobody wrote");
  app.add_flag("--every-grid", arguments.options.every_grid,
               "tries to prove all grids first, as it does anyhow from 32 blocks on");
  app.add_flag("!--no-solver", arguments.options.solver, "does not ask Z3 what it cannot decide itself");
  app.add_option("--time-limit", arguments.time_limit, "processor seconds for a kernel (60)");
  app.add_option("--data", arguments.data, "test with random data of this seed, and prove nothing");
  app.add_option("--format", arguments.format, "text, json or sarif")
      ->check(CLI::IsMember({"text", "json", "sarif"}));
  app.add_flag("--list", arguments.list, "print a launch file of the kernels to fill in, and verify nothing");
  app.add_flag("--explain", arguments.explain, "how each defect comes about");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  if (const std::string error = check_options(&arguments); !error.empty())
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
