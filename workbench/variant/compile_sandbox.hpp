// SPDX-License-Identifier: MIT
// What a compiler may see beside the variant's own files. It reads any file that a source names and
// copies it into the library, so where bubblewrap is installed, it sees only the system's programs
// and the build's own folders, and no network. Grants are header folders and libraries outside the
// kernels root, which a manifest requests by name and the user allows with --allow-include DIR.
// Used by the artifact id, the toolchains and `doctor`.
#pragma once

#include <string>
#include <vector>

#include "core/files.hpp"
#include "core/process.hpp"
#include "variant/builder.hpp"

namespace wb::variant {

struct Grants {
  std::vector<fs::path> include_folders;  ///< for -isystem; each allowed DIR at most once
  std::vector<fs::path> library_files;    ///< lib<name>.so or lib<name>.a, absolute
  std::string digest;                     ///< over names, sizes and times of the granted files
};

/// An include "x" is granted by an allowed DIR that holds the folder x; a library "x" by one that
/// holds libx.so or libx.a, directly or in lib/. Errors: invalid (a name no allowed DIR grants),
/// limit (a granted folder of more than 50,000 files).
Result<Grants> resolve_grants(const Manifest& manifest, const BuildOptions& options);

struct SandboxFolders {
  std::vector<fs::path> writable;  ///< absolute; /usr and the like are always readable
  std::vector<fs::path> readable;  ///< absolute; /usr and the like need not be named
  fs::path working_directory;
  /// Absolute paths of further programs whose installations must be visible, beside that of the
  /// first word.
  std::vector<fs::path> programs = {};
  /// A second name for the working directory inside the sandbox, in which the compiler works;
  /// empty: none. nvcc hashes that path into symbols, so the name of a private folder would make
  /// every build differ.
  fs::path mounted_as = {};
};

/// "bubblewrap", or "none" with the reason: not installed, or its output when it did not start.
std::string compile_sandbox_word();

/// The words before the compiler's own; empty without bubblewrap. The compiler, given by its
/// absolute path, is made visible wherever it is installed. It and its children die with the
/// starting thread.
std::vector<std::string> compile_sandbox(const fs::path& compiler, const SandboxFolders& folders);

/// How to try a compiler on an empty function.
struct CompileProbe {
  std::vector<std::string> argv;  ///< compiler and flags
  std::string name;               ///< of the source, such as "wb_probe.cpp"
  fs::path folder;                ///< where the source may be written
  fs::path output;                ///< absolute; the library is written beside this file
};
/// True when the probe compiles. `before`: the words of compile_sandbox(), or none. spec: the
/// limits.
bool compiles_empty_source(ProcessSpec spec, std::vector<std::string> before,
                           const CompileProbe& probe);

/// Runs spec.argv in the sandbox if it works. If not even an empty function compiles in it (no user
/// namespaces, a compiler spread over hidden folders), the compiler runs without.
Result<ProcessOutcome> run_compiler(const ProcessSpec& spec, const SandboxFolders& folders,
                                    const CompileProbe& probe);

}  // namespace wb::variant
