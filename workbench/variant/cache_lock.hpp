// SPDX-License-Identifier: MIT
// Private to variant: the locks under an artifact cache that builders and gc share. An entry's user
// holds a shared flock on the entry's folder; whoever removes one holds it exclusively.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string_view>

#include "core/files.hpp"

namespace wb::variant {

/// Held by whoever replaces or removes entries (a repair, gc), one at a time.
inline constexpr std::string_view k_cache_lock_file = "repair.lock";
/// A folder below <root>/tmp that is older was left by a killed builder; no build lasts this long.
inline constexpr std::chrono::hours k_stale_after{24};

/// Waits for the cache's one lock. Errors: io, read_only.
Result<UniqueFd> lock_cache(const fs::path& root);

/// Some milliseconds.
void lock_pause();

/// A shared lock on the entry that has the name once it is locked, and a mark that it was used just
/// now. Invalid when none is there or the file system has no locks. `pause`: between two tries,
/// while somebody else has the entry.
UniqueFd hold_entry(const fs::path& folder, const std::function<void()>& pause = lock_pause);
/// The folder of that name is still the one that is held.
bool is_held(const UniqueFd& held, const fs::path& folder);

}  // namespace wb::variant
