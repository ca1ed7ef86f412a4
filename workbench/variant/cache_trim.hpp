// SPDX-License-Identifier: MIT
// Trims the artifact cache beside any number of builders. An entry is removed by one rename under
// its exclusive lock, which Artifact::lease prevents. Used by the verb `gc`.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "core/files.hpp"

namespace wb::variant {

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
