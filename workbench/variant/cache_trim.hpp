// SPDX-License-Identifier: MIT
// Trims the artifact cache beside any number of builders: an entry leaves through one rename under
// its own exclusive lock, which Artifact::lease keeps away. Who calls: the verb `gc`.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "core/files.hpp"

namespace wb::variant {

struct TrimRule {
  std::optional<std::uint64_t> max_bytes;          ///< then the least recently used go first
  std::optional<std::chrono::seconds> older_than;  ///< unused for longer
  /// An entry used less long ago stays whatever the rest says: its user may be about to lock it, or
  /// live on a file system without locks.
  std::chrono::seconds grace = std::chrono::minutes(10);
  bool dry_run = false;  ///< count, remove nothing
};

struct TrimResult {
  std::int64_t entries = 0, removed = 0;     ///< found; of them removed (or, dry, to be removed)
  std::int64_t in_use = 0;                   ///< due, but a running process holds them
  std::int64_t recent = 0;                   ///< due, but used within the grace
  std::int64_t leftovers = 0;                ///< folders of killed builders, removed too
  std::int64_t failed = 0;                   ///< due, but the file system refused
  std::uint64_t bytes = 0, freed_bytes = 0;  ///< before; of removed entries and leftovers
};

/// `now` in the file system's time of day. A folder that does not look like an entry is not
/// touched. A root that does not exist is an empty cache. Errors: invalid (a file), io, read_only
/// (the lock).
Result<TrimResult> trim_cache(const fs::path& root, const TrimRule& rule,
                              std::chrono::system_clock::time_point now);

}  // namespace wb::variant
