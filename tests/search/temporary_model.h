#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace glove::testing {

// A small GloVe text file, removed at the end.
class TemporaryModel {
 public:
  TemporaryModel(const std::string& name, const std::vector<std::string>& lines)
      : path_(::testing::TempDir() + "glove-" + std::to_string(getpid()) + "-" + name) {
    std::ofstream file(path_);
    for (const std::string& line : lines) file << line << "\n";
  }
  ~TemporaryModel() { std::remove(path_.c_str()); }
  TemporaryModel(const TemporaryModel&) = delete;
  TemporaryModel& operator=(const TemporaryModel&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace glove::testing
