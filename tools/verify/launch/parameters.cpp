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
std::string message(const std::string& path, const ParameterValue& value, const std::string& subject) {
  return path + ":" + std::to_string(value.line) + ": " + subject + " " + std::to_string(value.bytes) +
         " bytes at offset " + std::to_string(value.offset) + " of its parameters" +
         "; correct the offset or the type, or remove the parameter";
}

}  // namespace

bool is_launch_of(const Launch& launch, const Kernel& kernel) {
  return launch.kernel.empty() || std::regex_search(kernel.name, std::regex(launch.kernel));
}

std::string own_parameter_error(const Launch& launch, const Kernel& kernel, const std::string& path) {
  for (const ParameterValue& value : launch.parameters)
    if (value.own && !has(kernel, value)) return message(path, value, kernel.name + " does not have");
  return "";
}

std::string shared_parameter_error(const SpecFile& spec, const Module& module, const std::string& path) {
  std::set<const Kernel*> launched;
  for (const Launch& launch : spec.launches) {
    bool found = false;
    for (const Kernel& kernel : module.kernels)
      if (is_launch_of(launch, kernel)) {
        launched.insert(&kernel);
        found = true;
      }
    if (!found) return "";
  }
  for (const Launch& launch : spec.launches)
    for (const ParameterValue& value : launch.parameters)
      if (!value.own && std::none_of(launched.begin(), launched.end(),
                                     [&](const Kernel* kernel) { return has(*kernel, value); }))
        return message(path, value, "no kernel that this file launches has");
  return "";
}

}  // namespace glove::verify
