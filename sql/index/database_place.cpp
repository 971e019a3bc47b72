#include "sql/index/database_place.h"

#include <sys/stat.h>

#include <cstdint>

namespace glove::sql {

std::string database_place(sqlite3* db, const std::string& schema) {
  const char* const path = sqlite3_db_filename(db, schema.c_str());
  struct stat file {};
  int moved = 1;  // stays so if the VFS does not know the request, as that of databases in memory
  if (path != nullptr && *path != '\0' && stat(path, &file) == 0 &&
      sqlite3_file_control(db, schema.c_str(), SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved == 0)
    return "file " + std::to_string(file.st_dev) + ":" + std::to_string(file.st_ino);
  return "connection " + std::to_string(reinterpret_cast<uintptr_t>(db)) + " " + schema;
}

}  // namespace glove::sql
