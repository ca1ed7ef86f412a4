// SPDX-License-Identifier: MIT
// --detach: the command continues as its own process, which is a job (the process that holds a
// session's lock), and the caller gets the terminal back.
#pragma once

#include <string>
#include <vector>

#include "cli/command_line.hpp"
#include "core/error.hpp"

namespace wb::cli {

/// True for long verbs that hold a session; only these may be detached.
bool is_detachable(const verbs::VerbSpec& verb);

struct Detached {
  bool holds = false;  ///< it holds its session's lock, or did until it ended well
  int exit_code = 0;   ///< of a child that ended before it held the lock
  std::string output;  ///< what that child wrote
  fs::path session;
  fs::path output_file;  ///< <session>/jobs/<pid>.log, the job's output
  long pid = 0;
};

/// Starts `program` with the same words in its own session without a terminal, and waits until it
/// holds the lock of its session folder or ends. Call before any thread exists. Errors: usage (a
/// verb that ends at once), io, read_only, no_space.
Result<Detached> start_detached(const fs::path& program, const Command& command,
                                std::vector<std::string> words, FileSystem& file_system);

}  // namespace wb::cli
