# Generates glove_version.h, at each build but only if `git describe` has changed.
set(GLOVE_VERSION_HEADER_DIR ${PROJECT_BINARY_DIR}/generated)
add_custom_target(glove_version_header
  COMMAND ${CMAKE_COMMAND} -DSOURCE_DIR=${PROJECT_SOURCE_DIR} -DVERSION=${PROJECT_VERSION}
          -DOUTPUT=${GLOVE_VERSION_HEADER_DIR}/glove_version.h -P ${PROJECT_SOURCE_DIR}/cmake/WriteVersion.cmake
  BYPRODUCTS ${GLOVE_VERSION_HEADER_DIR}/glove_version.h
  COMMENT "")
