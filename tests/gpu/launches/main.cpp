// Writes NAME.launch.toml for each gpu/kernels/NAME.cu into a folder: launches FOLDER
#include <fstream>
#include <iostream>

#include "tests/gpu/launches/launch_file.h"

int main(int argc, char** argv) {
  namespace launches = glove::gpu::launches;
  if (argc != 2) {
    std::cerr << "launches: requires the folder to write the launch files to\n";
    return 2;
  }
  for (const auto describe : {launches::search_launches, launches::kmeans_launches, launches::row_launches})
    for (const launches::LaunchFile& file : describe()) {
      const std::string path = std::string(argv[1]) + "/" + file.source + ".launch.toml";
      std::ofstream out(path, std::ios::binary);
      out << launches::toml_of(file);
      if (!out.flush()) {
        std::cerr << "launches: cannot write '" << path << "'; check the folder\n";
        return 1;
      }
    }
  return 0;
}
