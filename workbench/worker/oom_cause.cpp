// SPDX-License-Identifier: MIT
#include "worker/oom_cause.hpp"

#include <algorithm>
#include <csignal>
#include <string>
#include <string_view>

#include "core/ascii.hpp"
#include "device/cpu_limits.hpp"

namespace wb::worker {
namespace {

/// The number after a word at the start of a line; 0 without such a line.
std::uint64_t figure(const std::filesystem::path& file, std::string_view name) {
  const std::string text = device::file_content(file);
  for (const std::string_view line : ascii::parts(text, '\n')) {
    const auto words = ascii::words(line);
    if (words.size() < 2 || words[0] != name) continue;
    return ascii::number<std::uint64_t>(words[1]).value_or(0);
  }
  return 0;
}

}  // namespace

std::int64_t memory_kills(const std::filesystem::path& root) {
  return static_cast<std::int64_t>(figure(root / "proc/vmstat", "oom_kill"));
}

std::uint64_t memory_bound(const std::filesystem::path& root) {
  const std::uint64_t machine = figure(root / "proc/meminfo", "MemTotal:") * 1'024;
  const auto limit = device::memory_limit(root);
  if (!limit) return machine;
  return machine == 0 ? *limit : std::min(machine, *limit);
}

OomCause oom_cause(const ChildEnd& end, std::int64_t kills_before,
                   const std::filesystem::path& root) {
  if (end.signal != SIGKILL || memory_kills(root) <= kills_before) return OomCause::none;
  return end.max_rss_bytes < memory_bound(root) / 2 ? OomCause::of_others : OomCause::own;
}

}  // namespace wb::worker
