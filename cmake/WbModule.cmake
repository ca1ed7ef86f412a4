# wb_add_module(NAME SOURCES ... DEPS ...): the one way a module of the house is declared.
# wb::settings holds the language level and the warnings that every target of ours gets.

add_library(wb_settings INTERFACE)
add_library(wb::settings ALIAS wb_settings)
target_compile_features(wb_settings INTERFACE cxx_std_20)
target_compile_options(wb_settings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wconversion
  -Wno-sign-conversion $<$<BOOL:${WB_WERROR}>:-Werror>
  # g++ 12 sees overlaps and unset members inside libstdc++ that are not there (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
target_include_directories(wb_settings INTERFACE "${CMAKE_SOURCE_DIR}/workbench")

function(wb_add_module name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(wb_${name} STATIC ${ARG_SOURCES})
  add_library(wb::${name} ALIAS wb_${name})
  target_link_libraries(wb_${name} PUBLIC wb::settings ${ARG_DEPS})
  set_target_properties(wb_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_EXTENSIONS OFF)
endfunction()
