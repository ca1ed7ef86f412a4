// SPDX-License-Identifier: MIT
// Child: one confined process of the supervisor (judge or subject). ChildRegistry: the supervisor's
// children, so that strays (setsid, double fork) that are reparented to the supervisor can be
// recognized and killed.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "worker/channel.hpp"
#include "worker/confine.hpp"

namespace wb::worker {

/// The pids that the supervisor started itself. Must outlive every Child.
class ChildRegistry {
 public:
  /// Makes this process a subreaper, which orphans of its descendants are reparented to.
  ChildRegistry();
  void add(pid_t pid) { m_pids.insert(pid); }
  void remove(pid_t pid) { m_pids.erase(pid); }
  /// Registers the init process of a child's namespaces, which is neither a stray nor a child of
  /// its own.
  void add_init(pid_t pid, pid_t child) { m_inits.emplace(pid, child); }
  void remove_init(pid_t pid) { m_inits.erase(pid); }
  [[nodiscard]] bool has_init(pid_t pid) const { return m_inits.contains(pid); }
  /// The init of a child with its own namespaces, to which the child's orphans are reparented; else
  /// 0.
  [[nodiscard]] pid_t init_of(pid_t child) const;
  [[nodiscard]] std::size_t size() const { return m_pids.size(); }
  [[nodiscard]] bool has(pid_t pid) const { return m_pids.contains(pid); }
  /// SIGKILL to every unregistered child of this process, until none is left or `patience` has
  /// passed. Returns how many were killed.
  int sweep_strays(std::chrono::milliseconds patience = std::chrono::milliseconds(2'000)) const;
  /// SIGKILL to all groups without waiting, so that they end together before they are reaped.
  void signal_all() const;

 private:
  std::set<pid_t> m_pids;
  std::map<pid_t, pid_t> m_inits;  // and their children
};

/// Readable when a child of this process may have stopped or ended. Wait on it with short timeouts
/// only, since a thread of this process may take the signal.
int child_events_fd();
/// Drains the descriptor. True when `pid` stopped; signals during a pending one are lost, so it
/// reports only the first.
bool drain_child_events(pid_t pid);
/// True when all threads of the child are stopped.
bool is_stopped_child(pid_t pid);
bool is_ended_child(pid_t pid);  ///< not reaped yet

struct ChildSpec {
  std::vector<std::string> argv;           ///< argv[0] is an absolute path
  std::map<std::string, std::string> env;  ///< the whole environment
  std::string working_directory;           ///< empty: /
  Confinement confinement;
};

/// How a child ended; neither is set when the kernel does not release it.
struct ChildEnd {
  std::optional<int> exit_code;
  std::optional<int> signal;
  std::uint64_t max_rss_bytes = 0;  ///< its peak memory
};
/// "exited with code 3", "was killed by signal 11 (SIGSEGV, segmentation fault)".
std::string describe(const ChildEnd& end);

/// The socket's descriptor number in the child.
inline constexpr int k_child_socket_fd = 3;

class Child {
 public:
  /// Descriptors in the child: 0 /dev/null, 1 and 2 the capture file, 3 the socket, no others. The
  /// child leads its own session and process group and dies with this process.
  static Result<Child> spawn(ChildRegistry& registry, const ChildSpec& spec);
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  ~Child();

  [[nodiscard]] const Channel& channel() const { return m_channel; }
  [[nodiscard]] pid_t pid() const { return m_pid; }
  [[nodiscard]] const ChildRegistry& registry() const { return *m_registry; }
  /// Waits for the child to end by itself; nothing at the deadline.
  std::optional<ChildEnd> wait(Deadline deadline);
  /// SIGKILL to the group. Returns whether the child ended by the deadline; call kill() in either
  /// case.
  bool kill_by(Deadline deadline);
  /// SIGKILL to the group, reaps, and kills processes that had left the group. Idempotent.
  ChildEnd kill();
  /// Its output on 1 and 2: untrusted, at most k_capture_shown_bytes, cut in the middle.
  [[nodiscard]] std::string captured() const;

 private:
  Child() = default;
  /// Ends the processes left in its namespaces.
  void end_init();

  ChildRegistry* m_registry = nullptr;
  pid_t m_pid = -1;
  pid_t m_init = -1;  ///< for a child with its own namespaces
  UniqueFd m_life;    ///< of the init, which ends with this process
  Channel m_channel;
  UniqueFd m_capture;
  std::optional<ChildEnd> m_end;
};

/// Size limit of the capture file: later writes of the child fail.
inline constexpr std::size_t k_capture_bytes = 256u << 10;
inline constexpr std::size_t k_capture_shown_bytes = 16u << 10;

}  // namespace wb::worker
