# wb_embed_device_code(TARGET): compiles workbench/worker/cuda/device/*.cu to one fatbin each (machine
# code for common GPUs, PTX for the others) and puts them into TARGET's object files; without nvcc
# TARGET says that it was built without. The host compiler never sees a CUDA header.
# WB_CUDA: AUTO (where nvcc of CUDA 12.4 or newer is found and compiles), ON (it must), OFF.

set(WB_CUDA AUTO CACHE STRING "Embed CUDA device code into the worker: AUTO, ON or OFF")
set_property(CACHE WB_CUDA PROPERTY STRINGS AUTO ON OFF)

# Sets `result` to why nvcc compiles no device code here, empty when it does: one may refuse the host
# compiler, or be only half installed. What was found is kept for as long as nvcc, host compiler,
# targets and nvcc's own variables stay as they are.
function(wb_fault_of_nvcc result)
  set(targets ${ARGN})
  execute_process(COMMAND g++ --version OUTPUT_VARIABLE host ERROR_VARIABLE host RESULT_VARIABLE code)
  file(TIMESTAMP "${WB_NVCC}" time "%s" UTC)
  string(SHA256 key "${WB_NVCC} ${time} ${host} ${code} ${targets} $ENV{NVCC_CCBIN} \
    $ENV{NVCC_PREPEND_FLAGS} $ENV{NVCC_APPEND_FLAGS}")
  if(NOT WB_NVCC_TRIED STREQUAL key)
    set(trial "${CMAKE_BINARY_DIR}/CMakeFiles/wb_nvcc_trial")
    file(WRITE "${trial}/trial.cu"
         "#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n__global__ void trial(__half* p) { *p = 1; }\n")
    execute_process(
      COMMAND "${WB_NVCC}" -fatbin -std=c++17 ${targets} -o "${trial}/trial.fatbin"
              "${trial}/trial.cu"
      OUTPUT_VARIABLE words ERROR_VARIABLE words RESULT_VARIABLE code)
    set(fault "")
    if(NOT code EQUAL 0)
      string(REGEX MATCH "[^\n]*([Ee]rror|fatal|unsupported)[^\n]*" fault "${words}")
      string(STRIP "${fault}" fault)
      if(NOT fault)
        set(fault "it ended with ${code}")
      endif()
    endif()
    set(WB_NVCC_FAULT "${fault}" CACHE INTERNAL "Why nvcc compiles no device code; empty: it does")
    set(WB_NVCC_TRIED "${key}" CACHE INTERNAL "For what WB_NVCC_FAULT was found")
  endif()
  set(${result} "${WB_NVCC_FAULT}" PARENT_SCOPE)
endfunction()

# Sets `result` to nvcc's version, empty when device code is not to be or cannot be compiled; and
# `targets` to the options that name the architectures, `about` to words for them.
function(wb_find_nvcc result targets about)
  set(${result} "" PARENT_SCOPE)
  if(NOT WB_CUDA STREQUAL "AUTO" AND NOT WB_CUDA)
    return()
  endif()
  find_program(WB_NVCC nvcc HINTS ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
  set(fault "no nvcc of CUDA 12.4 or newer")
  if(WB_NVCC)
    execute_process(COMMAND "${WB_NVCC}" --version OUTPUT_VARIABLE words ERROR_QUIET)
    if(words MATCHES "release ([0-9]+\\.[0-9]+)" AND CMAKE_MATCH_1 VERSION_GREATER_EQUAL 12.4)
      set(version "${CMAKE_MATCH_1}")
      set(capabilities 80 89 90)
      execute_process(COMMAND "${WB_NVCC}" --list-gpu-code OUTPUT_VARIABLE known ERROR_QUIET)
      if(known MATCHES "sm_100")
        list(APPEND capabilities 100)
      endif()
      set(options "")
      set(names "")
      foreach(capability IN LISTS capabilities)
        list(APPEND options -gencode "arch=compute_${capability},code=sm_${capability}")
        string(APPEND names " sm_${capability}")
      endforeach()
      list(APPEND options -gencode arch=compute_80,code=compute_80)
      wb_fault_of_nvcc(fault ${options})
      if(fault)
        set(fault "${WB_NVCC} of CUDA ${version} compiles nothing here: ${fault}")
      endif()
    endif()
  endif()
  if(NOT fault)
    set(${result} "${version}" PARENT_SCOPE)
    set(${targets} "${options}" PARENT_SCOPE)
    set(${about} "CUDA ${version}:${names} compute_80" PARENT_SCOPE)
  elseif(WB_CUDA STREQUAL "AUTO")
    message(STATUS "The worker is built without device code: ${fault}")
  else()
    message(FATAL_ERROR "WB_CUDA=${WB_CUDA}, but ${fault}; set WB_NVCC to another, or WB_CUDA to OFF")
  endif()
endfunction()

function(wb_embed_device_code target)
  set(folder "${CMAKE_SOURCE_DIR}/workbench/worker/cuda")
  wb_find_nvcc(version targets about)
  if(NOT version)
    target_sources(${target} PRIVATE "${folder}/device_code_absent.cpp")
    return()
  endif()
  set(warnings "")
  if(WB_WERROR)
    set(warnings -Werror all-warnings)
  endif()

  set(images "${CMAKE_CURRENT_BINARY_DIR}/device")
  file(MAKE_DIRECTORY "${images}")
  set(made "")
  foreach(name inputs oracle std errors timing canary)
    # std is pinned: a product is rounded before it is added, as on the host.
    set(options -O3 -std=c++17)
    if(name STREQUAL std)
      list(APPEND options -fmad=false)
    endif()
    add_custom_command(
      OUTPUT "${images}/${name}.fatbin"
      COMMAND "${WB_NVCC}" -fatbin ${options} ${warnings} ${targets}
              -I "${CMAKE_SOURCE_DIR}/workbench" -MD -MF "${images}/${name}.d"
              -o "${images}/${name}.fatbin" "${folder}/device/${name}.cu"
      DEPENDS "${folder}/device/${name}.cu" "${WB_NVCC}"
      DEPFILE "${images}/${name}.d"
      COMMENT "Compiling device code ${name}.cu"
      VERBATIM)
    list(APPEND made "${images}/${name}.fatbin")
  endforeach()
  set(source "${CMAKE_CURRENT_BINARY_DIR}/device_code_embedded.cpp")
  configure_file("${folder}/device_code_embedded.cpp.in" "${source}" @ONLY)
  # The assembler reads the images, so the compiler's own list of headers does not name them.
  set_source_files_properties("${source}" PROPERTIES OBJECT_DEPENDS "${made}"
                                                     SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(${target} PRIVATE "${source}")
  set_target_properties(${target} PROPERTIES WB_DEVICE_CODE "${about}")
endfunction()
