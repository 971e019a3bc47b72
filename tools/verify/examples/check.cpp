// The library in a program of its own: which threads race with each other in the kernels of a PTX file?
//
//   check kernels.ptx
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "glove_verify/verify.h"

int main(int argc, char** argv) {
  namespace verify = glove::verify;
  if (argc != 2) {
    std::cerr << "usage: check FILE.ptx\n";
    return 4;
  }
  std::ifstream file(argv[1], std::ios::binary);
  const std::string ptx((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto module = verify::parse(ptx, argv[1]);
  if (!module.ok()) {
    std::cerr << module.error().message << "\n";
    return 4;
  }
  const verify::Launch launch;  // of one block
  int races = 0;
  for (size_t kernel = 0; kernel < module.value().kernels().size(); ++kernel) {
    const auto verdict = verify::verify(module.value(), kernel, launch, {});
    if (!verdict.ok()) {
      std::cerr << verdict.error().message << "\n";
      continue;
    }
    for (const verify::Finding& finding : verdict.value().findings) {
      if (finding.accesses.size() != 2) continue;
      ++races;
      const verify::Access &a = finding.accesses[0], &b = finding.accesses[1];
      std::cout << verdict.value().kernel << ": thread " << a.thread << " (PTX line " << a.site.ptx_line
                << ") and thread " << b.thread << " (PTX line " << b.site.ptx_line << ")\n";
    }
  }
  return races > 0 ? 1 : 0;
}
