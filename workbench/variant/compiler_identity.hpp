// SPDX-License-Identifier: MIT
// Which compiler it is, and how one is asked: by path, size and time of its programs, with nothing
// of the caller's environment. Shared by the toolchains.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "variant/builder.hpp"

namespace wb::variant {

/// Nothing of the caller's environment: CPATH, GCC_EXEC_PREFIX, NVCC_APPEND_FLAGS and the like
/// would change what is built without changing its id.
std::map<std::string, std::string> compiler_environment(const fs::path& compiler,
                                                        const fs::path& temporary);

/// Path, size and time of a program behind any links: changes whenever it does. Errors: io.
Result<std::string> binary_stamp(const fs::path& path);

/// What the compiler prints (both streams), asked in that environment. Errors: environment (it
/// fails or prints nothing; `remedy` says what to do about it).
Result<std::string> ask_compiler(const fs::path& compiler, std::vector<std::string> arguments,
                                 const std::string& remedy);

std::string first_line_of(const std::string& text);

/// An identity and the programs that it holds for: the compiler itself and those that it starts.
struct AskedIdentity {
  CompilerIdentity identity;
  std::vector<fs::path> programs;
};
/// `ask`'s answer, remembered in `folder` under `key` for as long as the stamps of all its programs
/// stay as they are. Errors: those of `ask`.
Result<CompilerIdentity> remember_identity(const fs::path& folder, const std::string& key,
                                           const std::function<Result<AskedIdentity>()>& ask);

/// The last answer of one process, while the stamps of all its programs stay as they are.
class IdentityMemory {
 public:
  /// From several threads at once. Errors: those of `ask`.
  Result<CompilerIdentity> identity(const fs::path& compiler,
                                    const std::function<Result<AskedIdentity>()>& ask);

 private:
  std::mutex m_mutex;
  fs::path m_compiler;
  std::optional<CompilerIdentity> m_identity;
  std::map<fs::path, std::string> m_stamps;
};

}  // namespace wb::variant
