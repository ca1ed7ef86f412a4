// SPDX-License-Identifier: MIT
#include "variant/compile_failure.hpp"

#include <fmt/format.h>

#include <csignal>
#include <initializer_list>

namespace wb::variant {

namespace {

bool holds_one_of(std::string_view text, std::initializer_list<std::string_view> phrases) {
  for (const std::string_view phrase : phrases) {
    if (text.find(phrase) != std::string_view::npos) return true;
  }
  return false;
}

std::string mib(std::uint64_t bytes) {
  return fmt::to_string(bytes >> 20) + " MiB";
}

}  // namespace

CompileFault classify_compile_fault(const ProcessOutcome& outcome) {
  if (outcome.timed_out) return CompileFault::timeout;
  const std::string text = outcome.err + outcome.out;
  // The compiler driver reports its children's deaths as text; the texts of all compilers are
  // listed.
  if (outcome.signal == SIGXFSZ ||
      holds_one_of(text, {"File size limit exceeded", "File too large", "died due to signal 25"})) {
    return CompileFault::file_limit;
  }
  if (holds_one_of(text, {"out of memory allocating", "virtual memory exhausted",
                          "Cannot allocate memory", "LLVM ERROR: out of memory", "std::bad_alloc",
                          "memory exhausted", "Memory allocation failure"})) {
    return CompileFault::memory_limit;
  }
  if (holds_one_of(text, {"No space left on device", "Disk quota exceeded", "cannot execute",
                          "cannot find 'ld'", "posix_spawn failed",
                          "unable to execute command: Exec", "Read-only file system", "nvcc fatal",
                          "unsupported GNU version", "unsupported clang version", "cicc: not found",
                          "ptxas: not found", "cudafe++: not found"})) {
    return CompileFault::machine;
  }
  if (outcome.signal == SIGKILL ||
      holds_one_of(text, {"Killed signal terminated program", "unable to execute command: Killed",
                          "died due to signal 9"})) {
    return CompileFault::killed;
  }
  if (outcome.signal ||
      holds_one_of(
          text, {"internal compiler error", "Internal compiler error", "Internal Compiler Error",
                 "died due to signal", "PLEASE submit a bug report", "frontend command failed"})) {
    return CompileFault::crashed;
  }
  return CompileFault::source;
}

std::string describe(CompileFault fault, std::string_view compiler, const ProcessSpec& spec) {
  const std::string name(compiler);
  switch (fault) {
    case CompileFault::source:
      return name + " refused the source";
    case CompileFault::timeout:
      return name + " was stopped at the deadline of " +
             fmt::to_string(spec.deadline.count() / 1000) + " s";
    case CompileFault::memory_limit:
      return name + " reached the workbench's memory limit of " +
             mib(spec.limits.address_space_bytes.value_or(0)) + "; the source needs too much";
    case CompileFault::file_limit:
      return name + " reached the workbench's limit of " +
             mib(spec.limits.file_size_bytes.value_or(0)) +
             " for one file; the source makes too "
             "large a library";
    case CompileFault::machine:
      return name + " could not work on this machine";
    case CompileFault::killed:
      return name + " was killed, most likely for lack of memory";
    case CompileFault::crashed:
      return name + " crashed on this source (a fault of the compiler)";
  }
  return name + " failed";
}

}  // namespace wb::variant
