// SPDX-License-Identifier: MIT
// One entry of the artifact cache: a folder that is filled in private, published by one rename and
// never changed afterwards; only a repair under the cache's lock may replace it. Private to
// builder.cpp.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/unique_fd.hpp"
#include "variant/builder.hpp"

namespace wb::variant {

/// Of records, and part of every artifact id.
inline constexpr int k_entry_format = 1;

/// A private folder below <root>/tmp, on the entries' file system so that a rename publishes it.
/// Removed with its content unless it was renamed away. Its maker holds a lock on it, which
/// distinguishes it from leftovers of killed processes.
class PrivateFolder {
 public:
  static Result<PrivateFolder> create(const fs::path& parent);
  PrivateFolder(PrivateFolder&& other) noexcept
      : m_path(std::exchange(other.m_path, {})), m_lock(std::move(other.m_lock)) {}
  PrivateFolder& operator=(PrivateFolder&&) = delete;
  ~PrivateFolder();
  [[nodiscard]] const fs::path& path() const { return m_path; }
  /// Call before publishing, since an entry is locked by its users.
  void unlock() { m_lock.reset(); }

 private:
  explicit PrivateFolder(fs::path path);
  fs::path m_path;
  UniqueFd m_lock;
};
/// Removes those of killed processes.
void remove_stale_folders(const fs::path& parent);

/// Where an entry is or is to be, and of which variant.
struct EntryPlace {
  fs::path folder;
  std::string id;
  const Variant& variant;  ///< the record and a Python artifact's files must be of it

  [[nodiscard]] bool is_python() const { return variant.manifest.backend == Backend::python; }
  /// The library, or a Python variant's folder, in an entry at `in`.
  [[nodiscard]] fs::path artifact_path(const fs::path& in) const;
};

/// Fills `folder` with the artifact and its record. Failures: environment, those of compile().
Outcome<Artifact> make_entry(FileSystem& file_system, const EntryPlace& entry,
                             const fs::path& folder, const Configuration& configuration,
                             const BuildOptions& options, const Toolchain* toolchain);

/// Renames `from` to the entry's folder. True: published; false: an entry is already there.
Result<bool> publish(const fs::path& from, const EntryPlace& entry);

/// Of the leases of one cache object that live; each is an open descriptor.
using LeaseCount = std::shared_ptr<std::atomic<int>>;

/// A lease on the entry at `folder`; null when there is nothing to lock or too many are held.
std::shared_ptr<const UniqueFd> take_lease(const fs::path& folder, const LeaseCount& count);

/// The entry as an artifact with a lease, so that gc cannot remove it; nothing when it is absent or
/// its bytes differ from its record.
std::optional<Artifact> load_held(const FileSystem& file_system, const EntryPlace& entry,
                                  const LeaseCount& count);

/// Replaces a damaged entry by `from`, under the cache lock. It checks again under the lock, since
/// another process may have published an intact entry that is already in use: that one is returned.
Result<std::optional<Artifact>> repair(FileSystem& file_system, const fs::path& root,
                                       const fs::path& from, const EntryPlace& entry,
                                       const LeaseCount& leases);

}  // namespace wb::variant
