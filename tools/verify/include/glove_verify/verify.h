// Decides whether the synchronisation of CUDA kernels is correct, from their PTX and without a GPU:
//
//   const auto module = glove::verify::parse(ptx, "kernels.ptx");
//   glove::verify::Launch launch;
//   launch.grid = {2, 1, 1};
//   const auto verdict = glove::verify::verify(module.value(), 0, launch, {});
//
// Nothing here prints, throws deliberately or keeps anything between calls; std::bad_alloc may propagate.
// Threads may call everything at the same time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "glove_verify/finding.h"
#include "glove_verify/launch.h"
#include "glove_verify/status.h"

namespace glove::verify {

struct Program;

// A parameter of a kernel, in the order of its declaration.
struct ParameterInfo {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  std::string type;  // PTX's, such as "u32"
  bool is_pointer = false;
};

// What a kernel's declaration says.
struct KernelInfo {
  std::string name;
  std::array<uint32_t, 3> max_threads = {0, 0, 0};  // .maxntid or .reqntid; 0: neither
  bool exact_threads = false;                       // .reqntid
  std::array<uint32_t, 3> cluster = {0, 0, 0};      // .reqnctapercluster; 0: none
  uint64_t shared_bytes = 0;                        // static
  bool dynamic_shared = false;                      // it, or another of its file, names dynamic shared memory
  std::vector<ParameterInfo> parameters = {};
  size_t instructions = 0;
};

// The kernels of a PTX file, in its order. Copies share them.
class Module {
 public:
  const std::vector<KernelInfo>& kernels() const { return kernels_; }
  const Program& program() const { return *program_; }

 private:
  friend Result<Module> parse(std::string_view ptx, const std::string& file);
  explicit Module(Program program);

  std::shared_ptr<const Program> program_;
  std::vector<KernelInfo> kernels_;
};

// Everything that nvcc emits for compute capability 5.0 to 12.x. file: how errors name the text.
Result<Module> parse(std::string_view ptx, const std::string& file);

// The launches of a launch file (TOML; README.md describes it). An error if they do not fit the module's
// kernels. The lines that they name are looked up in the sources that the PTX names or, where there is none,
// in those of the same names beside the file that parse() was given.
Result<std::vector<Launch>> read_launches(const std::string& path, const Module& module);

// The module's kernels that a launch is for, by their places. An error if launch.kernel is no regular
// expression.
Result<std::vector<size_t>> kernels_of(const Launch& launch, const Module& module);

// Runs one kernel for one launch; a block of size 0 is that of the kernel's declaration. An error if the
// kernel cannot be launched so. REQUIRES: kernel < module.kernels().size()
Result<Verdict> verify(const Module& module, size_t kernel, const Launch& launch, const Options& options);

// A verdict as people read it. explain: with the way to each defect.
std::string text_of(const Verdict& verdict, bool explain);

// {"verdicts": [{"file", "kernel", "verdict", "exit_code", "shape", "seconds", "warp_instructions", "paths",
// "findings", "assumptions", "not_reached"}]}; README.md describes the fields.
std::string json_of(const std::vector<Verdict>& verdicts);

// SARIF 2.1.0: a log with one run, and one result per finding. all_read: whether every file and kernel asked
// for was found.
std::string sarif_of(const std::vector<Verdict>& verdicts, bool all_read);

}  // namespace glove::verify
