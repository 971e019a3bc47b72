// glove-verify: proves that kernels in PTX have no deadlock, no misuse of barriers and no race.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <regex>
#include <sstream>

#include "verify/ptx/parser.h"
#include "verify/report/text.h"
#include "verify/run/verify.h"

namespace {

using glove::verify::Launch;
using glove::verify::Verdict;

constexpr int kUsage = 4;

struct Arguments {
  std::vector<std::string> files;
  std::string kernel, block, grid, shared_volatile = "";
  glove::verify::Options options;
  bool explain = false;
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
  return true;
}

int run_file(const std::string& file, const Arguments& arguments) {
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    std::cerr << "glove-verify: cannot read '" << file << "'\n";
    return kUsage;
  }
  std::stringstream text;
  text << in.rdbuf();
  const std::string source = text.str();
  glove::verify::ParseError error;
  const auto module = glove::verify::parse(source, &error);
  if (!module) {
    std::cerr << file << ":" << error.line << ": " << error.message << "\n";
    return kUsage;
  }
  int worst = 0;
  const auto rank = [](int code) {
    return code == 1 ? 4 : code == 4 ? 3 : code == 3 ? 2 : code == 2 ? 1 : 0;
  };
  size_t matched = 0;
  for (const auto& kernel : module->kernels) {
    if (!arguments.kernel.empty() && !std::regex_search(kernel.name, std::regex(arguments.kernel))) continue;
    ++matched;
    Launch launch;
    if (!arguments.block.empty()) parse_size(arguments.block, &launch.block);
    if (launch.block[0] == 0) launch.block = kernel.max_threads;
    if (!arguments.grid.empty()) parse_size(arguments.grid, &launch.grid);
    if (launch.block[0] == 0) {
      std::cerr << file << ": " << kernel.name << " has no .maxntid; please give its size with --block\n";
      worst = rank(kUsage) > rank(worst) ? kUsage : worst;
      continue;
    }
    const Verdict verdict = glove::verify::verify(kernel, launch, arguments.options);
    std::cout << glove::verify::text_of(verdict, arguments.explain);
    if (rank(verdict.exit_code()) > rank(worst)) worst = verdict.exit_code();
  }
  if (matched == 0) {
    std::cerr << file << ": no kernel"
              << (arguments.kernel.empty() ? "" : " matches '" + arguments.kernel + "'") << "\n";
    return kUsage;
  }
  return worst;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Proves that CUDA kernels in PTX have no deadlock, no misuse of barriers and no race.");
  app.add_option("files", arguments.files, "PTX files")->required();
  app.add_option("--kernel", arguments.kernel, "only kernels whose name matches this regular expression");
  app.add_option("--block", arguments.block, "threads of a block: X[,Y[,Z]]");
  app.add_option("--grid", arguments.grid, "blocks: X[,Y[,Z]]");
  app.add_flag("--shared-only", arguments.options.shared_only, "leave global memory out");
  app.add_flag("--lockstep", arguments.options.lockstep,
               "the lanes of a warp run in step, as before compute capability 7.0");
  app.add_flag("--strict-barriers", arguments.options.strict_barriers,
               "all threads come to the same barrier of the program");
  app.add_flag("--allow-undefined", arguments.options.allow_undefined,
               "do not report reads of shared memory that nobody wrote");
  app.add_option("--time-limit", arguments.options.time_limit, "seconds for a kernel");
  app.add_flag("--explain", arguments.explain, "how each defect comes about");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  std::array<uint32_t, 3> size;
  for (const std::string* text : {&arguments.block, &arguments.grid})
    if (!text->empty() && !parse_size(*text, &size)) {
      std::cerr << "glove-verify: '" << *text << "' is no size; write X, X,Y or X,Y,Z\n";
      return kUsage;
    }
  int worst = 0;
  const auto rank = [](int code) {
    return code == 1 ? 4 : code == 4 ? 3 : code == 3 ? 2 : code == 2 ? 1 : 0;
  };
  for (const std::string& file : arguments.files) {
    const int code = run_file(file, arguments);
    if (rank(code) > rank(worst)) worst = code;
  }
  return worst;
}
