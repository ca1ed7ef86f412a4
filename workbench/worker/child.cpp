// SPDX-License-Identifier: MIT
#include "worker/child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/filter.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "core/process.hpp"
#include "worker/namespaces.hpp"
#include "worker/process_table.hpp"

namespace wb::worker {
namespace {

using std::chrono::milliseconds;

/// Everything that the forked child needs, prepared before the fork, since nothing may allocate
/// after it.
struct Prepared {
  std::vector<std::string> env_words;
  std::vector<char*> argv, envp;
  const ChildSpec* spec = nullptr;
  int dev_null = -1, capture = -1, socket = -1;
  int landlock = 0;
  std::vector<sock_filter> filter;
  pid_t parent = -1;  ///< 0: it has its own namespaces, in which its parent has no number
  NamespaceSpec namespaces;
};

/// A copy of `fd` above the numbers that the child rearranges.
UniqueFd high_copy(int fd) {
  return UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 10));
}

[[noreturn]] void give_up(const char* step) {
  constexpr std::string_view k_words = "cannot start this child, failed at: ";
  [[maybe_unused]] ssize_t written = ::write(2, k_words.data(), k_words.size());
  written = ::write(2, step, std::strlen(step));
  ::_exit(127);
}

[[noreturn]] void run_child(Prepared& child) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != child.parent) ::_exit(127);  // it died before the line above
  ::dup2(child.dev_null, 0);
  ::dup2(child.capture, 1);
  ::dup2(child.capture, 2);
  ::dup2(child.socket, k_child_socket_fd);
  if (::syscall(SYS_close_range, k_child_socket_fd + 1, UINT_MAX, 0) != 0) {
    for (int fd = k_child_socket_fd + 1; fd < 1'024; ++fd) ::close(fd);
  }
  volunteer_for_oom_kill();
  if (child.parent == 0) {
    if (const char* failed = arrange_mounts(child.namespaces)) give_up(failed);
  }
  const std::string& folder = child.spec->working_directory;
  if (::chdir(folder.empty() ? "/" : folder.c_str()) != 0) give_up("chdir");
  struct sigaction by_default {};
  by_default.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) ::sigaction(number, &by_default, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const char* failed = confine_this_process(child.spec->confinement, child.landlock, child.filter);
  if (failed != nullptr) give_up(failed);
  ::execve(child.argv[0], child.argv.data(), child.envp.data());
  give_up("execve");
}

/// A memory file of fixed size for the first k_capture_bytes; more cannot be written. Both
/// descriptors of the child share one offset, which tells how much was written.
Result<UniqueFd> make_capture() {
  UniqueFd fd(::memfd_create("capture", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid() || ::ftruncate(fd.get(), k_capture_bytes) != 0 ||
      ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0) {
    return errno_error("create", "a capture file", errno);
  }
  return fd;
}

std::string_view signal_words(int number) {
  switch (number) {
    case SIGSEGV:
      return "SIGSEGV, a wrong memory access";
    case SIGBUS:
      return "SIGBUS, a wrong memory access";
    case SIGILL:
      return "SIGILL, an instruction this CPU does not have";
    case SIGFPE:
      return "SIGFPE, an arithmetic fault";
    case SIGABRT:
      return "SIGABRT, it aborted itself";
    case SIGKILL:
      return "SIGKILL";
    case SIGXFSZ:
      return "SIGXFSZ, it wrote a file beyond its limit";
    case SIGTRAP:
      return "SIGTRAP";
    case SIGSYS:
      return "SIGSYS, a system call of another architecture";
    case SIGTERM:
      return "SIGTERM";
    default:
      return "see signal(7)";
  }
}

void signal_group(pid_t pid) {
  ::kill(-pid, SIGKILL);
  ::kill(pid, SIGKILL);  // it may not have called setsid() yet
}

}  // namespace

ChildRegistry::ChildRegistry() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

int ChildRegistry::sweep_strays(milliseconds patience) const {
  const Deadline deadline = deadline_in(patience);
  int killed = 0;
  // Killing a stray reparents its children to us, so repeat until there is none.
  while (std::chrono::steady_clock::now() < deadline) {
    bool found = false;
    for (const pid_t pid : children_of(::getpid())) {
      if (m_pids.contains(pid) || m_inits.contains(pid)) continue;
      found = true;
      ::kill(pid, SIGKILL);
      if (::waitpid(pid, nullptr, WNOHANG) == pid) ++killed;
    }
    if (!found) break;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return killed;
}

void ChildRegistry::signal_all() const {
  for (const pid_t pid : m_pids) signal_group(pid);
  for (const auto& [pid, child] : m_inits) ::kill(pid, SIGKILL);
}

pid_t ChildRegistry::init_of(pid_t child) const {
  const auto found = std::find_if(m_inits.begin(), m_inits.end(),
                                  [child](const auto& init) { return init.second == child; });
  return found != m_inits.end() ? found->first : 0;
}

int child_events_fd() {
  static const UniqueFd k_events = [] {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGCHLD);
    ::sigprocmask(SIG_BLOCK, &set, nullptr);  // children start with an empty mask
    return UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  }();
  return k_events.get();
}

bool drain_child_events(pid_t pid) {
  std::optional<bool> by_stop;
  signalfd_siginfo facts{};
  while (::read(child_events_fd(), &facts, sizeof facts) == static_cast<ssize_t>(sizeof facts)) {
    if (by_stop) continue;
    by_stop = facts.ssi_code == CLD_STOPPED && facts.ssi_pid == static_cast<std::uint32_t>(pid);
  }
  return by_stop.value_or(false);
}

bool is_stopped_child(pid_t pid) {
  siginfo_t facts{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &facts, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
         facts.si_pid == pid;
}

bool is_ended_child(pid_t pid) {
  siginfo_t facts{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &facts, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         facts.si_pid == pid;
}

std::string describe(const ChildEnd& end) {
  if (end.signal) {
    return fmt::format("was killed by signal {} ({})", *end.signal, signal_words(*end.signal));
  }
  if (end.exit_code) return fmt::format("exited with code {}", *end.exit_code);
  return "did not end, not even by SIGKILL";
}

Result<Child> Child::spawn(ChildRegistry& registry, const ChildSpec& spec) {
  WB_TRY_ASSIGN(auto ends, Channel::make_pair());
  WB_TRY_ASSIGN(UniqueFd capture, make_capture());
  const UniqueFd dev_null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!dev_null.valid()) return errno_error("open", "/dev/null", errno);
  const UniqueFd high_null = high_copy(dev_null.get());
  const UniqueFd high_capture = high_copy(capture.get());
  const UniqueFd high_socket = high_copy(ends.second.get());
  if (!high_null.valid() || !high_capture.valid() || !high_socket.valid()) {
    return errno_error("prepare the descriptors of", spec.argv[0], errno);
  }
  Prepared prepared;
  for (const auto& [name, value] : spec.env) prepared.env_words.push_back(name + "=" + value);
  for (std::string& word : prepared.env_words) prepared.envp.push_back(word.data());
  prepared.envp.push_back(nullptr);
  // execve wants char*, and promises not to write through it.
  for (const std::string& word : spec.argv) prepared.argv.push_back(const_cast<char*>(word.data()));
  prepared.argv.push_back(nullptr);
  prepared.spec = &spec;
  prepared.dev_null = high_null.get();
  prepared.capture = high_capture.get();
  prepared.socket = high_socket.get();
  const Confinement& confinement = spec.confinement;
  prepared.landlock = landlock_of(confinement);
  prepared.filter = filter_of(confinement);
  const bool apart = confinement.untrusted && confinement.level == Isolation::namespaces;
  prepared.parent = apart ? 0 : ::getpid();
  Child child;
  pid_t pid = -1;
  if (apart) {
    prepared.namespaces = {confinement.writable_folder, confinement.hidden_files};
    WB_TRY_ASSIGN(Namespaced started, fork_in_namespaces([&prepared] { run_child(prepared); }));
    pid = started.leader;
    child.m_init = started.init;
    child.m_life = std::move(started.life);
    registry.add_init(child.m_init, started.leader);
  } else {
    pid = ::fork();
    if (pid == 0) run_child(prepared);
    if (pid < 0) return process_refused("start", spec.argv[0], errno);
  }
  child.m_registry = &registry;
  child.m_pid = pid;
  child.m_channel = Channel(std::move(ends.first));
  child.m_capture = std::move(capture);
  registry.add(pid);
  return child;
}

Child::Child(Child&& other) noexcept {
  *this = std::move(other);
}

Child& Child::operator=(Child&& other) noexcept {
  std::swap(m_registry, other.m_registry);
  std::swap(m_pid, other.m_pid);
  std::swap(m_init, other.m_init);
  std::swap(m_life, other.m_life);
  std::swap(m_channel, other.m_channel);
  std::swap(m_capture, other.m_capture);
  std::swap(m_end, other.m_end);
  return *this;
}

Child::~Child() {
  if (m_pid > 0) kill();
}

std::optional<ChildEnd> Child::wait(Deadline deadline) {
  while (!m_end) {
    int status = 0;
    rusage usage{};
    const pid_t got = ::wait4(m_pid, &status, WNOHANG, &usage);
    if (got == m_pid) {
      m_end.emplace();
      m_end->max_rss_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) << 10;
      if (WIFEXITED(status)) m_end->exit_code = WEXITSTATUS(status);
      if (WIFSIGNALED(status)) m_end->signal = WTERMSIG(status);
    } else if (got < 0 && errno != EINTR) {
      m_end.emplace();
    } else if (std::chrono::steady_clock::now() >= deadline) {
      return std::nullopt;
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }
  return m_end;
}

bool Child::kill_by(Deadline deadline) {
  if (m_pid <= 0) return true;
  // A reaped pid may belong to another process; what is left of the group counts as strays then.
  if (!m_end) signal_group(m_pid);
  if (m_init > 0) ::kill(m_init, SIGKILL);
  return wait(deadline).has_value();
}

ChildEnd Child::kill() {
  if (m_pid <= 0) return m_end.value_or(ChildEnd{});
  if (!m_end) signal_group(m_pid);
  if (m_init > 0) ::kill(m_init, SIGKILL);
  const ChildEnd end = wait(deadline_in(milliseconds(5'000))).value_or(ChildEnd{});
  m_channel.close();
  m_registry->remove(m_pid);
  m_pid = -1;
  m_end = end;
  end_init();
  m_registry->sweep_strays();
  return end;
}

void Child::end_init() {
  if (m_init <= 0) return;
  // The init ends when all processes inside have: its leader was reaped above, the others are its
  // own children.
  const Deadline deadline = deadline_in(milliseconds(5'000));
  while (::waitpid(m_init, nullptr, WNOHANG) == 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  m_registry->remove_init(m_init);
  m_init = -1;
  m_life.reset();
}

std::string Child::captured() const {
  const off_t written = m_capture.valid() ? ::lseek(m_capture.get(), 0, SEEK_CUR) : 0;
  const auto size =
      static_cast<std::size_t>(std::clamp<off_t>(written, 0, static_cast<off_t>(k_capture_bytes)));
  std::string text(size, '\0');
  const ssize_t got = ::pread(m_capture.get(), text.data(), size, 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  if (text.size() <= k_capture_shown_bytes) return text;
  constexpr std::size_t k_half = k_capture_shown_bytes / 2;
  return fmt::format("{}\n[… {} bytes cut …]\n{}", text.substr(0, k_half),
                     text.size() - k_capture_shown_bytes, text.substr(text.size() - k_half));
}

}  // namespace wb::worker
