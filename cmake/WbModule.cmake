# wb_add_module(NAME [BRIEF] [BY_ENGINE] [BATCH N] SOURCES ... ALONE ... DEPS ...): the one way a module is declared.
# Most of a file's compilation is its headers': release and sanitizer presets compile ten files at
# once (CMAKE_UNITY_BUILD) and what all modules include once for all (precompiled by core). Without
# the first a build takes 2.4 to 3 times the CPU time, precompiled headers or not: what templates
# of the standard library and of nlohmann/json become is then compiled for each file again. The
# preset dev does neither, and so each file must name what it includes; clang-tidy uses it, too, and
# sees whether a file of a batch uses what another keeps to itself (.ci/tidy.py).
# ALONE: sources that a program may take without the rest of the module (and not under SOURCES).
# BRIEF: code that runs for milliseconds between measurements; -O1 takes a third off its compilation.
# BATCH: how many files a batch of a unity build has, else ten.
# BY_ENGINE: sources that include the same headers of the engine share batches, so that a change of
# such a header compiles few of them. They are read when the build is configured: a later edit makes
# a batch larger than it need be, never wrong.
# wb::settings holds the language level and the warnings that every target of ours gets.

add_library(wb_settings INTERFACE)
add_library(wb::settings ALIAS wb_settings)
target_compile_features(wb_settings INTERFACE cxx_std_20)
target_compile_options(wb_settings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wconversion
  -Wno-sign-conversion $<$<BOOL:${WB_WERROR}>:-Werror>
  # g++ 12 sees overlaps and unset members inside libstdc++ that are not there (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
  # A class of one file with members of its own types looks like one of a header in a unity build.
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:${CMAKE_UNITY_BUILD}>>:-Wno-subobject-linkage>)
# A compilation of ten files needs 1 GB; g++ then never stops to collect its garbage.
target_compile_options(wb_settings INTERFACE
  $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=1048576>)
target_include_directories(wb_settings INTERFACE "${CMAKE_SOURCE_DIR}/workbench")

function(wb_group_by_engine result)
  set(keyed)
  foreach(source IN LISTS ARGN)
    file(STRINGS "${source}" included REGEX "^#include \"engine/")
    set(key "")
    foreach(header context floors engine comparing timing verdicts evidence worker spending recorded
                   settings subject parts services)
      if(included MATCHES "engine/${header}.hpp")
        string(APPEND key 0)
      else()
        string(APPEND key 1)
      endif()
    endforeach()
    list(APPEND keyed "${key} ${source}")
  endforeach()
  list(SORT keyed)
  list(TRANSFORM keyed REPLACE "^[01]+ " "")
  set(${result} ${keyed} PARENT_SCOPE)
endfunction()

function(wb_add_module name)
  cmake_parse_arguments(ARG "BRIEF;BY_ENGINE" "BATCH" "SOURCES;ALONE;DEPS" ${ARGN})
  if(ARG_BY_ENGINE)
    wb_group_by_engine(ARG_SOURCES ${ARG_SOURCES})
  endif()
  if(NOT ARG_BATCH)
    set(ARG_BATCH 10)
  endif()
  add_library(wb_${name} STATIC ${ARG_SOURCES} ${ARG_ALONE})
  set_source_files_properties(${ARG_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  add_library(wb::${name} ALIAS wb_${name})
  target_link_libraries(wb_${name} PUBLIC wb::settings ${ARG_DEPS})
  if(ARG_BRIEF)
    target_compile_options(wb_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  set_target_properties(wb_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_EXTENSIONS OFF
                                              UNITY_BUILD_BATCH_SIZE ${ARG_BATCH})
  if(name STREQUAL core)
    target_precompile_headers(wb_core PRIVATE
      <nlohmann/json.hpp> <fmt/format.h> <functional> <map> <optional> <set> <string> <vector>)
  else()
    target_precompile_headers(wb_${name} REUSE_FROM wb_core)
  endif()
endfunction()
