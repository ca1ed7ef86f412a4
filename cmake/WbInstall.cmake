# What `cmake --install BUILD --prefix DIR` lays down, and with it the wheel (.ci/wheel.py):
#   bin/                    the commands
#   share/sdpa-workbench/   kernels, playbooks, the loop of Python subjects and the documents that
#                           the MCP server shows, as in the checkout
# and, as the component gpu_tests, the tests that need a GPU: bin/sdpa-wb-gpu-test and the pytest
# files. Programs find share/ by one rule (variant/installed.hpp); so that it holds in a build folder,
# too, wherever that lies, it gets a link to the kernels, which leads to the checkout.
include(GNUInstallDirs)

set(WB_SHARE "${CMAKE_INSTALL_DATADIR}/sdpa-workbench")
file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/share/sdpa-workbench")
file(RELATIVE_PATH kernels "${CMAKE_BINARY_DIR}/share/sdpa-workbench" "${CMAKE_SOURCE_DIR}/kernels")
file(CREATE_LINK "${kernels}" "${CMAKE_BINARY_DIR}/share/sdpa-workbench/kernels" SYMBOLIC)

# The oldest glibc that a wheel promises to run on: that of Debian 12, where wheels are built.
set(WB_GLIBC_FLOOR 2.36 CACHE INTERNAL "The oldest glibc that wheels run on")

function(wb_install)
  install(DIRECTORY kernels playbooks DESTINATION "${WB_SHARE}" PATTERN __pycache__ EXCLUDE)
  install(FILES bindings/sdpa_workbench/subject.py bindings/sdpa_workbench/subject_gpu.py
          bindings/sdpa_workbench/subject_gpu_tensors.py
          bindings/sdpa_workbench/subject_kernels.py
          bindings/sdpa_workbench/subject_tensors.py
          DESTINATION "${WB_SHARE}/bindings/sdpa_workbench")
  install(FILES docs/agents.md docs/kernel_abi.md docs/add_a_kernel.md docs/measurement.md
          docs/session_format.md docs/causes.md DESTINATION "${WB_SHARE}/docs")
  install(TARGETS sdpa-wb-worker)
  if(WB_HOST)
    install(TARGETS sdpa-wb)
  endif()
  if(TARGET gpu_worker)
    install(PROGRAMS "$<TARGET_FILE:gpu_worker>" DESTINATION "${CMAKE_INSTALL_BINDIR}"
            RENAME sdpa-wb-gpu-test COMPONENT gpu_tests)
    install(FILES tests/scenario/conftest.py tests/scenario/test_gpu.py
            DESTINATION "${WB_SHARE}/tests/scenario" COMPONENT gpu_tests)
    install(FILES tests/data/inputs_golden.json DESTINATION "${WB_SHARE}/tests/data"
            COMPONENT gpu_tests)
  endif()
endfunction()
