# Where ccache is found, each compilation is kept and taken again where its sources and options are
# equal, also by another checkout: paths below the sources are seen relative to the build folder.
# Clang's precompiled headers name their sources by absolute paths: presets for it do without them.
# WB_CCACHE=OFF compiles everything; a launcher of the user's own stays.
option(WB_CCACHE "Compile through ccache where it is found" ON)
find_program(WB_CCACHE_PROGRAM ccache)
mark_as_advanced(WB_CCACHE_PROGRAM)
if(WB_CCACHE AND WB_CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Precompiled headers need both sloppinesses; no source of ours reads the time of compilation.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}"
    CCACHE_SLOPPINESS=pch_defines,time_macros "${WB_CCACHE_PROGRAM}")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # The text that is compared has to name the header that was precompiled.
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  endif()
endif()
