// SPDX-License-Identifier: MIT
// A compiler reads whatever a source names, and what it reads lands in the library. Where
// bubblewrap is installed it sees the system's programs and the build's own folders, nothing else
// of the machine, and no network. Used by the toolchains and by `doctor`.
#pragma once

#include <string>
#include <vector>

#include "core/files.hpp"
#include "core/process.hpp"

namespace wb::variant {

struct SandboxFolders {
  std::vector<fs::path> writable;  ///< absolute
  std::vector<fs::path> readable;  ///< absolute; /usr and the like need not be named
  fs::path working_directory;
  /// Absolute; programs whose installations must be seen beside that of the first word.
  std::vector<fs::path> programs = {};
  /// Where the compiler sees the working directory as well, and works; empty: only where it lies.
  /// nvcc hashes that path into symbols, so a private folder's name would make every build differ.
  fs::path seen_as = {};
};

/// "bubblewrap", or "none" and why: it is not installed, or what it said when it did not start.
std::string compile_sandbox_word();

/// What goes before the compiler's own words; empty without bubblewrap. The compiler, given by its
/// absolute path, is made visible wherever it is installed. It dies with the thread that started
/// it, its own children with it.
std::vector<std::string> compile_sandbox(const fs::path& compiler, const SandboxFolders& folders);

/// How a compiler is tried on an empty function.
struct CompileProbe {
  std::vector<std::string> argv;  ///< compiler and flags
  std::string name;               ///< of the source, such as "wb_probe.cpp"
  fs::path folder;                ///< where it may be written
  fs::path output;                ///< absolute; the library is put beside this file
};
/// Whether it compiles. `before`: what compile_sandbox() gave, or nothing. spec: the limits.
bool compiles_nothing(ProcessSpec spec, std::vector<std::string> before, const CompileProbe& probe);

/// Runs spec.argv in the sandbox where there is one that works. A sandbox in which not even an
/// empty function compiles is unfit for this machine (no user namespaces, a compiler spread over
/// folders that it hides), and the compiler runs without.
Result<ProcessOutcome> run_compiler(const ProcessSpec& spec, const SandboxFolders& folders,
                                    const CompileProbe& probe);

}  // namespace wb::variant
