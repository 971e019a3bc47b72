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
    if (parameters == nullptr)
      return miss(std::string(name) + ": its parameters are one block of bytes (extra)");
    write(name, text_of(name, function, shape, parameters));
  }

 private:
  void miss(const std::string& what) { missed_.insert(what); }

  std::string text_of(const std::string& name, Function function, const Shape& shape, void** parameters) {
    const auto size = [](const unsigned(&part)[3]) {
      return "[" + std::to_string(part[0]) + ", " + std::to_string(part[1]) + ", " + std::to_string(part[2]) +
             "]";
    };
    const bool large = uint64_t{shape.grid[0]} * shape.grid[1] * shape.grid[2] > 65536;
    if (large)
      miss(name + ": its grid " + size(shape.grid) + " is larger than 65536 blocks; two are written");
    std::string text = "# The first launch that was recorded.\n[[launch]]\nkernel = '^" + name +
                       "$'\nblock = " + size(shape.block) + "\ngrid = " + (large ? "2" : size(shape.grid)) +
                       "\ndynamic_shared = " + std::to_string(shape.shared) + "\nparameters = [\n";
    std::set<uint64_t> bases;
    for (size_t i = 0;; ++i) {
      size_t offset = 0, bytes = 0;
      if (call("cuFuncGetParamInfo", function, i, &offset, &bytes) != 0 &&
          call("cuKernelGetParamInfo", function, i, &offset, &bytes) != 0)
        break;
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
      if (points)
        *text += begin + "buffer = 'p" + std::to_string(index) + (at > 0 ? "_" + std::to_string(at) : "") +
                 "', bytes = " + std::to_string(base + size - number) + " },\n";
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
    const std::string path = folder_ + "/" + name.substr(0, 200) + ".launch.toml";
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

int launch_kernel(Function f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                  unsigned shared, void* stream, void** parameters, void** extra) {
  recorder().launch(f, {{gx, gy, gz}, {bx, by, bz}, shared}, parameters);
  return call("cuLaunchKernel", f, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra);
}

int launch_cooperative(Function f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                       unsigned bz, unsigned shared, void* stream, void** parameters) {
  recorder().launch(f, {{gx, gy, gz}, {bx, by, bz}, shared}, parameters);
  return call("cuLaunchCooperativeKernel", f, gx, gy, gz, bx, by, bz, shared, stream, parameters);
}

int launch_extended(const Shape* shape, Function f, void** parameters, void** extra) {
  recorder().launch(f, *shape, parameters);
  return call("cuLaunchKernelEx", shape, f, parameters, extra);
}

int add_node(void* node, void* graph, const void* before, size_t count, const NodeParameters* parameters) {
  recorder().launch(parameters->function, parameters->shape, parameters->parameters);
  return call("cuGraphAddKernelNode_v2", node, graph, before, count, parameters);
}

int get_address(const char* symbol, void** function, int version, uint64_t flags, void* status);
int get_address_before_12(const char* symbol, void** function, int version, uint64_t flags);

// What stands in for a function of the driver; null if nothing does.
void* stand_in(const std::string& name) {
  // Launches on the thread's own stream have names that end in _ptsz, and go on to the same function here.
  const std::string plain = name.ends_with("_ptsz") ? name.substr(0, name.size() - 5) : name;
  if (plain == "cuLaunchKernel") return reinterpret_cast<void*>(&launch_kernel);
  if (plain == "cuLaunchCooperativeKernel") return reinterpret_cast<void*>(&launch_cooperative);
  if (plain == "cuLaunchKernelEx") return reinterpret_cast<void*>(&launch_extended);
  if (plain == "cuGraphAddKernelNode" || plain == "cuGraphAddKernelNode_v2")
    return reinterpret_cast<void*>(&add_node);
  if (plain == "cuGetProcAddress_v2") return reinterpret_cast<void*>(&get_address);
  if (plain == "cuGetProcAddress") return reinterpret_cast<void*>(&get_address_before_12);
  return nullptr;
}

int get_address(const char* symbol, void** function, int version, uint64_t flags, void* status) {
  const int result = call("cuGetProcAddress_v2", symbol, function, version, flags, status);
  const bool itself = std::strcmp(symbol, "cuGetProcAddress") == 0 && version >= 12000;
  if (void* other = stand_in(itself ? "cuGetProcAddress_v2" : symbol); result == 0 && other != nullptr)
    *function = other;
  return result;
}

int get_address_before_12(const char* symbol, void** function, int version, uint64_t flags) {
  const int result = call("cuGetProcAddress", symbol, function, version, flags);
  if (void* other = stand_in(symbol); result == 0 && other != nullptr) *function = other;
  return result;
}

}  // namespace

// Answers for the driver's functions, and passes all else on.
extern "C" void* dlsym(void* handle, const char* name) noexcept {
  void* const found = real_dlsym()(handle, name);
  if (found == nullptr || std::strncmp(name, "cu", 2) != 0) return found;
  void* const other = stand_in(name);
  return other != nullptr ? other : found;
}
