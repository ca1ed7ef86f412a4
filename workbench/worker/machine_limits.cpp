// SPDX-License-Identifier: MIT
#include "worker/machine_limits.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <string_view>

#include "core/ascii.hpp"
#include "core/process.hpp"
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

namespace {

/// A variant may hold two plans at once; interpreters and libraries have their own threads.
constexpr int k_plans = 2, k_other_threads = 8;

int allowed_cpus() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  return ::sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
}

}  // namespace

std::optional<std::string> refused_threads() {
  const int cpus = allowed_cpus(), wanted = k_plans * cpus + k_other_threads;
  const int started = startable_threads(wanted);
  if (started == wanted) return std::nullopt;
  return fmt::format("the system lets this user start {} threads more, where {} CPUs need {}; {}",
                     started, cpus, wanted, k_more_processes);
}

}  // namespace wb::worker
