#include "sql/adapter/database_code.h"

#include "sql/adapter/boundary.h"

namespace glove::sql {
namespace {

thread_local int remembered = SQLITE_OK;

}  // namespace

void remember_database_code(int code) noexcept {
  if ((code & 0xff) != SQLITE_CONSTRAINT) remembered = code;
}

int database_code_for(int code) noexcept {
  return code == SQLITE_ERROR && remembered != SQLITE_OK ? remembered : code;
}

}  // namespace glove::sql
