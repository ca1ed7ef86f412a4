// SPDX-License-Identifier: MIT
// Child processes: argv arrays only (never a shell), own process group, resource limits, deadline,
// capped capture. `run_process` is for compilers and tools; `ChildProcess` for line-speaking peers.
// Also how many threads the system lets this user start.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"

namespace wb {

/// The remedy named when the system allows no more processes or threads.
inline constexpr const char* k_more_processes =
    "end other processes, or raise the limit (ulimit -u, pids.max of a control group)";

/// The error for a process that the system did not start: code environment, with a remedy when a
/// process limit was reached.
Error process_refused(std::string attempted, std::string what, int error_number);

struct ResourceLimits {
  std::optional<std::uint64_t> address_space_bytes;  ///< RLIMIT_AS
  std::optional<std::uint64_t> file_size_bytes;      ///< RLIMIT_FSIZE
  std::optional<std::uint64_t> cpu_s;                ///< RLIMIT_CPU
  std::optional<std::uint64_t> open_files;           ///< RLIMIT_NOFILE
  bool no_core_dump = true;
};

struct ProcessSpec {
  /// argv[0] without '/' is looked up in our PATH; with '/' it is relative to our working
  /// directory, not to the child's.
  std::vector<std::string> argv{};
  std::map<std::string, std::string> env{};  ///< the whole environment when clear_env, else added
  bool clear_env = false;
  fs::path working_directory{};  ///< empty: the parent's
  ResourceLimits limits{};
  std::chrono::milliseconds deadline{0};  ///< 0: none
  std::size_t capture_bytes = 64u << 10;  ///< per stream: half head, half tail
  std::vector<int> keep_fds{};  ///< inherited under the same number; all others are closed
  bool new_session = false;     ///< setsid instead of setpgid
  /// SIGKILL when the starting thread ends: only for threads that outlive the child.
  bool die_with_parent = false;
};

/// How a process ended. Exactly one of exit_code and signal is set. Neither is set when the process
/// could not be reaped within 5 s after SIGKILL (stuck in a driver or on a dead network disk), or
/// when other code in this process reaped it first.
struct ProcessOutcome {
  std::optional<int> exit_code;
  std::optional<int> signal;
  bool timed_out = false;
  bool reaped_by_others = false;
  std::string out;  ///< captured standard output, cut in the middle when too long
  std::string err;
  double wall_s = 0;
  double cpu_s = 0;  ///< user + system time of the child and its waited-for descendants
  std::uint64_t max_rss_bytes = 0;  ///< at least our own size when it was started (Linux counts so)
  [[nodiscard]] bool success() const { return exit_code == 0 && !timed_out; }
};

/// Runs the program to its end, with stdin from /dev/null. At the deadline the whole process group
/// gets SIGKILL, and so do the group's leftovers once the program itself has ended (a descendant
/// that holds the streams open gets 200 ms). A descendant in its own session is neither killed nor
/// waited for.
/// Errors: usage (empty argv), invalid (NUL byte, closed keep_fd), not_found (no such program or
/// folder), io, environment (this process ignores SIGCHLD or reaps children that are not its own).
/// A failing program is an outcome, not an error.
Result<ProcessOutcome> run_process(const ProcessSpec& spec);

/// The named variables that are set in this process's environment, with their values.
std::map<std::string, std::string> inherited_environment(std::initializer_list<const char*> names);

/// The absolute path of a program in PATH, or not_found.
Result<fs::path> find_program(std::string_view name);

/// A long-lived child with a pipe to its stdin and one from its stdout; stderr goes to a capped
/// capture file or, with `inherit_stderr`, to ours. The destructor kills the process group.
/// spec.deadline does not apply here: every call has its own.
class ChildProcess {
 public:
  static Result<ChildProcess> spawn(const ProcessSpec& spec, bool inherit_stderr = false);
  ChildProcess(ChildProcess&&) noexcept;
  ChildProcess& operator=(ChildProcess&&) noexcept;
  ~ChildProcess();

  /// Writes line + '\n', reading ahead meanwhile so that two busy writers do not deadlock. Errors:
  /// canceled (the peer closed its end), limit (deadline; after a partly written line stdin is
  /// closed, since the part cannot be taken back), invalid (the line holds a line end), io.
  Result<void> write_line(std::string_view line, std::chrono::milliseconds deadline);
  /// One line without its '\n'. Errors: canceled (end of stream, or the child ended without a whole
  /// line), limit (deadline, where 0 takes only buffered lines; or a line longer than max_bytes).
  Result<std::string> read_line(std::chrono::milliseconds deadline, std::size_t max_bytes);

  void close_stdin();
  [[nodiscard]] pid_t pid() const;
  [[nodiscard]] bool running();
  void signal_group(int signal_number);
  /// SIGKILL to the group and wait. Idempotent.
  ProcessOutcome kill_and_wait();
  /// Waits up to the deadline for the child to end, then kills it (timed_out). The rest of the
  /// group is killed in any case. Lines already written can still be read.
  ProcessOutcome wait(std::chrono::milliseconds deadline);
  /// The captured stderr so far: its first capture_bytes (empty with inherit_stderr).
  [[nodiscard]] std::string captured_stderr() const;

 private:
  struct State;
  ChildProcess();
  [[nodiscard]] State& state() const;
  std::unique_ptr<State> m_state;
};

/// How many threads more start in this process, at most `wanted`; they end before it returns.
/// Limits of several kinds (of a user, of control groups, of the machine) stand against that and
/// count processes likewise, so it is tried instead of computed.
int startable_threads(int wanted);

/// Whether this build runs under AddressSanitizer, which needs terabytes of address space and
/// traces the process to find leaks. g++ and clang report it differently.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool k_address_sanitizer = true;
#elif defined(__has_feature)
inline constexpr bool k_address_sanitizer = __has_feature(address_sanitizer);
#else
inline constexpr bool k_address_sanitizer = false;
#endif

}  // namespace wb
