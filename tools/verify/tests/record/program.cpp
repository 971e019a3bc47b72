// Launches a kernel as a static runtime does: it asks dlsym for cuGetProcAddress, and that for the rest. Then
// launches another as a program does that is linked with the driver.
#include <dlfcn.h>

#include <cstdint>

extern "C" int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                              void*, void**, void**);

int main() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) return 1;
  const auto find = reinterpret_cast<int (*)(const char*, void**, int, uint64_t, void*)>(
      dlsym(driver, "cuGetProcAddress_v2"));
  void* launch = nullptr;
  find("cuLaunchKernel", &launch, 12000, 0, nullptr);
  uint64_t p = 0x7010;
  int n = 77;
  struct {
    int64_t a = -1;
    uint64_t q = 0x8000;
  } pair;
  void* parameters[] = {&p, &n, &pair};
  using Launch = int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                         void**, void**);
  for (int i = 0; i < 2; ++i)  // of which the first is recorded
    if (reinterpret_cast<Launch>(launch)(nullptr, 3 + i, 1, 1, 64, 2, 1, 512, nullptr, parameters, nullptr) !=
        42)
      return 2;
  return cuLaunchKernel(&p, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr) == 42 ? 0 : 3;
}
