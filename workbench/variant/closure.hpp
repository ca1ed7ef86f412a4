// SPDX-License-Identifier: MIT
// Private to variant: the files that a kernel's meaning depends on, found by following its sources'
// quoted includes (of Python the imports from common) through a FileSource.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/files.hpp"
#include "variant/manifest.hpp"

namespace wb::variant {

inline constexpr std::string_view k_manifest_file = "kernel.json";
inline constexpr std::string_view k_common = "common";

/// invalid, by "read the kernel file".
Error refuse_file(std::string_view subject, std::string cause, std::string next);

/// Content of a path relative to the kernels root; an empty optional when there is no such file.
using FileSource = std::function<Result<std::optional<std::string>>(const std::string& path)>;

/// Reads below `root`, refusing links that lead out of it and everything that is not a plain file
/// (a pipe would block, a device would never end).
Result<std::optional<std::string>> read_below(const FileSystem& file_system, const fs::path& root,
                                              const std::string& relative);

/// A path below common/ from the first root that has it; another path is none of them.
Result<std::optional<std::string>> read_common(const FileSystem& file_system,
                                               const std::vector<fs::path>& roots,
                                               const std::string& relative);

/// What kernels of the same roots that are read right after each other have in common: files of
/// common/, absent ones too, and what they include.
struct SharedReads {
  std::map<std::string, std::optional<std::string>> files;
  std::map<std::string, std::vector<std::string>> includes;
};

class Closure {
 public:
  /// `shared` may be null; what is referred to outlives this.
  Closure(const Manifest& manifest, std::string folder, const FileSource& source,
          SharedReads* shared);

  /// A file that the manifest lists. Errors: not_found, those of add_file().
  Result<void> add_source(const std::string& name);
  /// Errors: invalid (a bound of the closure, a NUL byte).
  Result<void> add_file(const std::string& path, std::string text);
  /// Follows the quoted includes of everything added so far; of Python the imports from common.
  /// Errors: not_found, invalid.
  Result<void> follow();
  /// The files by their path relative to the kernels root.
  std::map<std::string, std::string> take() { return std::move(m_files); }

 private:
  Result<bool> add_if_there(const std::string& path);
  Result<std::vector<std::string>> includes_of(const std::string& path);
  Result<void> add_import(const std::string& name, const std::string& importing);
  /// "common/x.h" or "<folder>/x.h" for an include of `name` from `including`; the including file's
  /// own folder first (as the compiler does), then the kernel's folder, then common.
  Result<void> add_include(const std::string& name, const std::string& including);

  const Manifest& m_manifest;
  std::string m_folder;
  const FileSource& m_source;
  SharedReads* m_shared;
  std::map<std::string, std::string> m_files;
  std::deque<std::string> m_pending;
  std::size_t m_total_bytes = 0;
};

}  // namespace wb::variant
