// SPDX-License-Identifier: MIT
#include "worker/thread_limit.hpp"

#include <fmt/format.h>
#include <sched.h>

#include "core/process.hpp"

namespace wb::worker {
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
