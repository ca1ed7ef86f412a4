// SPDX-License-Identifier: MIT
// The artifact cache on disk: its entries, which builders and gc share, and how it is trimmed
// beside any number of builders. Locks: a user of an entry holds a shared flock on its folder;
// removal holds it exclusively and is one rename. Search: entries made from the same inputs by any
// compiler, for a machine without one.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/files.hpp"
#include "core/json.hpp"

namespace wb::variant {

/// Held while entries are replaced or removed (a repair, gc), by one process at a time.
inline constexpr std::string_view k_cache_lock_file = "repair.lock";
/// A folder below <root>/tmp older than this belongs to a killed builder; no build takes this long.
inline constexpr std::chrono::hours k_stale_after{24};

/// Waits for the cache's lock. Errors: io, read_only.
Result<UniqueFd> lock_cache(const fs::path& root);

/// Sleeps some milliseconds.
void lock_pause();

/// Takes a shared lock on the entry at `folder` and marks it as just used. Invalid when there is no
/// entry or the file system has no locks. `pause` is called between attempts while another process
/// has the entry.
UniqueFd hold_entry(const fs::path& folder, const std::function<void()>& pause = lock_pause);
/// True when the folder of that name is still the held one.
bool is_held(const UniqueFd& held, const fs::path& folder);

/// What an artifact id covers, except the compiler.
struct ArtifactInputs {
  std::string variant_id;
  Json configuration;  ///< complete
  std::string target;
  std::string grants;  ///< Grants::digest
};

/// Artifact ids of matching entries, newest first. Reads every record of the cache (some 10 us
/// each) and skips unreadable ones.
std::vector<std::string> find_entries(const FileSystem& file_system, const fs::path& root,
                                      const ArtifactInputs& made_of);

struct TrimRule {
  /// Above this, the least recently used are removed first.
  std::optional<std::uint64_t> max_bytes;
  std::optional<std::chrono::seconds> older_than;  ///< remove entries unused for longer
  /// An entry used more recently always stays: its user may be about to lock it, or live on a file
  /// system without locks.
  std::chrono::seconds grace = std::chrono::minutes(10);
  bool dry_run = false;  ///< count only, remove nothing
};

struct TrimResult {
  std::int64_t entries = 0, removed = 0;     ///< found; removed (in a dry run: to be removed)
  std::int64_t in_use = 0;                   ///< due, but held by a running process
  std::int64_t recent = 0;                   ///< due, but used within the grace
  std::int64_t leftovers = 0;                ///< folders of killed builders, also removed
  std::int64_t failed = 0;                   ///< due, but the file system refused
  std::uint64_t bytes = 0, freed_bytes = 0;  ///< before; of removed entries and leftovers
};

/// `now` in the file system's time of day. Folders that do not look like entries are left alone. A
/// root that does not exist is an empty cache. Errors: invalid (a file), io, read_only (the lock).
Result<TrimResult> trim_cache(const fs::path& root, const TrimRule& rule,
                              std::chrono::system_clock::time_point now);

}  // namespace wb::variant
