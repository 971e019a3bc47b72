#include "record/command.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <string>

namespace glove::verify {

int record(int argc, char** argv) {
  const auto fail = [](const std::string& what) {
    std::cerr << "glove-verify record: " << what << "\n";
    return 4;
  };
  if (argc < 6 || std::strcmp(argv[2], "-o") != 0 || std::strcmp(argv[4], "--") != 0)
    return fail("write: glove-verify record -o DIR -- PROGRAM [ARGUMENTS]");
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::absolute(argv[3], error);
  std::filesystem::create_directories(folder, error);
  if (error) return fail("the folder '" + folder.string() + "' cannot be made: " + error.message());
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  std::filesystem::path library = own / "libglove_verify_record.so";
  if (!std::filesystem::exists(library, error))
    library = own.parent_path() / "lib" / "libglove_verify_record.so";
  if (!std::filesystem::exists(library, error))
    return fail("there is no libglove_verify_record.so beside " + own.string() +
                "/glove-verify; build that target");
  const char* before = std::getenv("LD_PRELOAD");
  const std::string preload = library.string() + (before == nullptr ? "" : std::string(":") + before);
  setenv("LD_PRELOAD", preload.c_str(), 1);
  setenv("GLOVE_VERIFY_RECORD", folder.c_str(), 1);
  execvp(argv[5], argv + 5);
  return fail("'" + std::string(argv[5]) + "' cannot be run: " + std::strerror(errno));
}

}  // namespace glove::verify
