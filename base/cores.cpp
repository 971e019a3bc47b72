#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "base/cores.h"

namespace glove {
namespace {

constexpr double kNoQuota = 1e9;

// Counts the cores in the affinity mask, which the kernel only returns if the given mask is large enough.
int cores_by_affinity() {
  for (int size = 1024; size <= 1 << 20; size *= 2) {
    cpu_set_t* set = CPU_ALLOC(size);
    if (set == nullptr) return 1;
    const size_t bytes = CPU_ALLOC_SIZE(size);
    const bool known = sched_getaffinity(0, bytes, set) == 0;
    const int count = known ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (known) return std::max(count, 1);
  }
  return std::max(static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)), 1);
}

// Parses "max 100000" or "150000 100000" and returns the number of cores.
double quota_in(const std::string& directory) {
  std::string quota;
  double period = 0;
  if (std::ifstream file(directory + "/cpu.max"); file >> quota >> period && quota != "max" && period > 0)
    return std::stod(quota) / period;
  double v1_quota = 0;
  std::ifstream quota_file(directory + "/cpu.cfs_quota_us");
  std::ifstream period_file(directory + "/cpu.cfs_period_us");
  if (quota_file >> v1_quota && period_file >> period && v1_quota > 0 && period > 0) return v1_quota / period;
  return kNoQuota;
}

// Returns the smallest quota from the process's cgroup up to the root, in both hierarchies.
double cgroup_quota() {
  double cores = kNoQuota;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && controllers.find("cpu") == std::string::npos) continue;
    const std::string root = controllers.empty() ? "/sys/fs/cgroup" : "/sys/fs/cgroup/" + controllers;
    std::string path = line.substr(second + 1);
    while (!path.empty()) {
      cores = std::min(cores, quota_in(root + path));
      const size_t slash = path.rfind('/');
      path.resize(slash == std::string::npos ? 0 : slash);
    }
    cores = std::min(cores, quota_in(root));
  }
  return cores;
}

}  // namespace

int usable_cores() {
  static const double quota = [] {
    try {
      return cgroup_quota();
    } catch (const std::exception&) {  // a file with content that the kernel's manual does not describe
      return kNoQuota;
    }
  }();
  const auto allowed = static_cast<int>(std::min(std::ceil(quota), kNoQuota));
  return std::max(1, std::min(cores_by_affinity(), allowed));
}

}  // namespace glove
