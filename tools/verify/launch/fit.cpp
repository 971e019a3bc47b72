#include "launch/launch_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <utility>

namespace glove::verify {
namespace {

// The bytes of a number at the offset: as many as the kernel loads from there, else 4.
uint64_t field_bytes(const Kernel& kernel, uint64_t offset) {
  std::map<uint32_t, uint64_t> known;  // registers
  const auto number = [&](const PtxOperand& operand) -> std::optional<uint64_t> {
    if (operand.kind == OperandKind::kImmediate) return operand.immediate;
    const auto found = known.find(operand.index);
    if (operand.kind != OperandKind::kRegister || found == known.end()) return std::nullopt;
    return found->second + operand.immediate;
  };
  for (const Instruction& in : kernel.code) {
    if ((in.op == Op::kMove || in.op == Op::kAdd) && in.results.size() == 1 && !in.operands.empty()) {
      const auto first = number(in.operands[0]), second = number(in.operands.back());
      if (first && second) known[in.results[0].index] = *first + (in.op == Op::kAdd ? *second : 0);
    }
    const auto at = number(in.address);
    if (in.op == Op::kLoad && in.space == Space::kParam && at &&
        offset - *at < in.vector * (bits_of(in.type) / 8))
      return bits_of(in.type) / 8;
  }
  return 4;
}

// The value with the offset and the bytes that it has in the kernel; nullopt if no parameter holds it.
std::optional<ParameterValue> placed(const Kernel& kernel, ParameterValue value) {
  for (size_t i = 0; i < kernel.parameters.size(); ++i) {
    const Parameter& parameter = kernel.parameters[i];
    if (value.index && *value.index != i) continue;
    if (value.index) value.offset += parameter.offset;
    if (value.bytes == 0 && value.offset >= parameter.offset &&
        value.offset < parameter.offset + parameter.size)
      value.bytes = parameter.size > 8 ? field_bytes(kernel, value.offset) : parameter.size;
    const auto number = static_cast<int64_t>(value.value);
    if (value.bytes == 4 && number != static_cast<int32_t>(number) && value.value > UINT32_MAX) break;
    if (value.bytes != 0 && value.offset >= parameter.offset &&
        value.offset + value.bytes <= parameter.offset + parameter.size) {
      value.index.reset();
      return value;
    }
    if (value.index) break;
  }
  return std::nullopt;
}

bool has(const Kernel& kernel, const ParameterValue& value) {
  return placed(kernel, value).has_value();
}

// subject: who lacks the parameter, with the verb.
Error lacks(const Launch& launch, const ParameterValue& value, const std::string& subject) {
  const std::string where =
      value.index ? " of parameter " + std::to_string(*value.index) : " of its parameters";
  return {ErrorCode::kLaunchFile,
          (launch.file.empty() ? "--param" : launch.file + ":" + std::to_string(value.line)) + ": " +
              subject + " " + std::to_string(std::max<uint64_t>(value.bytes, 1)) + " bytes at offset " +
              std::to_string(value.offset) + where +
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

// What forbids clusters of the launch's size, or nothing; without one, that of the kernel's declaration is
// taken, and a grid of one block becomes one of a cluster.
std::string fit_cluster(const Kernel& kernel, Launch* launch) {
  const auto text = [](const std::array<uint32_t, 3>& size) {
    return std::to_string(size[0]) + "," + std::to_string(size[1]) + "," + std::to_string(size[2]);
  };
  if (kernel.counts_clusters) return " is compiled with .blocksareclusters, which is not modelled";
  auto& cluster = launch->cluster;
  const bool is_fixed = kernel.cluster[0] != 0;
  if (cluster[0] == 0 && is_fixed) cluster = kernel.cluster;
  if (cluster[0] == 0 && kernel.needs_cluster)
    return " must be launched with clusters (.explicitcluster); give their size with --cluster or cluster = "
           "...";
  if (cluster[0] == 0) return "";
  if (is_fixed && cluster != kernel.cluster)
    return " is compiled for clusters of " + text(kernel.cluster) +
           " blocks (.reqnctapercluster), and --cluster or the launch file asks for " + text(cluster);
  if (product(cluster) == 0 || product(cluster) > kMostClusterBlocks)
    return ": a cluster has 1 to 16 blocks, and not " + std::to_string(product(cluster));
  if (product(launch->grid) == 1) launch->grid = cluster;
  for (size_t axis = 0; axis < 3; ++axis)
    if (launch->grid[axis] % cluster[axis] != 0)
      return ": the grid of " + text(launch->grid) + " blocks must be a multiple of the cluster of " +
             text(cluster) + " along each axis";
  return "";
}

constexpr std::string_view kMark = "// verify: ";
constexpr std::string_view kNameLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

std::optional<std::string> contents_of(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return std::nullopt;
  std::ifstream in(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in) return std::nullopt;
  return text;
}

// "lemma NAME" or "range NAME" if the comment is a mark, else nothing.
std::string mark_of(std::string_view comment) {
  if (!comment.starts_with(kMark)) return "";
  comment.remove_prefix(kMark.size());
  for (const std::string_view kind : {"lemma ", "range "}) {
    if (!comment.starts_with(kind)) continue;
    const size_t end = std::min(comment.find_first_not_of(kNameLetters, kind.size()), comment.size());
    if (end > kind.size()) return std::string(comment.substr(0, end));
  }
  return "";
}

// Reads the relations, and drops those that name a parameter that is not among these.
Status fit_relations(Launch* launch, const std::vector<ParameterValue>& parameters) {
  const auto wrong = [&](const Relation& relation, const std::string& what) {
    const std::string text = "assume = \"" + relation.text + "\"" + what;
    if (relation.line == 0) return Error{ErrorCode::kLaunch, text};
    return Error{ErrorCode::kLaunchFile, launch->file + ":" + std::to_string(relation.line) + ": " + text};
  };
  Launch fitted = *launch;
  fitted.parameters = parameters;
  fitted.relations.clear();
  for (Relation relation : launch->relations) {
    if (const auto problem = read_relation(&relation, *launch))
      return wrong(relation, ", at letter " + std::to_string(problem->at + 1) + ": " + problem->what);
    if (read_relation(&relation, fitted)) continue;
    if (holds(relation, fitted) == false)
      return wrong(relation, " does not hold for this launch; correct one of them");
    fitted.relations.push_back(std::move(relation));
  }
  *launch = std::move(fitted);
  return {};
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

Status fit_launch(Launch* launch, const Kernel& kernel) {
  std::vector<ParameterValue> parameters;
  for (const ParameterValue& value : launch->parameters) {
    if (const auto found = placed(kernel, value))
      parameters.push_back(*found);
    else if (value.own)
      return lacks(*launch, value, kernel.name + " does not have");
  }
  if (launch->block[0] == 0) launch->block = kernel.max_threads;
  if (const std::string problem = fit_cluster(kernel, launch); !problem.empty())
    return Error{ErrorCode::kLaunch, kernel.name + problem};
  if (const Status status = fit_relations(launch, parameters); !status.ok()) return status;
  if (const std::string problem = block_problem(kernel, launch->block); !problem.empty())
    return Error{ErrorCode::kLaunch, kernel.name + problem};
  if (const uint64_t bytes = kernel.shared_bytes + launch->dynamic_shared.value_or(0);
      launch->dynamic_shared && bytes > kMostBlockShared)
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
      if (!value.own &&
          std::ranges::none_of(launched, [&](size_t kernel) { return has(program.kernels[kernel], value); }))
        return lacks(launch, value, "no kernel that this file launches has");
  return {};
}

Marks::Marks(const Program& program) {
  const std::filesystem::path folder = std::filesystem::path(program.path).parent_path();
  for (const std::string& file : program.files) {
    std::optional<std::string> text = contents_of(file);
    if (!text) text = contents_of(folder / std::filesystem::path(file).filename());
    if (text)
      read(file, *text);
    else
      unread_.push_back(file);
  }
}

void Marks::read(const std::string& source, const std::string& text) {
  std::vector<std::string> waiting;  // marks that stand above their line
  int number = 0;
  std::istringstream lines(text);
  for (std::string line_text; std::getline(lines, line_text);) {
    const std::string_view line = line_text;
    ++number;
    const size_t comment = std::min(line.find("//"), line.size());
    const size_t mark_place = std::min(line.find(kMark), line.size());
    if (const std::string mark = mark_of(line.substr(mark_place)); !mark.empty()) waiting.push_back(mark);
    const bool is_code = line.find_first_not_of(" \t\r") < comment;
    if (!is_code) continue;
    for (const std::string& mark : waiting) lines_[mark].push_back({"", source, number, 0});
    waiting.clear();
  }
}

template <class Fact>
Status Marks::place_all(std::vector<Fact>* facts, const std::string& kind,
                        const std::string& launch_file) const {
  std::vector<Fact> placed;
  for (const Fact& fact : *facts) {
    if (fact.at.name.empty()) {
      placed.push_back(fact);
      continue;
    }
    const std::string mark = kind + " " + fact.at.name;
    const auto found = lines_.find(mark);
    if (found == lines_.end())
      return Error{
          ErrorCode::kLaunchFile,
          launch_file + ":" + std::to_string(fact.at.declared_at) +
              ": no line of the sources that the PTX names has " + "the comment '" + std::string(kMark) +
              mark + "'; add it, or correct the name" +
              (unread_.empty() ? ""
                               : "; " + unread_[0] + " cannot be read, nor one of that name beside the PTX")};
    for (const MarkedLine& line : found->second) {
      placed.push_back(fact);
      placed.back().at = line;
    }
  }
  *facts = std::move(placed);
  return {};
}

Status Marks::place(Launch* launch) const {
  if (const Status status = place_all(&launch->lemmas, "lemma", launch->file); !status.ok()) return status;
  return place_all(&launch->ranges, "range", launch->file);
}

}  // namespace glove::verify
