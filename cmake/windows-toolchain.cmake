# Windows on x86-64 by Debian's clang, with the headers and libraries of its mingw-w64 (g++-mingw-w64-x86-64-posix and
# libz-mingw-w64-dev). Not by its GCC, which keeps the stack of Windows aligned to 16 bytes only, where it stores AVX-512
# registers by instructions that need 64 (GCC's bug 54412). packaging/windows.sh prepares GLOVE_WINDOWS_ROOT: headers/ with a copy
# of Debian's libraries that are headers alone.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES GLOVE_WINDOWS_ROOT)
set(GLOVE_WINDOWS_ROOT ${CMAKE_CURRENT_LIST_DIR}/../build/windows-root CACHE PATH "What packaging/windows.sh prepares")
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(triple x86_64-w64-mingw32)

# Clang does not find a GCC whose folder is not named by a number alone.
file(GLOB gcc /usr/lib/gcc/${triple}/*-posix)
if(NOT gcc)
  message(FATAL_ERROR "there is no g++-mingw-w64-x86-64-posix; ./build.sh --packages-only windows installs it")
endif()
list(GET gcc -1 gcc)
set(CMAKE_CXX_COMPILER clang++)
set(CMAKE_CXX_COMPILER_TARGET ${triple})
# libstdc++'s thread-local variables are those of GCC, which emulates them on Windows.
set(CMAKE_CXX_FLAGS_INIT
    "-stdlib++-isystem ${gcc}/include/c++ -cxx-isystem ${gcc}/include/c++/${triple} -femulated-tls")
set(CMAKE_AR ${triple}-ar)
set(CMAKE_RANLIB ${triple}-ranlib)
foreach(kind EXE SHARED MODULE)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT "-fuse-ld=lld -B${gcc} -L${gcc} -static")
endforeach()
set(CMAKE_CXX_STANDARD_LIBRARIES_INIT "-lstdc++ -lpthread")

set(ZLIB_USE_STATIC_LIBS ON)
get_filename_component(root ${GLOVE_WINDOWS_ROOT} ABSOLUTE)
set(CMAKE_FIND_ROOT_PATH ${root}/headers /usr/${triple})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
