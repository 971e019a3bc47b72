# glove::static and libglove.a, for programs that contain SQLite: the sources that call SQLite, compiled once more with
# SQLITE_CORE so that they call it directly, in one archive with the rest of the project.
get_target_property(sql_sources glove_sql SOURCES)
list(TRANSFORM sql_sources PREPEND ${PROJECT_SOURCE_DIR}/sql/)
add_library(glove_core STATIC glove_extension.cpp ${sql_sources})
target_compile_definitions(glove_core PRIVATE SQLITE_CORE)
target_include_directories(glove_core BEFORE PRIVATE
  ${PROJECT_SOURCE_DIR}/third_party/sqlite ${GLOVE_VERSION_HEADER_DIR})
find_package(nlohmann_json REQUIRED)
target_link_libraries(glove_core PRIVATE glove_cpu glove_search glove_analysis nlohmann_json::nlohmann_json)
add_dependencies(glove_core glove_version_header)
set(parts glove_core glove_cpu glove_search glove_loader glove_analysis glove_model glove_base)
set(GLOVE_STATIC_NEEDS_CUDA OFF)
if(GLOVE_WITH_CUDA AND TARGET glove_cuda)
  target_link_libraries(glove_core PRIVATE glove_cuda)
  target_compile_definitions(glove_core PRIVATE GLOVE_WITH_CUDA)
  list(APPEND parts glove_cuda glove_gpu)
  set(GLOVE_STATIC_NEEDS_CUDA ON)
endif()

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
