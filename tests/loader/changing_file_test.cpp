// Files that another program cuts while they are read: an error, or a model of what was read before.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "convert/convert.h"
#include "tests/loader/bad_input.h"

namespace glove {
namespace {

class ChangingFile : public testing::BadInput {
 protected:
  // Cuts the file at the n-th call that asks whether to stop, for each n. Returns the errors, each in a line
  // of its own.
  std::string errors_of(const std::string& name, const std::string& content, uintmax_t kept) {
    std::string errors;
    const std::string path = directory_.path(name);
    bool was_cut = true;
    for (int cut_at = 1; was_cut; ++cut_at) {
      directory_.write(name, content);
      int calls = 0;
      OpenOptions options;
      options.threads = 1;
      options.interrupted = [&] {
        if (++calls == cut_at) std::filesystem::resize_file(path, kept);
        return false;
      };
      const auto opened = open_model(path, options);
      was_cut = calls >= cut_at;
      if (opened.ok()) {
        EXPECT_EQ(opened.value()->vocabulary().word(0), "a");
        continue;
      }
      EXPECT_TRUE(was_cut);
      const std::string message = opened.error().message.substr(path.size() + 2) + "\n";
      if (errors.find(message) == std::string::npos) errors += message;
    }
    return errors;
  }
};

TEST_F(ChangingFile, Text) {
  const std::string errors = errors_of("in", "a 1 2\nb 3 4\nc 5 6\n", 0);
  EXPECT_NE(errors.find("there is no row\n"), std::string::npos) << errors;
}

TEST_F(ChangingFile, Matrices) {
  directory_.write("m.words", "a\nb\n");
  const std::string content = testing::npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }",
                                           testing::floats({1, 2, 3, 4}));
  for (const uintmax_t kept : {0, 20, static_cast<int>(content.size()) - 8}) {
    const std::string errors = errors_of("m.npy", content, kept);
    EXPECT_NE(errors.find(": the file ends early, before 2 rows of 8 bytes\n"), std::string::npos) << errors;
  }
}

TEST_F(ChangingFile, CompressedText) {
  const std::string content = testing::gzipped(directory_, "a 1 2\nb 3 4\nc 5 6\n");
  const std::string errors = errors_of("in", content, 12);
  EXPECT_NE(errors.find("the compressed data ends early\n"), std::string::npos) << errors;
}

}  // namespace
}  // namespace glove
