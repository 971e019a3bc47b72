# glove_find_package(NAME) and glove_find_header(VARIABLE HEADER...) find what a build requires; what they do not find is an error that
# says how to install it.
function(glove_require found name)
  if(NOT found)
    message(FATAL_ERROR "sqlite-glove is built with ${name}, which CMake did not find; on Debian and Ubuntu "
      "${PROJECT_SOURCE_DIR}/build.sh --packages-only build installs it, and packages.txt lists what other systems need.")
  endif()
endfunction()

macro(glove_find_package name)
  find_package(${name} QUIET)
  glove_require("${${name}_FOUND}" ${name})
endmacro()

macro(glove_find_header variable header)
  find_path(${variable} ${header} ${ARGN})
  glove_require("${${variable}}" ${header})
endmacro()
