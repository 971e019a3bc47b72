// What `glove-verify record` loads into a program: stands between the program and CUDA's driver, and writes a
// launch file for the first launch of each kernel. The runtime, a static one too, finds the driver's
// functions by dlsym and cuGetProcAddress, which are answered here.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace {

using Function = void*;  // a CUfunction, or a CUkernel in its place
using Dlsym = void* (*)(void*, const char*);

// The beginning of the driver's CUlaunchConfig and, behind the function, of CUDA_KERNEL_NODE_PARAMS.
struct Shape {
  unsigned grid[3], block[3], shared;
};
struct NodeParameters {
  Function function;
  Shape shape;
  void** parameters;
  void** extra;
  Function kernel;  // in place of the function, from version 2 on
};
// CUgraphNodeParams; kind 0 is a kernel.
struct AnyNode {
  int kind, reserved[3];
  NodeParameters kernel;
};

Dlsym real_dlsym() {
  static const auto real = [] {
    for (const char* version : {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"})
      if (void* found = dlvsym(RTLD_NEXT, "dlsym", version)) return reinterpret_cast<Dlsym>(found);
    return Dlsym{nullptr};
  }();
  return real;
}

// The driver's function of this name; null if it has none.
void* driver(const char* name) {
  static void* const library = dlopen("libcuda.so.1", RTLD_LAZY);
  return library == nullptr ? nullptr : real_dlsym()(library, name);
}

template <class... Arguments>
int call(const char* name, Arguments... arguments) {
  const auto function = reinterpret_cast<int (*)(Arguments...)>(driver(name));
  return function == nullptr ? -1 : function(arguments...);
}

class Recorder {
 public:
  ~Recorder() {
    if (folder_.empty()) return;
    std::fprintf(stderr, "glove-verify record: %zu kernels in %s\n", written_, folder_.c_str());
    for (const std::string& what : missed_)
      std::fprintf(stderr, "glove-verify record: missed %s\n", what.c_str());
  }

  void launch(Function function, const Shape& shape, void** parameters) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const char* name = nullptr;
    if (call("cuFuncGetName", &name, function) != 0 && call("cuKernelGetName", &name, function) != 0)
      name = nullptr;
    if (name == nullptr)
      return miss("a kernel whose name the driver does not tell; it needs one of CUDA 12.3 or later");
    if (folder_.empty() || !seen_.insert(name).second) return;
    size_t offset = 0, bytes = 0;
    if (parameters == nullptr && parameter_info(function, 0, &offset, &bytes))
      return miss(std::string(name) + ": its parameters are one block of bytes (extra)");
    write(name, text_of(name, function, shape, parameters));
  }

 private:
  void miss(const std::string& what) { missed_.insert(what); }

  // Returns false if the kernel has no such parameter.
  static bool parameter_info(Function function, size_t index, size_t* offset, size_t* bytes) {
    return call("cuFuncGetParamInfo", function, index, offset, bytes) == 0 ||
           call("cuKernelGetParamInfo", function, index, offset, bytes) == 0;
  }

  // The name as a regular expression.
  static std::string pattern_of(const std::string& name) {
    std::string pattern;
    for (const char c : name) pattern += c == '$' ? "\\$" : std::string(1, c);
    return pattern;
  }

  // Names that are too long for a file end with a number that tells them apart.
  static std::string file_of(const std::string& name) {
    if (name.size() <= 200) return name;
    return name.substr(0, 180) + "-" + std::to_string(std::hash<std::string>()(name));
  }

  std::string text_of(const std::string& name, Function function, const Shape& shape, void** parameters) {
    const auto size = [](const unsigned(&part)[3]) {
      return "[" + std::to_string(part[0]) + ", " + std::to_string(part[1]) + ", " + std::to_string(part[2]) +
             "]";
    };
    const bool large = uint64_t{shape.grid[0]} * shape.grid[1] * shape.grid[2] > 65536;
    if (large)
      miss(name + ": its grid " + size(shape.grid) + " is larger than 65536 blocks; two are written");
    std::string text = "# The first launch that was recorded.\n[[launch]]\nkernel = '^" + pattern_of(name) +
                       "$'\nblock = " + size(shape.block) + "\ngrid = " + (large ? "2" : size(shape.grid)) +
                       "\ndynamic_shared = " + std::to_string(shape.shared) + "\nparameters = [\n";
    std::set<uint64_t> bases;
    for (size_t i = 0;; ++i) {
      size_t offset = 0, bytes = 0;
      if (!parameter_info(function, i, &offset, &bytes)) break;
      std::vector<unsigned char> value(bytes);
      std::memcpy(value.data(), parameters[i], bytes);
      for (size_t at = 0; at < bytes;) at += field(name, i, at, value, bases, &text);
    }
    return text + "]\n";
  }

  // Writes one number or pointer of a parameter; returns its bytes.
  size_t field(const std::string& name, size_t index, size_t at, const std::vector<unsigned char>& value,
               std::set<uint64_t>& bases, std::string* text) {
    const std::string begin =
        "  { index = " + std::to_string(index) + (at > 0 ? ", at = " + std::to_string(at) : "") + ", ";
    uint64_t number = 0, base = 0;
    size_t size = 0;
    if (at % 8 == 0 && value.size() - at >= 8) {
      std::memcpy(&number, &value[at], 8);
      const bool points = number != 0 && call("cuMemGetAddressRange_v2", &base, &size, number) == 0;
      if (points && !bases.insert(base).second)
        miss(name + ": parameter " + std::to_string(index) +
             " points into the same allocation as another, and the verifier takes them for "
             "different buffers");
      // Of a pointer into the middle of an allocation only what lies behind it is known, and not its size.
      if (points)
        *text += begin + "buffer = 'p" + std::to_string(index) + (at > 0 ? "_" + std::to_string(at) : "") +
                 "'" + (number == base ? ", bytes = " + std::to_string(size) : "") + " },\n";
      else if (value.size() == 8 && number <= INT64_MAX)
        *text += begin + "u64 = " + std::to_string(number) + " },\n";
      if (points || (value.size() == 8 && number <= INT64_MAX)) return 8;
    }
    if (value.size() - at < 4) {
      miss(name + ": the last " + std::to_string(value.size() - at) + " bytes of parameter " +
           std::to_string(index));
      return value.size() - at;
    }
    uint32_t small = 0;
    std::memcpy(&small, &value[at], 4);
    *text += begin + "u32 = " + std::to_string(small) + " },\n";
    return 4;
  }

  void write(const std::string& name, const std::string& text) {
    const std::string path = folder_ + "/" + file_of(name) + ".launch.toml";
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0) return miss(name + ": " + path + " cannot be made: " + std::strerror(errno));
    if (::write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
      miss(name + ": " + path + " is not whole");
    close(file);
    ++written_;
  }

  std::mutex mutex_;
  const std::string folder_ =
      std::getenv("GLOVE_VERIFY_RECORD") == nullptr ? "" : std::getenv("GLOVE_VERIFY_RECORD");
  std::set<std::string> seen_, missed_;
  size_t written_ = 0;
};

Recorder& recorder() {
  static Recorder one;
  return one;
}

void launch_node(const NodeParameters& node, bool names_kernels) {
  const bool kernel = node.function == nullptr && names_kernels;
  recorder().launch(kernel ? node.kernel : node.function, node.shape, node.parameters);
}

}  // namespace

// Programs that are linked with the driver find these before the driver's own.
extern "C" {
int cuLaunchKernel(Function f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void* stream, void** parameters, void** extra) {
  recorder().launch(f, {{gx, gy, gz}, {bx, by, bz}, shared}, parameters);
  return call("cuLaunchKernel", f, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra);
}

int cuLaunchCooperativeKernel(Function f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                              unsigned bz, unsigned shared, void* stream, void** parameters) {
  recorder().launch(f, {{gx, gy, gz}, {bx, by, bz}, shared}, parameters);
  return call("cuLaunchCooperativeKernel", f, gx, gy, gz, bx, by, bz, shared, stream, parameters);
}

int cuLaunchKernelEx(const Shape* shape, Function f, void** parameters, void** extra) {
  recorder().launch(f, *shape, parameters);
  return call("cuLaunchKernelEx", shape, f, parameters, extra);
}

int cuGraphAddKernelNode_v2(void* node, void* graph, const void* before, size_t count,
                            const NodeParameters* parameters) {
  launch_node(*parameters, true);
  return call("cuGraphAddKernelNode_v2", node, graph, before, count, parameters);
}

int cuGraphAddKernelNode(void* node, void* graph, const void* before, size_t count,
                         const NodeParameters* parameters) {
  launch_node(*parameters, false);
  return call("cuGraphAddKernelNode", node, graph, before, count, parameters);
}

int cuGraphAddNode(void* node, void* graph, const void* before, size_t count, const AnyNode* parameters) {
  if (parameters->kind == 0) launch_node(parameters->kernel, true);
  return call("cuGraphAddNode", node, graph, before, count, parameters);
}

int cuGraphAddNode_v2(void* node, void* graph, const void* before, const void* edges, size_t count,
                      const AnyNode* parameters) {
  if (parameters->kind == 0) launch_node(parameters->kernel, true);
  return call("cuGraphAddNode_v2", node, graph, before, edges, count, parameters);
}

int cuGetProcAddress_v2(const char* symbol, void** function, int version, uint64_t flags, void* status);
int cuGetProcAddress(const char* symbol, void** function, int version, uint64_t flags);
}

namespace {

// What stands in for a function of the driver; null if nothing does.
void* stand_in(const std::string& name) {
  // Launches on the thread's own stream have names that end in _ptsz, and go on to the same function here.
  const std::string plain = name.ends_with("_ptsz") ? name.substr(0, name.size() - 5) : name;
  if (plain == "cuLaunchKernel") return reinterpret_cast<void*>(&cuLaunchKernel);
  if (plain == "cuLaunchCooperativeKernel") return reinterpret_cast<void*>(&cuLaunchCooperativeKernel);
  if (plain == "cuLaunchKernelEx") return reinterpret_cast<void*>(&cuLaunchKernelEx);
  if (plain == "cuGraphAddKernelNode_v2") return reinterpret_cast<void*>(&cuGraphAddKernelNode_v2);
  if (plain == "cuGraphAddKernelNode") return reinterpret_cast<void*>(&cuGraphAddKernelNode);
  if (plain == "cuGraphAddNode_v2") return reinterpret_cast<void*>(&cuGraphAddNode_v2);
  if (plain == "cuGraphAddNode") return reinterpret_cast<void*>(&cuGraphAddNode);
  if (plain == "cuGetProcAddress_v2") return reinterpret_cast<void*>(&cuGetProcAddress_v2);
  if (plain == "cuGetProcAddress") return reinterpret_cast<void*>(&cuGetProcAddress);
  return nullptr;
}

// The name of the function that the driver gives to a program of this version of CUDA.
std::string versioned(const std::string& symbol, int version) {
  const bool second = symbol == "cuGraphAddNode" ? version >= 12030
                                                 : version >= 12000 && (symbol == "cuGetProcAddress" ||
                                                                        symbol == "cuGraphAddKernelNode");
  return second ? symbol + "_v2" : symbol;
}

}  // namespace

extern "C" {
int cuGetProcAddress(const char* symbol, void** function, int version, uint64_t flags) {
  const int result = call("cuGetProcAddress", symbol, function, version, flags);
  if (void* other = stand_in(symbol); result == 0 && other != nullptr) *function = other;
  return result;
}

int cuGetProcAddress_v2(const char* symbol, void** function, int version, uint64_t flags, void* status) {
  const int result = call("cuGetProcAddress_v2", symbol, function, version, flags, status);
  if (void* other = stand_in(versioned(symbol, version)); result == 0 && other != nullptr) *function = other;
  return result;
}

// Answers for the driver's functions, and passes all else on.
void* dlsym(void* handle, const char* name) noexcept {
  void* const found = real_dlsym()(handle, name);
  if (found == nullptr || std::strncmp(name, "cu", 2) != 0) return found;
  void* const other = stand_in(name);
  return other != nullptr ? other : found;
}
}
