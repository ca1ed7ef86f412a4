// SPDX-License-Identifier: MIT
#include "worker/confine.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/filter.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "core/process.hpp"
#include "worker/namespaces.hpp"

namespace wb::worker {
namespace {

constexpr std::array k_isolation_levels = {Isolation::rlimits, Isolation::landlock,
                                           Isolation::seccomp, Isolation::namespaces};

}  // namespace

std::string_view to_string(Isolation level) {
  switch (level) {
    case Isolation::rlimits:
      return "rlimits";
    case Isolation::landlock:
      return "landlock";
    case Isolation::seccomp:
      return "seccomp";
    case Isolation::namespaces:
      return "namespaces";
  }
  return "rlimits";
}

std::optional<Isolation> parse_isolation(std::string_view word) {
  const auto* found = std::ranges::find_if(
      k_isolation_levels, [word](Isolation level) { return to_string(level) == word; });
  if (found == k_isolation_levels.end()) return std::nullopt;
  return *found;
}

Isolation reachable_isolation(Isolation wanted, bool gpu) {
  if (wanted < Isolation::namespaces) return wanted;
  return !gpu && !namespaces_missing() ? Isolation::namespaces : Isolation::seccomp;
}

std::string isolation_text(Isolation level) {
  std::string text = "rlimits+no_new_privs";
  const int version = landlock_version();
  if (level >= Isolation::landlock && version > 0) text += fmt::format("+landlock{}", version);
  if (level >= Isolation::seccomp && has_seccomp()) text += "+seccomp";
  if (level >= Isolation::namespaces) text += "+namespaces";
  return text;
}

namespace {

// Landlock's numbers are part of the kernel's ABI; Debian 12's headers have only the first two
// versions, so they are defined here.
constexpr long k_landlock_create_ruleset = 444, k_landlock_add_rule = 445,
               k_landlock_restrict_self = 446;
constexpr unsigned k_landlock_ask_version = 1;
constexpr int k_landlock_rule_path = 1;

struct LandlockRuleset {
  std::uint64_t handled_fs = 0, handled_net = 0, scoped = 0;
};
struct [[gnu::packed]] LandlockPathRule {
  std::uint64_t allowed = 0;
  std::int32_t parent_fd = -1;
};

constexpr std::uint64_t k_fs_write_file = 1u << 1;
constexpr std::uint64_t k_fs_change_tree = 0x1ff0;    // remove and make of every kind, bits 4 to 12
constexpr std::uint64_t k_fs_refer = 1u << 13;        // version 2
constexpr std::uint64_t k_fs_truncate = 1u << 14;     // version 3
constexpr std::uint64_t k_net_bind_connect = 3;       // version 4
constexpr std::uint64_t k_scope_sockets_signals = 3;  // version 6

/// Files that the CUDA driver opens for writing: its devices, and the names of its own threads,
/// without which it does not start (driver 580).
constexpr std::array k_gpu_files = {
    "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/proc/self/task",
    "/dev/nvidia0",   "/dev/nvidia1",    "/dev/nvidia2",          "/dev/nvidia3",
    "/dev/nvidia4",   "/dev/nvidia5",    "/dev/nvidia6",          "/dev/nvidia7",
    "/dev/nvidia8",   "/dev/nvidia9",    "/dev/nvidia10",         "/dev/nvidia11",
    "/dev/nvidia12",  "/dev/nvidia13",   "/dev/nvidia14",         "/dev/nvidia15"};

std::uint64_t write_rights(int version) {
  std::uint64_t rights = k_fs_write_file | k_fs_change_tree;
  if (version >= 2) rights |= k_fs_refer;
  if (version >= 3) rights |= k_fs_truncate;
  return rights;
}

bool allow_writes(long ruleset_fd, const char* path, std::uint64_t rights) {
  const int folder = ::open(path, O_PATH | O_CLOEXEC);
  if (folder < 0) return false;
  const LandlockPathRule rule{rights, folder};
  const long added = ::syscall(k_landlock_add_rule, ruleset_fd, k_landlock_rule_path, &rule, 0);
  ::close(folder);
  return added == 0;
}

/// Reading stays allowed. Writing, the network and, from version 6 on, signals to outsiders are
/// restricted. Landlock also refuses ptrace of, and /proc/PID/mem of, any process outside: judge,
/// supervisor.
const char* restrict_writes(const Confinement& confinement, int version) {
  LandlockRuleset ruleset;
  ruleset.handled_fs = write_rights(version);
  std::size_t size = 8;
  if (version >= 4) {
    ruleset.handled_net = k_net_bind_connect;
    size = 16;
  }
  if (version >= 6) {
    ruleset.scoped = k_scope_sockets_signals;
    size = 24;
  }
  const long fd = ::syscall(k_landlock_create_ruleset, &ruleset, size, 0);
  if (fd < 0) return "landlock_create_ruleset";
  const std::uint64_t file_rights = k_fs_write_file | (version >= 3 ? k_fs_truncate : 0);
  allow_writes(fd, "/dev/null", file_rights);
  if (confinement.gpu) {
    // Files that do not exist are not allowed. Device ioctls need no right, since the ruleset does
    // not handle them (it could from version 5 on).
    for (const char* file : k_gpu_files) allow_writes(fd, file, file_rights);
  }
  const std::string& folder = confinement.writable_folder;
  if (!folder.empty() && !allow_writes(fd, folder.c_str(), ruleset.handled_fs)) {
    return "landlock_add_rule";
  }
  const long done = ::syscall(k_landlock_restrict_self, fd, 0);
  ::close(static_cast<int>(fd));
  return done == 0 ? nullptr : "landlock_restrict_self";
}

bool limit(int resource, std::uint64_t value) {
  rlimit now{};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &now) != 0) return false;
  const rlim_t capped = value < now.rlim_max ? static_cast<rlim_t>(value) : now.rlim_max;
  const rlimit wanted{capped, capped};
  return ::setrlimit(static_cast<__rlimit_resource>(resource), &wanted) == 0;
}

/// For a supervisor that runs as root: its children keep only the right to read what root reads.
void drop_capabilities() {
  constexpr int k_dac_read_search = 2;
  constexpr int k_last_capability = 63;
  for (int capability = 0; capability <= k_last_capability; ++capability) {
    if (capability != k_dac_read_search) ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  }
}

}  // namespace

int landlock_version() {
  const long version = ::syscall(k_landlock_create_ruleset, nullptr, 0, k_landlock_ask_version);
  return version > 0 ? static_cast<int>(version) : 0;
}

int landlock_of(const Confinement& confinement) {
  return confinement.level >= Isolation::landlock ? landlock_version() : 0;
}

std::vector<sock_filter> filter_of(const Confinement& confinement) {
  if (confinement.level < Isolation::seccomp) return {};
  SystemCallPolicy policy = confinement.system_calls;
  policy.own_ids = confinement.level == Isolation::namespaces;
  // With read-only mounts, its compilers and caches can change only their own files.
  policy.change_files = policy.own_ids && policy.processes;
  return make_system_call_filter(policy);
}

void volunteer_for_oom_kill() {
  const int file = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  [[maybe_unused]] const ssize_t written = ::write(file, "1000", 4);
  ::close(file);
}

const char* confine_this_process(const Confinement& confinement, int landlock,
                                 std::vector<sock_filter>& filter) {
  if (!limit(RLIMIT_CORE, 0)) return "RLIMIT_CORE";
  if (!limit(RLIMIT_FSIZE, confinement.file_size_bytes)) return "RLIMIT_FSIZE";
  if (!limit(RLIMIT_NOFILE, confinement.open_files)) return "RLIMIT_NOFILE";
  if (confinement.address_space_bytes != 0 && !limit(RLIMIT_AS, confinement.address_space_bytes)) {
    return "RLIMIT_AS";
  }
  if (CPU_COUNT(&confinement.cpus) > 0 &&
      ::sched_setaffinity(0, sizeof confinement.cpus, &confinement.cpus) != 0) {
    return "sched_setaffinity";
  }
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return "PR_SET_NO_NEW_PRIVS";
  if (!confinement.untrusted) return nullptr;
  if (::geteuid() == 0) drop_capabilities();
  if (landlock > 0) {
    const char* failed = restrict_writes(confinement, landlock);
    if (failed != nullptr) return failed;
  }
  if (!filter.empty() && !apply_system_call_filter(filter)) return "seccomp";
  return nullptr;
}

std::uint64_t subject_address_space_bytes() {
  if (k_address_sanitizer) return 0;
  const auto pages = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES));
  const auto page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return pages * page_bytes / 4 * 3;
}

}  // namespace wb::worker
