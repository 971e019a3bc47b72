# Precompiled headers and unity batches: half of this project's compile time is parsing the standard library. With
# GLOVE_FAST_BUILD=OFF each source is compiled by itself, as packaging/zig.sh does. tests/architecture/check_sources.py checks
# that each includes what it needs.
option(GLOVE_FAST_BUILD "Use precompiled headers, and compile small sources together" ON)

# The most sources of a batch. A function of a header or template is compiled once per batch that calls it, so a whole room in one
# takes half as long as in batches of eight.
set(GLOVE_BATCH 24)

# A compiler cache, if there is one and the user has named no launcher. Clones in other folders share its content.
option(GLOVE_CCACHE "Compile through ccache if it is installed" ON)
find_program(GLOVE_CCACHE_PROGRAM ccache)
mark_as_advanced(GLOVE_CCACHE_PROGRAM)
if(GLOVE_CCACHE AND GLOVE_CCACHE_PROGRAM AND CMAKE_HOST_UNIX AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${GLOVE_CCACHE_PROGRAM})
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)  # ccache needs it
endif()

set(GLOVE_STANDARD_HEADERS <algorithm> <array> <atomic> <bit> <charconv> <chrono> <cmath> <condition_variable> <cstdint> <cstring>
    <deque> <functional> <limits> <map> <memory> <mutex> <numeric> <optional> <span> <string> <string_view> <thread> <utility>
    <vector>)

# glove_fast_build(TARGET [SHARE OWNER | WITH HEADER...] [APART SOURCE...]): gives the target the precompiled header of OWNER
# (glove_base if neither is named), or one of its own that adds HEADER, and compiles its C++ sources in batches. Sources APART
# are compiled alone: their names clash with those of another, they include a large library, their loops are the product's
# arithmetic, or a test compiles them a second time. A new source whose names clash does not compile until it is named there.
function(glove_fast_build target)
  cmake_parse_arguments(PARSE_ARGV 1 fast "" "SHARE" "APART;WITH")
  if(NOT GLOVE_FAST_BUILD)
    return()
  endif()
  if(fast_WITH)
    target_precompile_headers(${target} PRIVATE ${GLOVE_STANDARD_HEADERS} ${fast_WITH})
  else()
    set(owner ${fast_SHARE})
    if(NOT owner)
      set(owner glove_base)
    endif()
    get_property(level TARGET ${target} PROPERTY GLOVE_LEVEL)
    get_property(owners_level TARGET ${owner} PROPERTY GLOVE_LEVEL)
    if(NOT "${level}" STREQUAL "${owners_level}")
      message(FATAL_ERROR "${target} shares the precompiled header of ${owner}, which is optimized otherwise (glove_optimize)")
    endif()
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endif()
  # Batches of one length, because two processors compile them side by side.
  get_target_property(sources ${target} SOURCES)
  list(REMOVE_ITEM sources "" ${fast_APART})
  list(LENGTH sources count)
  math(EXPR batches "1 + (${count} - 1) / ${GLOVE_BATCH}")
  math(EXPR length "(${count} + ${batches} - 1) / ${batches}")
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${length})
  # In a batch, GCC takes every source for a header, and warns of types in it that use its anonymous namespace.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
  if(fast_APART)
    set_source_files_properties(${fast_APART} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

# glove_optimize(TARGET LEVEL): a Release compiles the target with LEVEL instead of -O3: with -O2 what has no loops over rows, which
# makes it a sixth smaller, and with -Os what no query spends its time in, which halves it. WebAssembly is -Os already. A target
# must share the precompiled header of one of its own level, glove_base (-O2), glove_model (-O3) or glove_loader (-Os): GCC accepts
# others, but then compiles functions with their level.
function(glove_optimize target level)
  if(NOT EMSCRIPTEN OR level STREQUAL -Os)
    target_compile_options(${target} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:${level}>)
    # Otherwise GCC calls a destructor of three instructions there. A limit of 5 makes glove.so a twentieth larger.
    if(level STREQUAL -Os)
      target_compile_options(${target} PRIVATE
        "$<$<AND:$<CONFIG:Release>,$<COMPILE_LANG_AND_ID:CXX,GNU>>:SHELL:--param max-inline-insns-size=4>")
    endif()
    set_target_properties(${target} PROPERTIES GLOVE_LEVEL ${level})
  endif()
endfunction()
