#include "cpu/processor_name.h"

#include <cstring>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace glove::cpu {

std::string processor_name() {
#if defined(__x86_64__)
  unsigned registers[12];
  for (unsigned leaf = 0; leaf < 3; ++leaf) {
    unsigned* four = registers + 4 * leaf;
    if (__get_cpuid(0x80000002U + leaf, &four[0], &four[1], &four[2], &four[3]) == 0) return "CPU";
  }
  char text[sizeof(registers) + 1] = {};
  std::memcpy(text, registers, sizeof(registers));
  std::string name = text;
  name.erase(0, name.find_first_not_of(' '));
  name.erase(name.find_last_not_of(' ') + 1);
  return name.empty() ? "CPU" : name;
#else
  return "CPU";
#endif
}

}  // namespace glove::cpu
