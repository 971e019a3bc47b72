// Stands in for libcuda.so.1 on a machine without a GPU: the kernels f(float* p, int n, struct { long a;
// float* q; }) and, by a handle that is not null, g().
#include <cstdint>
#include <cstring>

extern "C" {
int cuFuncGetName(const char** name, void* function) {
  return *name = function == nullptr ? "f" : "g", 0;
}
int cuFuncGetParamInfo(void* function, size_t index, size_t* offset, size_t* bytes) {
  static constexpr size_t kOffsets[] = {0, 8, 16}, kBytes[] = {8, 4, 16};
  if (function != nullptr || index > 2) return 1;
  return *offset = kOffsets[index], *bytes = kBytes[index], 0;
}
int cuMemGetAddressRange_v2(uint64_t* base, size_t* size, uint64_t address) {
  if (address < 0x7000 || address >= 0x9000) return 1;
  return *base = address & ~uint64_t{0xfff}, *size = 0x1000, 0;
}
int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                   void**) {
  return 42;
}
int cuLaunchKernelEx(const void*, void*, void**, void**) {
  return 43;
}
int cuGetProcAddress_v2(const char* name, void** function, int, uint64_t, void*) {
  *function = std::strcmp(name, "cuLaunchKernel") == 0 ? reinterpret_cast<void*>(&cuLaunchKernel)
                                                       : reinterpret_cast<void*>(&cuLaunchKernelEx);
  return 0;
}
}
