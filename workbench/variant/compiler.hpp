// SPDX-License-Identifier: MIT
// Identifies a compiler by path, size and time of its programs, runs it with a clean environment,
// and says which flags a manifest may give it. Shared by the toolchains.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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

// The compiler flags that a manifest may use. Flags can run programs and read any file, so only
// whole words that match a closed list pass.

/// For g++ and clang++, sorted. docs/guide/add_a_kernel.md lists them with the reasons.
std::span<const std::string_view> allowed_cpu_flags();
bool is_allowed_cpu_flag(std::string_view flag);

/// For nvcc, sorted; listed on the same page.
std::span<const std::string_view> allowed_cuda_flags();
bool is_allowed_cuda_flag(std::string_view flag);

/// "native", "generic" or an architecture word such as "x86-64-v3" or "znver4".
bool is_cpu_target(std::string_view target);

}  // namespace wb::variant
