# What `cmake --install BUILD --prefix DIR` lays down, and with it the wheel (.ci/wheel.py):
#   bin/                    the commands
#   share/sdpa-workbench/   kernels, the kept sessions that prove the rules of kernels/dispatch.json,
#                           playbooks, the loop of Python subjects and the pages of docs/, as in the
#                           checkout, and of the build docs/cli.md, the reference of all verbs,
#                           and playbooks/editor, what editors read of playbooks
# and, as the component gpu_tests, the tests that need a GPU: bin/sdpa-wb-gpu-test and the pytest
# files. Programs find share/ by one rule (variant/variant.hpp); so that it holds in a build folder,
# too, wherever that lies, it gets a link to the kernels, which leads to the checkout.
include(GNUInstallDirs)

set(WB_SHARE "${CMAKE_INSTALL_DATADIR}/sdpa-workbench")
file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/share/sdpa-workbench")
file(RELATIVE_PATH kernels "${CMAKE_BINARY_DIR}/share/sdpa-workbench" "${CMAKE_SOURCE_DIR}/kernels")
file(CREATE_LINK "${kernels}" "${CMAKE_BINARY_DIR}/share/sdpa-workbench/kernels" SYMBOLIC)

# The oldest glibc that a wheel promises to run on: that of Debian 12, where wheels are built.
set(WB_GLIBC_FLOOR 2.36 CACHE INTERNAL "The oldest glibc that wheels run on")

# The archives of the sessions that the rules name, without the sources' folder in front.
function(wb_proofs into)
  set(table "${CMAKE_SOURCE_DIR}/kernels/dispatch.json")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${table}")
  file(READ "${table}" text)
  string(REGEX MATCHALL "\"session\": *\"[^\"]+\"" lines "${text}")
  set(archives)
  foreach(line IN LISTS lines)
    string(REGEX REPLACE ".*\"([^\"]+)\"$" "\\1.tar.gz" archive "${line}")
    list(APPEND archives "${archive}")
  endforeach()
  list(REMOVE_DUPLICATES archives)
  set(${into} ${archives} PARENT_SCOPE)
endfunction()

function(wb_install)
  wb_proofs(proofs)
  install(FILES ${proofs} DESTINATION "${WB_SHARE}/sessions")
  install(DIRECTORY kernels playbooks DESTINATION "${WB_SHARE}" PATTERN __pycache__ EXCLUDE)
  install(FILES bindings/sdpa_workbench/subject.py bindings/sdpa_workbench/subject_gpu.py
          bindings/sdpa_workbench/subject_gpu_tensors.py
          bindings/sdpa_workbench/subject_kernels.py
          bindings/sdpa_workbench/subject_tensors.py
          DESTINATION "${WB_SHARE}/bindings/sdpa_workbench")
  install(DIRECTORY docs DESTINATION "${WB_SHARE}" FILES_MATCHING PATTERN "*.md")
  install(TARGETS sdpa-wb-worker)
  if(WB_HOST)
    install(TARGETS sdpa-wb)
    install(FILES "${CMAKE_BINARY_DIR}/docs/cli.md" DESTINATION "${WB_SHARE}/docs")
    install(DIRECTORY "${CMAKE_BINARY_DIR}/playbooks/editor" DESTINATION "${WB_SHARE}/playbooks")
  endif()
  if(TARGET gpu_worker)
    install(PROGRAMS "$<TARGET_FILE:gpu_worker>" DESTINATION "${CMAKE_INSTALL_BINDIR}"
            RENAME sdpa-wb-gpu-test COMPONENT gpu_tests)
    install(FILES tests/conftest.py DESTINATION "${WB_SHARE}/tests" COMPONENT gpu_tests)
    install(FILES tests/support/commands.py tests/support/kept.py tests/support/logs.py
            tests/support/steady_turns.py
            DESTINATION "${WB_SHARE}/tests/support" COMPONENT gpu_tests)
    install(FILES tests/scenario/test_gpu.py
            DESTINATION "${WB_SHARE}/tests/scenario" COMPONENT gpu_tests)
    install(FILES tests/data/inputs_golden.json DESTINATION "${WB_SHARE}/tests/data"
            COMPONENT gpu_tests)
  endif()
endfunction()
