// SPDX-License-Identifier: MIT
// One run of a compiler on a variant: private folder, sandbox, limits, deadline; and why it failed:
// the source, one of our limits, the machine, or the compiler itself, with a second run before a
// failure is blamed on the machine. Shared by the toolchains; each provides its command.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/process.hpp"
#include "variant/builder.hpp"
#include "variant/compile_reads.hpp"
#include "variant/compile_sandbox.hpp"

namespace wb::variant {

enum class CompileFault {
  source,        ///< the compiler refused the source
  timeout,       ///< our deadline
  memory_limit,  ///< our address-space limit
  file_limit,    ///< our file-size limit
  machine,       ///< looks like a full disk or a broken installation; the text alone is no proof
  killed,        ///< SIGKILL by someone else: most likely the system ran out of memory
  crashed        ///< the compiler crashed
};

/// Classifies by the process's exit and output.
CompileFault classify_compile_fault(const ProcessOutcome& outcome);

/// One sentence for the Failure's message.
std::string describe(CompileFault fault, std::string_view compiler, const ProcessSpec& spec);

struct CompileCommand {
  CompilerIdentity compiler;
  CompilerKind kind = CompilerKind::gcc;
  std::vector<std::string> argv;  ///< without the output; sources are in the working folder
  /// Compiler and flags that make a library of an empty source, and that source's name.
  std::vector<std::string> probe;
  std::string probe_name;
  std::vector<fs::path> programs;  ///< absolute; the sandbox shows their installations
  fs::path mounted_as;             ///< SandboxFolders::mounted_as
  Grants grants;
  CompileLimits limits;
  std::size_t capture_bytes = 64u << 10;  ///< per stream
};

/// Runs the command and writes its result to `output`. The record's log is both streams, as
/// captured; the caller shortens it. Fails when the compiler read files that the id does not cover.
/// Failures: constraints (uncovered files, or a date macro), compile, timeout, environment.
Outcome<BuildRecord> run_compile(const Variant& variant, const BuildOptions& options,
                                 const CompileCommand& command, const fs::path& output);

/// The configuration as -D words, after WB_BUILD_ID.
std::vector<std::string> macro_words(const Configuration& configuration, std::string_view build_id);

/// Compiler output as BuildRecord keeps it: above 64 KiB only head and tail, with a mark in
/// between.
std::string head_and_tail(std::string_view words);

}  // namespace wb::variant
