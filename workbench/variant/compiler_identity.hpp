// SPDX-License-Identifier: MIT
// Identifies a compiler by path, size and time of its programs, and runs it with a clean
// environment. Shared by the toolchains.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "variant/builder.hpp"

namespace wb::variant {

/// An environment without the caller's variables: CPATH, GCC_EXEC_PREFIX, NVCC_APPEND_FLAGS and the
/// like would change the build without changing its id.
std::map<std::string, std::string> compiler_environment(const fs::path& compiler,
                                                        const fs::path& temporary);

/// Path, size and time of a program, links resolved; changes whenever the program does. Errors: io.
Result<std::string> binary_stamp(const fs::path& path);

/// Both output streams of the compiler, run in that environment. Errors: environment (it fails or
/// prints nothing; `remedy` goes into the message).
Result<std::string> ask_compiler(const fs::path& compiler, std::vector<std::string> arguments,
                                 const std::string& remedy);

std::string first_line_of(const std::string& text);

/// An identity and the programs that it covers: the compiler and those that it starts.
struct AskedIdentity {
  CompilerIdentity identity;
  std::vector<fs::path> programs;
};
/// The answer of `ask`, cached in `folder` under `key` while the stamps of all its programs stay
/// the same. Errors: those of `ask`.
Result<CompilerIdentity> remember_identity(const fs::path& folder, const std::string& key,
                                           const std::function<Result<AskedIdentity>()>& ask);

/// Caches the last answer in this process while the stamps of all its programs stay the same.
class IdentityMemory {
 public:
  /// Thread-safe. Errors: those of `ask`.
  Result<CompilerIdentity> identity(const fs::path& compiler,
                                    const std::function<Result<AskedIdentity>()>& ask);

 private:
  std::mutex m_mutex;
  fs::path m_compiler;
  std::optional<CompilerIdentity> m_identity;
  std::map<fs::path, std::string> m_stamps;
};

}  // namespace wb::variant
