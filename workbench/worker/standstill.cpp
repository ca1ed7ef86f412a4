// SPDX-License-Identifier: MIT
#include "worker/standstill.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <thread>
#include <utility>

#include "worker/cpu_time.hpp"
#include "worker/process_table.hpp"

namespace wb::worker {
namespace {

constexpr int k_quick_attempts = 40;  ///< a running process stops within some microseconds
constexpr std::chrono::microseconds k_pause{50};
/// When the kernel does not say which thread runs.
constexpr std::chrono::milliseconds k_untold_pause{1};
constexpr int k_most_passes = 20;  ///< searches for processes started meanwhile

/// True when every thread of a process is stopped, or it has ended.
bool threads_stand(pid_t pid) {
  const std::vector<ThreadState> threads = threads_of(pid);
  return std::all_of(threads.begin(), threads.end(), [](const ThreadState& thread) {
    return thread.state == 'T' || thread.state == 'Z' || thread.state == 'X';
  });
}

/// Whether a stopped thread of a process is still on its CPU.
OnCpu threads_on_cpu(pid_t pid) {
  OnCpu all = OnCpu::no;
  for (const ThreadState& thread : threads_of(pid)) {
    if (thread.state != 'T') continue;
    const OnCpu one = is_on_cpu(pid, thread.thread);
    if (one == OnCpu::yes) return one;
    if (one == OnCpu::unknown) all = one;
  }
  return all;
}

/// True when the kernel reports a process with all its threads as stopped, or it has ended.
bool is_stopped(pid_t pid) {
  siginfo_t facts{};
  const int asked = ::waitid(P_PID, static_cast<id_t>(pid), &facts, WSTOPPED | WNOHANG | WNOWAIT);
  if (asked != 0) return threads_stand(pid);  // no child of this process
  return facts.si_pid == pid || is_ended_child(pid);
}

Error no_standstill(pid_t pid, const char* why) {
  return {ErrorCode::invalid, "stop", fmt::format("process {} of the subject", pid), why, ""};
}

}  // namespace

std::vector<pid_t> processes_of(pid_t leader, const ChildRegistry& registry) {
  const auto links = links_below(::getpid());
  const pid_t init = registry.init_of(leader);
  std::vector<pid_t> roots{leader};
  for (const ProcessLink& link : links) {
    const bool is_stray = init > 0 ? link.parent == init
                                   : link.parent == ::getpid() && !registry.has(link.pid) &&
                                         !registry.has_init(link.pid);
    if (is_stray) roots.push_back(link.pid);
  }
  std::vector<pid_t> pids = roots;
  const auto below = descendants_in(links, roots);
  pids.insert(pids.end(), below.begin(), below.end());
  std::sort(pids.begin(), pids.end());
  return pids;
}

std::vector<pid_t> Standstill::find_all() const {
  if (m_scope == ProcessScope::threads_only) return {m_leader};
  return processes_of(m_leader, *m_registry);
}

Standstill::Account Standstill::account() const {
  Account account;
  for (const pid_t pid : m_pids) {
    account.push_back(cpu_time(pid).value_or(std::chrono::nanoseconds(0)));
  }
  return account;
}

Result<void> Standstill::stop(Deadline deadline) {
  ::kill(-m_leader, SIGSTOP);
  const auto await = [&](const auto& reached, pid_t pid) -> Result<void> {
    for (int attempt = 0; !reached(); ++attempt) {
      if (std::chrono::steady_clock::now() >= deadline) {
        return no_standstill(pid, "it did not stop");
      }
      if (attempt < k_quick_attempts) {
        ::sched_yield();
      } else {
        ::kill(pid, SIGSTOP);  // another process may have resumed it
        std::this_thread::sleep_for(k_pause);
      }
    }
    return {};
  };
  for (int pass = 0; pass < k_most_passes; ++pass) {
    std::vector<pid_t> found = find_all();
    if (pass > 0 && found == m_pids) break;  // all were stopped and no new one appeared
    m_pids = std::move(found);
    for (const pid_t pid : m_pids) {
      ::kill(pid, SIGSTOP);
      WB_TRY(await([&] { return is_stopped(pid); }, pid));
    }
    if (is_ended_child(m_leader)) return no_standstill(m_leader, "it has ended");
    if (m_scope == ProcessScope::threads_only) break;
  }
  // The last thread to stop still executes some instructions when the kernel reports it.
  bool all_tell = true;
  for (const pid_t pid : m_pids) {
    OnCpu on_cpu = OnCpu::yes;
    WB_TRY(await([&] { return (on_cpu = threads_on_cpu(pid)) != OnCpu::yes; }, pid));
    all_tell = all_tell && on_cpu == OnCpu::no;
  }
  m_before = account();
  if (all_tell) return {};
  return await(
      [&] {
        std::this_thread::sleep_for(k_untold_pause);
        Account now = account();
        const bool same = now == m_before;
        m_before = std::move(now);
        return same;
      },
      m_leader);
}

Result<Standstill> Standstill::of(pid_t leader, const ChildRegistry& registry, ProcessScope scope,
                                  std::chrono::milliseconds patience) {
  Standstill still(leader, registry, scope);
  WB_TRY(still.stop(deadline_in(patience)));
  return still;
}

Standstill::Standstill(Standstill&& other) noexcept
    : m_leader(std::exchange(other.m_leader, 0)),
      m_registry(other.m_registry),
      m_scope(other.m_scope),
      m_pids(std::move(other.m_pids)),
      m_before(std::move(other.m_before)) {}

Standstill& Standstill::operator=(Standstill&& other) noexcept {
  std::swap(m_leader, other.m_leader);
  std::swap(m_registry, other.m_registry);
  std::swap(m_scope, other.m_scope);
  std::swap(m_pids, other.m_pids);
  std::swap(m_before, other.m_before);
  return *this;
}

Standstill::~Standstill() {
  if (m_leader <= 0) return;
  for (const pid_t pid : m_pids) {
    if (pid != m_leader) ::kill(pid, SIGCONT);
  }
  ::kill(-m_leader, SIGCONT);
  ::kill(m_leader, SIGCONT);
}

bool Standstill::is_unbroken() const {
  // Check states first: a running thread's CPU account lags by up to a clock tick and is exact
  // again once it has left the CPU.
  return std::all_of(m_pids.begin(), m_pids.end(), threads_stand) && find_all() == m_pids &&
         account() == m_before;
}

}  // namespace wb::worker
