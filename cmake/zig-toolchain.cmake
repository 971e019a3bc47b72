# Zig's C++ compiler (Clang, with a libc, libc++ and libunwind of its own), for systems older than this one and for others.
# packaging/zig.sh prepares GLOVE_ZIG_ROOT: bin/ARCH-SYSTEM-ABI/ with the programs for one target, headers/ with a copy of
# Debian's libraries that are headers alone, and zlib/ARCH-SYSTEM-ABI/ with zlib built for that target.
#   GLOVE_ZIG_TARGET   the target, such as x86_64-linux-gnu.2.17
#   GLOVE_ZIG_ROOT     the folder that packaging/zig.sh prepares
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES GLOVE_ZIG_TARGET GLOVE_ZIG_ROOT)
set(GLOVE_ZIG_ROOT ${CMAKE_CURRENT_LIST_DIR}/../build/zig CACHE PATH "What packaging/zig.sh prepares")
if(NOT GLOVE_ZIG_TARGET MATCHES "^(x86_64|aarch64)-(linux|macos)")
  message(FATAL_ERROR "GLOVE_ZIG_TARGET is '${GLOVE_ZIG_TARGET}'; it must be a target such as x86_64-linux-gnu.2.17")
endif()
set(CMAKE_SYSTEM_PROCESSOR ${CMAKE_MATCH_1})
set(CMAKE_SYSTEM_NAME Linux)
if(CMAKE_MATCH_2 STREQUAL "macos")
  set(CMAKE_SYSTEM_NAME Darwin)
endif()

get_filename_component(root ${GLOVE_ZIG_ROOT} ABSOLUTE)
set(CMAKE_CXX_COMPILER ${root}/bin/${GLOVE_ZIG_TARGET}/c++)
set(CMAKE_AR ${root}/bin/${GLOVE_ZIG_TARGET}/ar)
set(CMAKE_RANLIB ${root}/bin/${GLOVE_ZIG_TARGET}/ranlib)

set(CMAKE_FIND_ROOT_PATH ${root}/headers ${root}/zlib/${GLOVE_ZIG_TARGET})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
