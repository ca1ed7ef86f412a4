// SPDX-License-Identifier: MIT
// A compiler reads whatever a source names, and what it reads lands in the library. Where
// bubblewrap is installed it sees the system's programs and the build's own folders, nothing else
// of the machine, and no network. Used by the CPU toolchain and by `doctor`.
#pragma once

#include <string>
#include <vector>

#include "core/files.hpp"
#include "core/process.hpp"

namespace wb {

struct SandboxFolders {
  std::vector<fs::path> writable;  ///< absolute
  std::vector<fs::path> readable;  ///< absolute; /usr and the like need not be named
  fs::path working_directory;
};

/// "bubblewrap", or "none" where it is not installed.
std::string compile_sandbox_word();

/// What goes before the compiler's own words; empty without bubblewrap. The compiler, given by its
/// absolute path, is made visible wherever it is installed. It dies with the thread that started
/// it, its own children with it.
std::vector<std::string> compile_sandbox(const fs::path& compiler, const SandboxFolders& folders);

/// Whether an empty function compiles. `before`: what compile_sandbox() gave, or nothing. spec: the
/// limits; source_folder: where the probe may be written; output: beside this file it is put.
bool compiles_nothing(ProcessSpec spec, std::vector<std::string> before,
                      const std::string& compiler, const fs::path& source_folder,
                      const fs::path& output);

/// Runs spec.argv in the sandbox where there is one that works. A sandbox in which not even an
/// empty function compiles is unfit for this machine (no user namespaces, a compiler spread over
/// folders that it hides), and the compiler runs without.
Result<ProcessOutcome> run_compiler(const ProcessSpec& spec, const SandboxFolders& folders,
                                    const fs::path& output);

}  // namespace wb
