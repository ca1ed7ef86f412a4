// SPDX-License-Identifier: MIT
// Child: one confined process of the supervisor (judge or subject), and Family: who the children
// are, so that strays (setsid, double fork) that fall to the supervisor can be told from them and
// killed.
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

/// The pids that the supervisor started itself. It must outlive every Child.
class Family {
 public:
  /// Makes this process the one that orphans of its descendants fall to.
  Family();
  void add(pid_t pid) { m_pids.insert(pid); }
  void remove(pid_t pid) { m_pids.erase(pid); }
  /// The first process of a child's namespaces: no stray, and nothing that was started for itself.
  void add_init(pid_t pid, pid_t child) { m_inits.emplace(pid, child); }
  void remove_init(pid_t pid) { m_inits.erase(pid); }
  [[nodiscard]] bool has_init(pid_t pid) const { return m_inits.contains(pid); }
  /// Of a child that has namespaces of its own; else 0. What leaves the child falls to it.
  [[nodiscard]] pid_t init_of(pid_t child) const;
  [[nodiscard]] std::size_t size() const { return m_pids.size(); }
  [[nodiscard]] bool has(pid_t pid) const { return m_pids.contains(pid); }
  /// SIGKILL to every child of this process that is not of the family, until none is left or
  /// `patience` ended. Returns how many were killed.
  int sweep_strays(std::chrono::milliseconds patience = std::chrono::milliseconds(2'000)) const;
  /// SIGKILL to the group of each, not awaited: before all are reaped, so that they end together.
  void signal_all() const;

 private:
  std::set<pid_t> m_pids;
  std::map<pid_t, pid_t> m_inits;  // and whose they are
};

/// Readable when a child of this process may have stopped or ended; such a wait need not be long,
/// as a signal is lost where a thread of this process takes it.
int child_events_fd();
/// Empties it. Whether what made it readable was that `pid` stopped: signals that come while one is
/// pending are lost, so that it tells of the first only.
bool drain_child_events(pid_t pid);
/// Whether the child is stopped now, all its threads.
bool is_stopped_child(pid_t pid);
bool is_ended_child(pid_t pid);  ///< not reaped yet

struct ChildSpec {
  std::vector<std::string> argv;           ///< argv[0] is an absolute path
  std::map<std::string, std::string> env;  ///< the whole environment
  std::string working_directory;           ///< empty: /
  Confinement confinement;
};

/// How a child ended; neither is set when the kernel would not let it go.
struct ChildEnd {
  std::optional<int> exit_code;
  std::optional<int> signal;
  std::uint64_t max_rss_bytes = 0;  ///< the most memory that it had
};
/// "exited with code 3", "was killed by signal 11 (SIGSEGV, segmentation fault)".
std::string describe(const ChildEnd& end);

/// The number of the socket in the child.
inline constexpr int k_child_socket_fd = 3;

class Child {
 public:
  /// fds in the child: 0 /dev/null, 1 and 2 the capture file, 3 the socket, nothing else.
  /// The child leads a session and a process group of its own and dies with this process.
  static Result<Child> spawn(Family& family, const ChildSpec& spec);
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  ~Child();

  [[nodiscard]] const Channel& channel() const { return m_channel; }
  [[nodiscard]] pid_t pid() const { return m_pid; }
  [[nodiscard]] const Family& family() const { return *m_family; }
  /// Waits for the child's own end; nothing when the deadline passes first.
  std::optional<ChildEnd> wait(Deadline deadline);
  /// SIGKILL to the group. Whether it ended by the deadline; kill() is due in either case.
  bool kill_by(Deadline deadline);
  /// SIGKILL to the group, reaps, and kills what had left the group. Idempotent.
  ChildEnd kill();
  /// What it wrote to 1 and 2: untrusted, at most k_capture_shown_bytes, cut in the middle.
  [[nodiscard]] std::string captured() const;

 private:
  Child() = default;
  /// Ends what its namespaces still hold.
  void end_init();

  Family* m_family = nullptr;
  pid_t m_pid = -1;
  pid_t m_init = -1;  ///< where it has namespaces of its own
  UniqueFd m_life;    ///< of the init: with this process it ends too
  Channel m_channel;
  UniqueFd m_capture;
  std::optional<ChildEnd> m_end;
};

/// The capture file cannot grow beyond this: later writes of the child fail.
inline constexpr std::size_t k_capture_bytes = 256u << 10;
inline constexpr std::size_t k_capture_shown_bytes = 16u << 10;

}  // namespace wb::worker
