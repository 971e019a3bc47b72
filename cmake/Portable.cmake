# What a program or library needs to run on other Linux systems than the one that built it: libstdc++ inside, libgcc_s and
# libc from the system (a static libgcc needs glibc 2.35), no code that nothing calls, and no symbol table in a Release.
# tests/packages/test_library.py checks the result.
function(glove_make_portable target)
  if(GLOVE_SANITIZE)
    return()
  endif()
  if(APPLE)
    target_link_options(${target} PRIVATE -Wl,-dead_strip $<$<CONFIG:Release>:-Wl,-s>)
    return()
  endif()
  target_link_options(${target} PRIVATE -static-libstdc++ -Wl,--gc-sections $<$<CONFIG:Release>:-Wl,--strip-all>)
endfunction()
