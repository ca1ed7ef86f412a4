// SPDX-License-Identifier: MIT
// Private to variant: the files that a kernel depends on, found through a FileSource by following
// its sources' quoted includes (for Python the imports from common).
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

/// An invalid error; attempted is "read the kernel file".
Error refuse_file(std::string_view subject, std::string cause, std::string next);

/// Content of a path relative to the kernels root; an empty optional when there is no such file.
using FileSource = std::function<Result<std::optional<std::string>>(const std::string& path)>;

/// Reads below `root`. Refuses links that lead out of it and everything that is not a plain file (a
/// pipe would block, a device would never end).
Result<std::optional<std::string>> read_below(const FileSystem& file_system, const fs::path& root,
                                              const std::string& relative);

/// Reads a path below common/ from the first root that has it; nothing for other paths.
Result<std::optional<std::string>> read_common(const FileSystem& file_system,
                                               const std::vector<fs::path>& roots,
                                               const std::string& relative);

/// Cache for kernels of the same roots that are read in succession: files of common/, absent ones
/// too, and their includes.
struct IncludeCache {
  std::map<std::string, std::optional<std::string>> files;
  std::map<std::string, std::vector<std::string>> includes;
};

class Closure {
 public:
  /// `shared` may be null; all references must outlive this.
  Closure(const Manifest& manifest, std::string folder, const FileSource& source,
          IncludeCache* shared);

  /// Adds a file that the manifest lists. Errors: not_found, those of add_file().
  Result<void> add_source(const std::string& name);
  /// Errors: invalid (a limit of the closure, a NUL byte).
  Result<void> add_file(const std::string& path, std::string text);
  /// Follows the quoted includes of all added files (for Python the imports from common). Errors:
  /// not_found, invalid.
  Result<void> follow();
  /// The files, by path relative to the kernels root.
  std::map<std::string, std::string> take() { return std::move(m_files); }

 private:
  Result<bool> add_if_there(const std::string& path);
  Result<std::vector<std::string>> includes_of(const std::string& path);
  Result<void> add_import(const std::string& name, const std::string& importing);
  /// Adds "common/x.h" or "<folder>/x.h" for an include of `name` in `including`. Searches the
  /// including file's folder first (as the compiler does), then the kernel's folder, then common.
  Result<void> add_include(const std::string& name, const std::string& including);

  const Manifest& m_manifest;
  std::string m_folder;
  const FileSource& m_source;
  IncludeCache* m_shared;
  std::map<std::string, std::string> m_files;
  std::deque<std::string> m_pending;
  std::size_t m_total_bytes = 0;
};

}  // namespace wb::variant
