// SPDX-License-Identifier: MIT
#include "variant/compile_run.hpp"

#include <csignal>

#include "support/catch.hpp"
#include "variant/compile_flags.hpp"

using namespace wb;
using namespace wb::variant;

namespace {

ProcessOutcome failed(const std::string& err) {
  ProcessOutcome outcome;
  outcome.exit_code = 1;
  outcome.err = err;
  return outcome;
}

}  // namespace

TEST_CASE("compiler faults are told apart by their words", "[variant][toolchain]") {
  const auto fault = [](const std::string& err) { return classify_compile_fault(failed(err)); };
  CHECK(fault("k/kernel.cpp:1:1: error: 'x' does not name a type") == CompileFault::source);
  CHECK(
      fault(
          "g++: internal compiler error: File size limit exceeded signal terminated program as") ==
      CompileFault::file_limit);
  CHECK(fault("clang: error: unable to execute command: File size limit exceeded") ==
        CompileFault::file_limit);
  CHECK(fault("cc1plus: out of memory allocating 65536 bytes after a total of 1 bytes") ==
        CompileFault::memory_limit);
  CHECK(fault("LLVM ERROR: out of memory\nPLEASE submit a bug report") ==
        CompileFault::memory_limit);
  CHECK(fault("virtual memory exhausted: Cannot allocate memory") == CompileFault::memory_limit);
  CHECK(fault("fatal error: error writing to /tmp/x.s: No space left on device") ==
        CompileFault::machine);
  CHECK(fault("g++: fatal error: cannot execute 'cc1plus': posix_spawnp: No such file") ==
        CompileFault::machine);
  CHECK(fault("g++: fatal error: Killed signal terminated program cc1plus") ==
        CompileFault::killed);
  CHECK(fault("k.cpp:1: internal compiler error: Segmentation fault") == CompileFault::crashed);
}

TEST_CASE("compiler faults are told apart by how the process ended", "[variant][toolchain]") {
  ProcessOutcome outcome;
  outcome.timed_out = true;
  outcome.signal = SIGKILL;
  CHECK(classify_compile_fault(outcome) == CompileFault::timeout);
  outcome.timed_out = false;
  CHECK(classify_compile_fault(outcome) == CompileFault::killed);
  outcome.signal = SIGXFSZ;
  CHECK(classify_compile_fault(outcome) == CompileFault::file_limit);
  outcome.signal = SIGSEGV;
  CHECK(classify_compile_fault(outcome) == CompileFault::crashed);
}

TEST_CASE("only listed flags pass", "[variant][toolchain][hostile]") {
  for (const std::string flag : {"-O2", "-O3", "-mavx2", "-mfma", "-mf16c", "-mavx512f",
                                 "-funroll-loops", "-march=native", "-fassociative-math"}) {
    INFO(flag);
    CHECK(is_allowed_cpu_flag(flag));
  }
  for (const std::string flag : {"",
                                 "-",
                                 "-Ofast",
                                 "-ffast-math",
                                 "-fopenmp",
                                 "-fplugin=x.so",
                                 "-wrapper",
                                 "-specs=x",
                                 "-B/tmp",
                                 "@file",
                                 "-include",
                                 "-o",
                                 "-I/etc",
                                 "-I..",
                                 "-Wl,-e,x",
                                 "-Wa,x",
                                 "-Wp,x",
                                 "-xassembler",
                                 "-E",
                                 "-M",
                                 "-dumpspecs",
                                 "-save-temps",
                                 "-fdump-tree-all",
                                 "-pipe",
                                 "-mavx2 -o x",
                                 "-O3\n",
                                 " -O3",
                                 "-march=native,x",
                                 "--sysroot=/",
                                 "-ftemplate-depth=9999999",
                                 "-fconstexpr-ops-limit=9999999999",
                                 "kernel2.cpp",
                                 "/etc/passwd",
                                 "-DX=1"}) {
    INFO(flag);
    CHECK_FALSE(is_allowed_cpu_flag(flag));
  }
  CHECK(is_cpu_target("native"));
  CHECK(is_cpu_target("x86-64-v3"));
  for (const std::string target : {"", "-x", "a b", "a,b", "A", "sm_90a;x", "../x"}) {
    INFO(target);
    CHECK_FALSE(is_cpu_target(target));
  }
}
