// SPDX-License-Identifier: MIT
// The file-system seam: whole-file reads with a size cap, atomic writes, and the append-only file
// under the session log. Tests substitute a failing file system.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/unique_fd.hpp"

namespace wb {

namespace fs = std::filesystem;

/// A file opened for appending; it holds an exclusive flock until destruction.
class AppendFile {
 public:
  virtual ~AppendFile() = default;
  /// One write(2) of all bytes, then fdatasync. After a short write or an error the file is cut
  /// back to its former length, so a line is whole or absent. Errors: no_space, io. After a failed
  /// sync the object refuses further appends, because the state of the pages is unknown.
  virtual Result<void> append_synced(std::string_view bytes) = 0;
  /// Cuts the file to `size_bytes` (to drop a torn tail) and syncs. Errors: invalid (longer than
  /// the file), io.
  virtual Result<void> truncate(std::uint64_t size_bytes) = 0;
  [[nodiscard]] virtual std::uint64_t size_bytes() const = 0;
};

enum class Durability { none, synced };  ///< synced: fsync of the file and of its folder

class FileSystem {
 public:
  virtual ~FileSystem() = default;
  /// Errors: not_found, usage (no regular file), limit (longer than max_bytes), io.
  virtual Result<std::string> read(const fs::path& path, std::uint64_t max_bytes) const = 0;
  /// Writes a temporary file (".wb-tmp-*") in the same folder, then renames it: readers see the old
  /// or the new content. A crash may leave the temporary file behind; a failure does not.
  virtual Result<void> write_atomic(const fs::path& path, std::string_view bytes,
                                    Durability durability) = 0;
  virtual Result<void> make_directories(const fs::path& path) = 0;
  /// Makes one folder; an existing one is no error. Errors: not_found (the parent is missing), as
  /// above.
  virtual Result<void> make_directory(const fs::path& path) = 0;
  /// Errors: locked (names the holder's pid if known), read_only, no_space, io.
  virtual Result<std::unique_ptr<AppendFile>> open_append(const fs::path& path) = 0;
};

/// The process that holds the flock of an open_append() of `path`. Returns nothing when no process
/// does, or when /proc/locks does not show it (another machine, another pid namespace). Takes no
/// lock itself.
std::optional<long> lock_holder(const fs::path& path);

class RealFileSystem final : public FileSystem {
 public:
  Result<std::string> read(const fs::path& path, std::uint64_t max_bytes) const override;
  Result<void> write_atomic(const fs::path& path, std::string_view bytes,
                            Durability durability) override;
  Result<void> make_directories(const fs::path& path) override;
  Result<void> make_directory(const fs::path& path) override;
  Result<std::unique_ptr<AppendFile>> open_append(const fs::path& path) override;
};

/// A folder under the system's temporary folder, removed with all its content on destruction.
class TempDirectory {
 public:
  static Result<TempDirectory> create(std::string_view prefix);
  /// Makes it under `root`, which a later run cleans up if this process is killed.
  static Result<TempDirectory> create_in(const fs::path& root, std::string_view prefix);
  TempDirectory(TempDirectory&& other) noexcept;
  TempDirectory& operator=(TempDirectory&& other) noexcept;
  ~TempDirectory();
  [[nodiscard]] const fs::path& path() const { return m_path; }

 private:
  explicit TempDirectory(fs::path path) : m_path(std::move(path)) {}
  fs::path m_path;
};

/// An Error for the current errno: ENOSPC/EDQUOT -> no_space, EROFS/EACCES/EPERM -> read_only,
/// ENOENT -> not_found, else io.
Error errno_error(std::string attempted, const fs::path& subject, int error_number);

/// True when `relative` names something below its folder: not absolute, no "..", not empty or ".".
/// Checks the path's text only; the caller handles links.
bool is_inside(const fs::path& relative);

}  // namespace wb
