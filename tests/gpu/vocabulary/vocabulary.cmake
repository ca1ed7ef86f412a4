# The tests [vocabulary] of gpu_worker: kernels that use the wrappers of kernels/common, compiled by
# nvcc for sm_90a and linked with the CUDA runtime that comes with it, as kernels are.
get_target_property(code wb_worker WB_DEVICE_CODE)
set(fault "")
if(NOT code)
  set(fault "the worker has no device code")
else()
  # nvcc may be a script that leads elsewhere: it says itself where its libraries are.
  execute_process(COMMAND "${WB_NVCC}" --dryrun -x cu /dev/null
                  OUTPUT_VARIABLE words ERROR_VARIABLE words)
  set(folders "")
  if(words MATCHES "#\\$ TOP=([^\r\n]+)")
    string(STRIP "${CMAKE_MATCH_1}" top)
    list(APPEND folders "${top}/lib64" "${top}/lib" "${top}/targets/x86_64-linux/lib")
  endif()
  get_filename_component(toolkit "${WB_NVCC}" DIRECTORY)
  list(APPEND folders "${toolkit}/../lib64" "${toolkit}/../lib")
  find_library(WB_CUDART_STATIC libcudart_static.a HINTS ${folders} PATHS /usr/local/cuda/lib64)
  if(NOT WB_CUDART_STATIC)
    set(fault "no libcudart_static.a beside ${WB_NVCC}")
  endif()
endif()
if(fault)
  message(STATUS "gpu_worker is built without the tests [vocabulary]: ${fault}")
  return()
endif()

set(warnings -Xcompiler=-Wall,-Wextra)
if(WB_WERROR)
  list(APPEND warnings -Werror all-warnings)
endif()
set(objects "${CMAKE_CURRENT_BINARY_DIR}/vocabulary")
file(MAKE_DIRECTORY "${objects}")
foreach(name barrier warpgroups ring tma tma_out wgmma_scores wgmma_outputs wgmma_tf32 cluster copies
             early_start mma softmax)
  set(source "${CMAKE_CURRENT_LIST_DIR}/${name}.cu")
  add_custom_command(
    OUTPUT "${objects}/${name}.o"
    COMMAND "${WB_NVCC}" -c -O2 -std=c++20 -Xcompiler=-fPIC ${warnings}
            -gencode arch=compute_90a,code=sm_90a
            -I "${CMAKE_SOURCE_DIR}/kernels/common" -I "${CMAKE_SOURCE_DIR}/kernels"
            -I "${CMAKE_SOURCE_DIR}/tests" -MD -MF "${objects}/${name}.d"
            -o "${objects}/${name}.o" "${source}"
    DEPENDS "${source}" "${WB_NVCC}"
    DEPFILE "${objects}/${name}.d"
    COMMENT "Compiling the tests of the vocabulary ${name}.cu"
    VERBATIM)
  target_sources(gpu_worker PRIVATE "${objects}/${name}.o")
endforeach()
target_sources(gpu_worker PRIVATE "${CMAKE_CURRENT_LIST_DIR}/vocabulary_test.cpp")
target_link_libraries(gpu_worker PRIVATE "${WB_CUDART_STATIC}" Threads::Threads ${CMAKE_DL_LIBS} rt)
