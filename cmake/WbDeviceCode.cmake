# wb_embed_device_code(TARGET): compiles workbench/worker/cuda/device/*.cu to one fatbin each (machine
# code for common GPUs, PTX for the others) and puts them into TARGET's object files; without nvcc
# TARGET says that it was built without. The host compiler never sees a CUDA header.
# WB_CUDA: AUTO (where nvcc of CUDA 12.4 or newer is found), ON (it must be found), OFF.

set(WB_CUDA AUTO CACHE STRING "Embed CUDA device code into the worker: AUTO, ON or OFF")
set_property(CACHE WB_CUDA PROPERTY STRINGS AUTO ON OFF)

# Sets `result` to nvcc's version, empty when it cannot be used.
function(wb_find_nvcc result)
  set(${result} "" PARENT_SCOPE)
  if(NOT WB_CUDA STREQUAL "AUTO" AND NOT WB_CUDA)
    return()
  endif()
  find_program(WB_NVCC nvcc HINTS ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
  set(version "")
  if(WB_NVCC)
    execute_process(COMMAND "${WB_NVCC}" --version OUTPUT_VARIABLE words ERROR_QUIET)
    if(words MATCHES "release ([0-9]+\\.[0-9]+)" AND CMAKE_MATCH_1 VERSION_GREATER_EQUAL 12.4)
      set(version "${CMAKE_MATCH_1}")
    endif()
  endif()
  if(version)
    set(${result} "${version}" PARENT_SCOPE)
  elseif(WB_CUDA STREQUAL "AUTO")
    message(STATUS "No nvcc of CUDA 12.4 or newer: the worker is built without device code")
  else()
    message(FATAL_ERROR "WB_CUDA=${WB_CUDA} needs nvcc of CUDA 12.4 or newer; set WB_NVCC to it")
  endif()
endfunction()

function(wb_embed_device_code target)
  set(folder "${CMAKE_SOURCE_DIR}/workbench/worker/cuda")
  wb_find_nvcc(version)
  if(NOT version)
    target_sources(${target} PRIVATE "${folder}/device_code_absent.cpp")
    return()
  endif()
  set(capabilities 80 89 90)
  execute_process(COMMAND "${WB_NVCC}" --list-gpu-code OUTPUT_VARIABLE known ERROR_QUIET)
  if(known MATCHES "sm_100")
    list(APPEND capabilities 100)
  endif()
  set(about "CUDA ${version}:")
  set(targets "")
  foreach(capability IN LISTS capabilities)
    list(APPEND targets -gencode "arch=compute_${capability},code=sm_${capability}")
    string(APPEND about " sm_${capability}")
  endforeach()
  list(APPEND targets -gencode arch=compute_80,code=compute_80)
  string(APPEND about " compute_80")
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
      DEPENDS "${folder}/device/${name}.cu"
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
