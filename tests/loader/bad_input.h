// Shared by the tests of broken input.
#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <initializer_list>
#include <iterator>
#include <string>

#include "convert/convert.h"
#include "loader/open.h"
#include "tests/loader/temporary_directory.h"

namespace glove::testing {

inline std::string gzipped(const TemporaryDirectory& directory, const std::string& content) {
  const std::string path = directory.path("scratch.gz");
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, content.data(), static_cast<unsigned>(content.size()));
  gzclose(file);
  std::string bytes = TemporaryDirectory::read(path);
  std::filesystem::remove(path);
  return bytes;
}

inline std::string floats(std::initializer_list<float> values) {
  return {reinterpret_cast<const char*>(std::data(values)), values.size() * sizeof(float)};
}

inline std::string npy(const std::string& dictionary, const std::string& data) {
  std::string header = dictionary + "\n";
  return std::string("\x93NUMPY\1\0", 8) + static_cast<char>(header.size()) + '\0' + header + data;
}

// A directory for the input and the output.
class BadInput : public ::testing::Test {
 protected:
  // Loading and converting refuse the file with the same message, which begins with its path. The converter
  // leaves an existing output unchanged, and no temporary file.
  void expect_error(const std::string& content, const std::string& message, const std::string& name = "in") {
    SCOPED_TRACE(message);
    const std::string path = directory_.write(name, content);
    const std::string output = directory_.write("out.safetensors", "as it was");
    const auto before = directory_.entries();
    const auto opened = open_model(path);
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().message, path + ": " + message);
    const auto converted = convert(path, output, {});
    ASSERT_FALSE(converted.ok());
    EXPECT_EQ(converted.error().message, path + ": " + message);
    EXPECT_EQ(TemporaryDirectory::read(output), "as it was");
    EXPECT_EQ(directory_.entries(), before);
  }

  // The same for a row that can be left out, which the message says.
  void expect_row_error(const std::string& content, const std::string& message,
                        const std::string& name = "in") {
    expect_error(
        content,
        message +
            "; --skip-invalid of glove-convert or \"invalid\":\"skip\" of glove_load leaves such rows out",
        name);
  }

  TemporaryDirectory directory_;
};

}  // namespace glove::testing
