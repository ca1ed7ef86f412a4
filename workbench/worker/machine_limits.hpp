// SPDX-License-Identifier: MIT
// What the machine's limits do to an honest subject, so that a variant is not blamed for them:
// whether the kernel killed it because memory ran out, and which process used too much; and whether
// the system lets it start its threads. Files are read below a root, so that tests can provide
// them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "worker/child.hpp"

namespace wb::worker {

/// How often the kernel has killed a process of the machine, or of one of its control groups, for
/// lack of memory; 0 when unknown.
std::int64_t memory_kills(const std::filesystem::path& root = "/");

/// The memory that this process and its children may use together: the machine's, or less by a
/// control group's limit (bytes); 0 when unknown.
std::uint64_t memory_bound(const std::filesystem::path& root = "/");

/// `of_others`: the process held less than half of memory_bound(), so others used the rest. `own`:
/// it held more and used too much.
enum class OomCause { none, of_others, own };
/// Decides from a process's end and the value of memory_kills() before it was started.
OomCause oom_cause(const ChildEnd& end, std::int64_t kills_before,
                   const std::filesystem::path& root = "/");

/// A sentence for a subject's failure; nothing when the threads of two plans on each allowed CPU,
/// and a few more, can be started now.
std::optional<std::string> refused_threads();

}  // namespace wb::worker
