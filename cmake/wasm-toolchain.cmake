# WebAssembly by Debian's Emscripten. packaging/wasm/build.sh prepares GLOVE_WASM_ROOT: headers/ with a copy of Debian's libraries
# that are headers alone, and the sources of zlib and SQLite.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES GLOVE_WASM_ROOT)
set(GLOVE_WASM_ROOT ${CMAKE_CURRENT_LIST_DIR}/../build/wasm-root CACHE PATH "What packaging/wasm/build.sh prepares")
include(/usr/share/emscripten/cmake/Modules/Platform/Emscripten.cmake)

get_filename_component(root ${GLOVE_WASM_ROOT} ABSOLUTE)
list(APPEND CMAKE_FIND_ROOT_PATH ${root}/headers)
set(CMAKE_PREFIX_PATH /usr)  # below that folder
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ZLIB_INCLUDE_DIR ${root}/zlib/source)
set(ZLIB_LIBRARY ${CMAKE_BINARY_DIR}/libz.a)  # packaging/wasm/CMakeLists.txt
set(CMAKE_HAVE_LIBC_PTHREAD TRUE)  # its stubs, in which starting a thread fails

# Exceptions and SIMD are WebAssembly's own, which every browser has had since 2023. Relaxed SIMD is not: its bits may differ.
# Size matters most: the sources whose loops take the time set -O3 by themselves.
get_filename_component(older ${CMAKE_CURRENT_LIST_DIR}/../packaging/wasm/older_libcxx ABSOLUTE)
set(CMAKE_CXX_FLAGS_INIT "-fwasm-exceptions -msimd128 -isystem ${older} -include ${older}/additions.h")
set(CMAKE_C_FLAGS_INIT "-msimd128")
set(CMAKE_C_FLAGS_RELEASE "-Os -DNDEBUG" CACHE STRING "")
set(CMAKE_CXX_FLAGS_RELEASE "-Os -DNDEBUG" CACHE STRING "")
