// SPDX-License-Identifier: MIT
// Whether the kernel ended a subject because memory had run out, and who had asked for too much.
// Everything is read below a root, so that a test can plant it.
#pragma once

#include <cstdint>
#include <filesystem>

#include "worker/child.hpp"

namespace wb::worker {

/// How often the kernel has ended a process of the machine, or of one of its control groups, for
/// want of memory; 0 where that is not told.
std::int64_t memory_kills(const std::filesystem::path& root = "/");

/// What this process and its children may have together: the machine's memory, or less where a
/// control group limits it (bytes); 0 where neither is told.
std::uint64_t memory_bound(const std::filesystem::path& root = "/");

/// `of_others`: it held less than half of memory_bound(), so that the rest was taken by others;
/// `own`: it held more, and has asked for too much.
enum class MemoryEnd { none, of_others, own };
/// By the end of a process and the memory_kills() from before it was started.
MemoryEnd memory_end(const ChildEnd& end, std::int64_t kills_before,
                     const std::filesystem::path& root = "/");

}  // namespace wb::worker
