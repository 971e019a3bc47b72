# glove::static and libglove.a, for programs that contain SQLite: an entry point that calls the SQLite which the program links
# (linked_sqlite.h), in one archive with the libraries of glove.so.
add_library(glove_core STATIC glove_extension.cpp linked_sqlite.cpp)
set(calls ${CMAKE_CURRENT_BINARY_DIR}/sqlite_calls.inc)
file(GLOB_RECURSE callers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/sql/*.h ${PROJECT_SOURCE_DIR}/sql/*.cpp
  ${CMAKE_CURRENT_SOURCE_DIR}/glove_extension.cpp)
add_custom_command(OUTPUT ${calls}
  COMMAND ${CMAKE_COMMAND} -DSOURCE_DIR=${PROJECT_SOURCE_DIR} -DOUTPUT=${calls} -P ${PROJECT_SOURCE_DIR}/cmake/WriteSqliteCalls.cmake
  DEPENDS ${callers} ${PROJECT_SOURCE_DIR}/cmake/WriteSqliteCalls.cmake VERBATIM)
target_sources(glove_core PRIVATE ${calls})
target_include_directories(glove_core PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
target_compile_definitions(glove_core PRIVATE GLOVE_STATIC)
target_link_libraries(glove_core PRIVATE glove_sql glove_cpu)
set(GLOVE_STATIC_NEEDS_CUDA OFF)
if(GLOVE_WITH_CUDA AND TARGET glove_cuda)
  target_link_libraries(glove_core PRIVATE glove_cuda)
  target_compile_definitions(glove_core PRIVATE GLOVE_WITH_CUDA)
  set(GLOVE_STATIC_NEEDS_CUDA ON)
endif()

# Appends to `result` each static library of the project that `target` links, itself included.
function(collect_static_libraries result target)
  string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" target "${target}")
  if(NOT TARGET ${target} OR target IN_LIST ${result})
    return()
  endif()
  get_target_property(type ${target} TYPE)
  get_target_property(imported ${target} IMPORTED)
  if(NOT type STREQUAL STATIC_LIBRARY OR imported)
    return()
  endif()
  set(found ${${result}} ${target})
  get_target_property(libraries ${target} LINK_LIBRARIES)
  foreach(library IN LISTS libraries)
    collect_static_libraries(found "${library}")
  endforeach()
  set(${result} ${found} PARENT_SCOPE)
endfunction()
set(parts)
collect_static_libraries(parts glove_core)

set(archive ${PROJECT_BINARY_DIR}/libglove.a)
set(script "create ${archive}\n")
foreach(part IN LISTS parts)
  string(APPEND script "addlib $<TARGET_FILE:${part}>\n")
endforeach()
file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/libglove.mri CONTENT "${script}save\nend\n")
add_custom_command(OUTPUT ${archive}
  COMMAND ${CMAKE_COMMAND} -E rm -f ${archive}
  COMMAND ${CMAKE_AR} -M < ${CMAKE_CURRENT_BINARY_DIR}/libglove.mri
  DEPENDS ${parts} ${CMAKE_CURRENT_BINARY_DIR}/libglove.mri VERBATIM)
add_custom_target(glove_static_archive ALL DEPENDS ${archive})

# For projects that add this one with add_subdirectory() or FetchContent.
add_library(glove_static INTERFACE)
add_library(glove::static ALIAS glove_static)
target_link_libraries(glove_static INTERFACE glove_core)
target_include_directories(glove_static INTERFACE ${CMAKE_CURRENT_SOURCE_DIR})

if(GLOVE_IS_PART)
  return()
endif()
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/sqlite_glove)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/sqlite_glove-config.cmake.in
  ${PROJECT_BINARY_DIR}/sqlite_glove-config.cmake INSTALL_DESTINATION ${package_folder}
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/sqlite_glove-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${archive} DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(FILES sqlite_glove.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(FILES ${PROJECT_BINARY_DIR}/sqlite_glove-config.cmake ${PROJECT_BINARY_DIR}/sqlite_glove-config-version.cmake
  DESTINATION ${package_folder} COMPONENT development)
