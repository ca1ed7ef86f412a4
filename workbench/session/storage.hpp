// SPDX-License-Identifier: MIT
// Where a session is stored: a folder, which can be written and resumed, or an archive NAME.tar.gz
// of log, blobs and sources, which can only be read. All reading of sessions goes through this.
//
// Errors of reading: not_found (no such file), invalid (a name or a link that leaves the session),
// limit (larger than max_bytes), damaged (packed or stored bytes that fail their checks), io.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/files.hpp"
#include "session/archive.hpp"

namespace wb::session {

inline constexpr std::uint64_t k_max_session_file_bytes = 256ull << 20;

class SessionStorage {
 public:
  virtual ~SessionStorage() = default;
  /// The folder, or the archive's file.
  [[nodiscard]] const fs::path& path() const { return m_path; }
  [[nodiscard]] virtual bool is_archive() const = 0;

  /// A file by its path in the session, such as "session.json".
  [[nodiscard]] virtual Result<std::string> read(
      const std::string& name, std::uint64_t max_bytes = k_max_session_file_bytes) const = 0;
  /// True when an entry of that name exists, links included.
  [[nodiscard]] virtual bool has(const std::string& name) const = 0;
  struct Entry {
    std::string path;     ///< path in the session
    bool is_file = true;  ///< false: a link, a special file, a repository
  };
  /// Entries below a folder of the session ("": all), in order, without the folders themselves.
  /// Errors: not_found (no such folder), io.
  [[nodiscard]] virtual Result<std::vector<Entry>> list(const std::string& folder) const = 0;

  /// Reads a file, or unpacks its packed form (NAME.gz).
  [[nodiscard]] Result<std::string> read_unpacked(
      const std::string& name, std::uint64_t max_bytes = k_max_session_file_bytes) const;
  /// Checks only "format" of session.json. Errors: too_new, damaged, not_found.
  [[nodiscard]] Result<void> check_format() const;
  /// Errors: invalid (not a sha256), not_found, damaged (the content has another hash).
  [[nodiscard]] Result<std::string> read_blob(std::string_view sha256) const;
  /// A variant's files, by path below its folder. Errors: invalid (an id that is no plain name),
  /// not_found, damaged (a link or a special file among them).
  [[nodiscard]] Result<std::map<std::string, std::string>> load_variant(
      std::string_view variant_id) const;
  [[nodiscard]] Result<std::string> read_page(std::string_view name) const;
  /// "reports/<name>" -> text, for all reports.
  [[nodiscard]] Result<std::map<std::string, std::string>> read_reports() const;

 protected:
  explicit SessionStorage(fs::path path) : m_path(std::move(path)) {}

 private:
  fs::path m_path;
};

class FolderStorage final : public SessionStorage {
 public:
  /// The file system must outlive it.
  FolderStorage(const FileSystem& file_system, fs::path path)
      : SessionStorage(std::move(path)), m_file_system(&file_system) {}
  [[nodiscard]] bool is_archive() const override { return false; }
  [[nodiscard]] Result<std::string> read(const std::string& name,
                                         std::uint64_t max_bytes) const override;
  [[nodiscard]] bool has(const std::string& name) const override;
  [[nodiscard]] Result<std::vector<Entry>> list(const std::string& folder) const override;
  /// path() / relative; fails when a part of it below the session's folder is a link.
  [[nodiscard]] Result<fs::path> resolve(const fs::path& relative) const;

 private:
  const FileSystem* m_file_system;
};

/// An archive, held in memory as it was when opened.
class ArchiveStorage final : public SessionStorage {
 public:
  /// Errors: those of unpack_archive(); not_found (no log in it), io.
  static Result<std::unique_ptr<ArchiveStorage>> open(const FileSystem& file_system,
                                                      const fs::path& path,
                                                      const ArchiveLimits& limits = {});
  [[nodiscard]] bool is_archive() const override { return true; }
  [[nodiscard]] Result<std::string> read(const std::string& name,
                                         std::uint64_t max_bytes) const override;
  [[nodiscard]] bool has(const std::string& name) const override;
  [[nodiscard]] Result<std::vector<Entry>> list(const std::string& folder) const override;

 private:
  ArchiveStorage(fs::path path, ArchiveFiles files)
      : SessionStorage(std::move(path)), m_files(std::move(files)) {}
  ArchiveFiles m_files;
};

/// The archive that a path names: the file itself, or NAME.tar.gz for a folder name NAME. Looks at
/// names only.
std::optional<fs::path> archive_at(const fs::path& path);

/// Opens the session at `path`, a folder or an archive. The archive's ".tar.gz" may be left out
/// when no folder of that name holds a log. Errors: not_found; those of ArchiveStorage::open.
Result<std::unique_ptr<SessionStorage>> open_storage(const FileSystem& file_system,
                                                     const fs::path& path);

/// True when open_storage() would find a folder with a log or an archive at `path`.
bool is_session(const fs::path& path);

/// The sessions in `root`, sorted by listed name. Of a folder and an archive with one name only the
/// folder is listed. Errors: not_found (`root` does not exist), io.
Result<std::vector<fs::path>> find_sessions(const fs::path& root);

/// 1 to 128 of A-Z a-z 0-9 . _ - @, not beginning with a dot.
bool is_safe_name(std::string_view name);

}  // namespace wb::session
