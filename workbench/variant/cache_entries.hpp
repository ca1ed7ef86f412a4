// SPDX-License-Identifier: MIT
// Private to variant: the entries of an artifact cache that builders and gc share. Locks: a user of
// an entry holds a shared flock on its folder, removal holds it exclusively. Search: entries made
// from the same inputs by any compiler, for a machine without one.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
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

}  // namespace wb::variant
