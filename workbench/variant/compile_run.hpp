// SPDX-License-Identifier: MIT
// One run of a compiler on a variant: private folder, sandbox, limits, deadline, and a second look
// before the machine is blamed for a failure. What the toolchains share; each brings its command.
#pragma once

#include <string>
#include <vector>

#include "variant/builder.hpp"
#include "variant/compile_reads.hpp"
#include "variant/grants.hpp"

namespace wb::variant {

struct CompileCommand {
  CompilerIdentity compiler;
  CompilerKind kind = CompilerKind::gcc;
  std::vector<std::string> argv;  ///< all but the output; the sources stand in the working folder
  /// Compiler and flags that make a library of an empty source, and that source's name.
  std::vector<std::string> probe;
  std::string probe_name;
  std::vector<fs::path> programs;  ///< absolute; the sandbox shows where they are installed
  fs::path seen_as;                ///< of SandboxFolders
  Grants grants;
  CompileLimits limits;
  std::size_t capture_bytes = 64u << 10;  ///< of each stream
};

/// Writes what the command makes to `output`. The record's log is both streams, as captured; the
/// caller shortens it. What it read is held against what the id covers. Failures: constraints (it
/// read more, or asked for the date), compile, timeout, environment.
Outcome<BuildRecord> run_compile(const Variant& variant, const BuildOptions& options,
                                 const CompileCommand& command, const fs::path& output);

/// The configuration as -D words, after WB_BUILD_ID.
std::vector<std::string> macro_words(const Configuration& configuration, std::string_view build_id);

/// The compiler's words as BuildRecord keeps them: of more than 64 KiB head and tail, with a mark
/// between them.
std::string head_and_tail(std::string_view words);

}  // namespace wb::variant
