#include "launch/parameters.h"

#include <algorithm>
#include <regex>
#include <set>

namespace glove::verify {
namespace {

bool has(const Kernel& kernel, const ParameterValue& value) {
  return std::any_of(kernel.parameters.begin(), kernel.parameters.end(), [&](const Parameter& parameter) {
    return value.offset >= parameter.offset &&
           value.offset + value.bytes <= parameter.offset + parameter.size;
  });
}

// subject: who lacks the parameter, with the verb.
Error lacks(const Launch& launch, const ParameterValue& value, const std::string& subject) {
  return {ErrorCode::kLaunchFile, launch.file + ":" + std::to_string(value.line) + ": " + subject + " " +
                                      std::to_string(value.bytes) + " bytes at offset " +
                                      std::to_string(value.offset) + " of its parameters" +
                                      "; correct the offset or the type, or remove the parameter"};
}

uint64_t product(const std::array<uint32_t, 3>& size) {
  return uint64_t{size[0]} * size[1] * size[2];
}

// What forbids blocks of this size, or nothing.
std::string block_problem(const Kernel& kernel, const std::array<uint32_t, 3>& block) {
  if (block[0] == 0) return " has no .maxntid; please give its size with --block";
  const uint64_t threads = product(block), most = product(kernel.max_threads);
  if (threads > 1024) return ": a block has at most 1024 threads, and not " + std::to_string(threads);
  const bool exceeds = kernel.max_threads[0] != 0 && threads > most;
  if (!exceeds && !(kernel.exact_threads && threads != most)) return "";
  return " is compiled for " + std::string(exceeds ? "at most " : "exactly ") + std::to_string(most) +
         " threads per block (" + (exceeds ? ".maxntid" : ".reqntid") +
         "), and --block or the launch file asks for " + std::to_string(threads);
}

}  // namespace

Result<std::vector<size_t>> matching_kernels(const Launch& launch, const Program& program) try {
  const std::regex pattern(launch.kernel);
  std::vector<size_t> matching;
  for (size_t i = 0; i < program.kernels.size(); ++i)
    if (std::regex_search(program.kernels[i].name, pattern)) matching.push_back(i);
  return matching;
} catch (const std::regex_error&) {
  return Error{ErrorCode::kLaunchFile, "kernel = '" + launch.kernel + "' is not a regular expression"};
}

Status check_launch(const Launch& launch, const std::array<uint32_t, 3>& block, const Kernel& kernel) {
  for (const ParameterValue& value : launch.parameters)
    if (value.own && !has(kernel, value)) return lacks(launch, value, kernel.name + " does not have");
  if (const std::string problem = block_problem(kernel, block); !problem.empty())
    return Error{ErrorCode::kLaunch, kernel.name + problem};
  if (const uint64_t bytes = kernel.shared_bytes + launch.dynamic_shared.value_or(0);
      launch.dynamic_shared && bytes > kMostBlockShared)
    return Error{
        ErrorCode::kLaunch,
        kernel.name + " would have " + std::to_string(bytes) +
            " bytes of shared memory with the dynamic_shared of the launch file, and a block has at most " +
            std::to_string(kMostBlockShared)};
  return {};
}

Status check_shared_parameters(const std::vector<Launch>& launches, const Program& program) {
  std::set<size_t> launched;
  for (const Launch& launch : launches) {
    const auto kernels = matching_kernels(launch, program);
    if (!kernels.ok()) return kernels.error();
    if (kernels.value().empty()) return {};
    launched.insert(kernels.value().begin(), kernels.value().end());
  }
  for (const Launch& launch : launches)
    for (const ParameterValue& value : launch.parameters)
      if (!value.own && std::none_of(launched.begin(), launched.end(),
                                     [&](size_t kernel) { return has(program.kernels[kernel], value); }))
        return lacks(launch, value, "no kernel that this file launches has");
  return {};
}

}  // namespace glove::verify
