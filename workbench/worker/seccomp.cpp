// SPDX-License-Identifier: MIT
#include "worker/seccomp.hpp"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>

#include "core/process.hpp"

namespace wb::worker {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t k_architecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t k_architecture = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t k_architecture = 0;  // no filter
#endif

// The same numbers on every architecture; Debian 12's headers may lack them.
constexpr std::uint32_t k_pidfd_send_signal = 424, k_pidfd_open = 434, k_clone3 = 435,
                        k_pidfd_getfd = 438, k_process_madvise = 440, k_mount_setattr = 442,
                        k_quotactl_fd = 443, k_process_mrelease = 448, k_fchmodat2 = 452,
                        k_last_known_call = 462;

/// Never needed to compute: other processes, the machine's state, keys, tracing, namespaces,
/// objects that outlive their creator, watches of which a user has few, and io_uring, whose calls
/// this filter does not see.
constexpr std::array k_denied = {
    std::uint32_t{SYS_ptrace},
    std::uint32_t{SYS_process_vm_readv},
    std::uint32_t{SYS_process_vm_writev},
    std::uint32_t{SYS_kcmp},
    k_pidfd_send_signal,
    k_pidfd_open,
    k_pidfd_getfd,
    k_process_madvise,
    k_process_mrelease,
    std::uint32_t{SYS_migrate_pages},
    std::uint32_t{SYS_rt_sigqueueinfo},
    std::uint32_t{SYS_rt_tgsigqueueinfo},
    std::uint32_t{SYS_ioprio_set},
    std::uint32_t{SYS_mount},
    std::uint32_t{SYS_umount2},
    std::uint32_t{SYS_pivot_root},
    std::uint32_t{SYS_chroot},
    std::uint32_t{SYS_open_tree},
    std::uint32_t{SYS_move_mount},
    std::uint32_t{SYS_fsopen},
    std::uint32_t{SYS_fsconfig},
    std::uint32_t{SYS_fsmount},
    std::uint32_t{SYS_fspick},
    k_mount_setattr,
    std::uint32_t{SYS_quotactl},
    k_quotactl_fd,
    std::uint32_t{SYS_unshare},
    std::uint32_t{SYS_setns},
    std::uint32_t{SYS_reboot},
    std::uint32_t{SYS_kexec_load},
    std::uint32_t{SYS_init_module},
    std::uint32_t{SYS_finit_module},
    std::uint32_t{SYS_delete_module},
    std::uint32_t{SYS_swapon},
    std::uint32_t{SYS_swapoff},
    std::uint32_t{SYS_settimeofday},
    std::uint32_t{SYS_clock_settime},
    std::uint32_t{SYS_clock_adjtime},
    std::uint32_t{SYS_adjtimex},
    std::uint32_t{SYS_sethostname},
    std::uint32_t{SYS_setdomainname},
    std::uint32_t{SYS_acct},
    std::uint32_t{SYS_syslog},
    std::uint32_t{SYS_vhangup},
    std::uint32_t{SYS_sync},
    std::uint32_t{SYS_syncfs},
    std::uint32_t{SYS_keyctl},
    std::uint32_t{SYS_add_key},
    std::uint32_t{SYS_request_key},
    std::uint32_t{SYS_bpf},
    std::uint32_t{SYS_perf_event_open},
    std::uint32_t{SYS_userfaultfd},
    std::uint32_t{SYS_name_to_handle_at},
    std::uint32_t{SYS_open_by_handle_at},
    std::uint32_t{SYS_fanotify_init},
    std::uint32_t{SYS_fanotify_mark},
    std::uint32_t{SYS_inotify_init1},
    std::uint32_t{SYS_io_uring_setup},
    std::uint32_t{SYS_io_uring_enter},
    std::uint32_t{SYS_io_uring_register},
    std::uint32_t{SYS_shmget},
    std::uint32_t{SYS_shmat},
    std::uint32_t{SYS_shmctl},
    std::uint32_t{SYS_msgget},
    std::uint32_t{SYS_msgsnd},
    std::uint32_t{SYS_msgrcv},
    std::uint32_t{SYS_msgctl},
    std::uint32_t{SYS_semget},
    std::uint32_t{SYS_semop},
    std::uint32_t{SYS_semtimedop},
    std::uint32_t{SYS_semctl},
    std::uint32_t{SYS_mq_open},
    std::uint32_t{SYS_mq_unlink},
    std::uint32_t{SYS_mq_notify},
#if defined(__x86_64__)
    std::uint32_t{SYS_inotify_init},
    std::uint32_t{SYS_iopl},
    std::uint32_t{SYS_ioperm},
#endif
};

/// File permissions and attributes, for which Landlock has no right.
constexpr std::array k_file_changes = {
    std::uint32_t{SYS_fchmod},
    std::uint32_t{SYS_fchmodat},
    k_fchmodat2,
    std::uint32_t{SYS_fchown},
    std::uint32_t{SYS_fchownat},
    std::uint32_t{SYS_utimensat},
    std::uint32_t{SYS_setxattr},
    std::uint32_t{SYS_lsetxattr},
    std::uint32_t{SYS_fsetxattr},
    std::uint32_t{SYS_removexattr},
    std::uint32_t{SYS_lremovexattr},
    std::uint32_t{SYS_fremovexattr},
#if defined(__x86_64__)
    std::uint32_t{SYS_chmod},
    std::uint32_t{SYS_chown},
    std::uint32_t{SYS_lchown},
    std::uint32_t{SYS_utime},
    std::uint32_t{SYS_utimes},
    std::uint32_t{SYS_futimesat},
#endif
};

/// The first argument is a process or thread; 0 is the caller.
constexpr std::array k_scheduling = {
    std::uint32_t{SYS_sched_setaffinity}, std::uint32_t{SYS_sched_setscheduler},
    std::uint32_t{SYS_sched_setparam}, std::uint32_t{SYS_sched_setattr}};

/// Possible through a descriptor opened for reading: a file's flags, and the receiver of its
/// signals.
constexpr std::array<std::uint32_t, 8> k_file_requests = {
    0x40086602, 0x40046602,  // FS_IOC_SETFLAGS, FS_IOC32_SETFLAGS
    0x401c5820,              // FS_IOC_FSSETXATTR
    0x40087602, 0x40047602,  // FS_IOC_SETVERSION, FS_IOC32_SETVERSION
    0x8901,     0x8902,      // FIOSETOWN, SIOCSPGRP
    0x5412};                 // TIOCSTI

/// Commands of fcntl: locks of a process and of an open file.
constexpr std::array<std::uint32_t, 4> k_lock_commands = {F_SETLK, F_SETLKW, 37, 38};
/// Receivers of a file's signals, leases on it, watches of a folder.
constexpr std::array<std::uint32_t, 5> k_owner_commands = {
    F_SETOWN, 15 /* F_SETOWN_EX */, 10 /* F_SETSIG */, 1024 /* F_SETLEASE */, 1026 /* F_NOTIFY */};
/// Signals that would look as if an outsider had ended the process.
constexpr std::array<std::uint32_t, 4> k_ending_signals = {SIGHUP, SIGINT, SIGKILL, SIGTERM};

constexpr std::uint32_t k_allow = SECCOMP_RET_ALLOW;
constexpr std::uint32_t k_refuse = SECCOMP_RET_ERRNO | EPERM;
constexpr std::uint32_t k_absent = SECCOMP_RET_ERRNO | ENOSYS;
constexpr std::uint32_t k_ignore = SECCOMP_RET_ERRNO | 0;  // success without the call
/// Placeholders for ids that only the child knows; no process has such a number.
constexpr std::uint32_t k_own_id = 0x7ffffff1, k_parents_id = 0x7ffffff2;

constexpr std::uint32_t answer_value(SystemCallPolicy::Answer answer) {
  switch (answer) {
    case SystemCallPolicy::Answer::refused:
      return k_refuse;
    case SystemCallPolicy::Answer::absent:
      return k_absent;
    case SystemCallPolicy::Answer::ignored:
      return k_ignore;
  }
  return k_refuse;
}

class Program {
 public:
  void load(std::size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, offset); }
  /// Loads the lower half of system call argument i: these are 32-bit values.
  void load_argument(std::size_t i, bool upper_half = false) {
    load(offsetof(seccomp_data, args) + 8 * i + (upper_half ? 4 : 0));
  }
  void keep_bits(std::uint32_t bits) { add(BPF_ALU | BPF_AND | BPF_K, bits); }
  void answer(std::uint32_t value) { add(BPF_RET | BPF_K, value); }
  /// Runs the next instruction only if the loaded value equals `value`.
  void if_equal(std::uint32_t value) { add(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1); }
  void unless_equal(std::uint32_t value) { add(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0); }
  void if_at_least(std::uint32_t value) { add(BPF_JMP | BPF_JGE | BPF_K, value, 0, 1); }
  void unless_any_bit(std::uint32_t bits) { add(BPF_JMP | BPF_JSET | BPF_K, bits, 1, 0); }
  void skip_if_equal(std::uint32_t value, std::uint8_t count) {
    add(BPF_JMP | BPF_JEQ | BPF_K, value, count, 0);
  }
  void answer_if_equal(std::uint32_t value, std::uint32_t what) {
    if_equal(value);
    answer(what);
  }
  /// `body` for one system call only. It may load arguments, so it must answer at its end.
  template <typename Body>
  void on(std::uint32_t call, const Body& body) {
    const std::size_t jump = m_code.size();
    add(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 0);
    body();
    m_code[jump].jf = static_cast<std::uint8_t>(m_code.size() - jump - 1);
  }
  [[nodiscard]] std::vector<sock_filter> take() { return std::move(m_code); }

 private:
  void add(int code, std::size_t value, std::uint8_t if_true = 0, std::uint8_t if_false = 0) {
    m_code.push_back(
        {static_cast<std::uint16_t>(code), if_true, if_false, static_cast<std::uint32_t>(value)});
  }
  std::vector<sock_filter> m_code;
};

/// Allows calls on its own threads, and refuses those on others: limits, scheduling, priority,
/// memory, signals.
void filter_other_processes(Program& program, const SystemCallPolicy& policy) {
  for (const std::uint32_t call : k_scheduling) {
    if (policy.own_ids) break;
    program.on(call, [&] {
      program.load_argument(0);
      program.answer_if_equal(0, k_allow);
      program.answer_if_equal(k_own_id, k_allow);
      program.answer(answer_value(policy.others_scheduling));
    });
  }
  program.on(SYS_setpriority, [&] {
    program.load_argument(0);
    program.unless_equal(PRIO_PROCESS);
    program.answer(k_refuse);  // of a group or of all of a user's processes
    program.load_argument(1);
    program.answer_if_equal(0, k_allow);
    program.answer_if_equal(k_own_id, k_allow);
    program.answer(policy.own_ids ? k_allow : answer_value(policy.others_scheduling));
  });
  // At a CPU time limit the kernel sends SIGKILL, which would look like an outsider's.
  program.on(SYS_prlimit64, [&] {
    if (!policy.own_ids) {
      program.load_argument(0);
      program.skip_if_equal(k_own_id, 2);
      program.unless_equal(0);
      program.answer(k_refuse);
    }
    program.load_argument(1);
    program.unless_equal(RLIMIT_CPU);
    program.answer(k_allow);                  // any other
    for (const bool upper : {false, true}) {  // halves of the new limit's address; 0: only a query
      program.load_argument(2, upper);
      program.unless_equal(0);
      program.answer(k_refuse);
    }
    program.answer(k_allow);
  });
  program.on(SYS_setrlimit, [&] {
    program.load_argument(0);
    program.answer_if_equal(RLIMIT_CPU, k_refuse);
    program.answer(k_allow);
  });
  program.on(SYS_move_pages, [&] {
    program.load_argument(0);
    program.unless_equal(0);
    program.answer(k_refuse);
    program.answer(k_allow);
  });
  program.on(SYS_prctl, [&] {
    program.load_argument(0);
    constexpr std::uint32_t k_sched_core = 62;
    program.answer_if_equal(k_sched_core, k_refuse);
    // It must end with its supervisor.
    if (!policy.processes) program.answer_if_equal(PR_SET_PDEATHSIG, k_refuse);
    program.answer(k_allow);
  });
}

/// A compiled subject may send itself the signals of faults. A Python subject may end its children.
void filter_signals(Program& program, const SystemCallPolicy& policy) {
  if (policy.processes) {
    if (policy.own_ids) return;
    for (const std::uint32_t call : {SYS_kill, SYS_tgkill}) {
      program.on(call, [&] {
        program.load_argument(0);
        program.answer_if_equal(k_parents_id, k_refuse);
        program.answer_if_equal(~std::uint32_t{0}, k_refuse);  // every process that it can reach
        program.answer(k_allow);
      });
    }
    return;
  }
  const auto own_only = [&](std::uint32_t call, std::size_t signal) {
    program.on(call, [&] {
      program.load_argument(signal);
      for (const std::uint32_t ending : k_ending_signals) {
        program.answer_if_equal(ending, k_refuse);
      }
      program.load_argument(0);
      program.answer_if_equal(k_own_id, k_allow);
      if (call == SYS_kill) program.answer_if_equal(0, k_allow);  // its own group
      program.answer(k_refuse);
    });
  };
  own_only(SYS_kill, 1);
  own_only(SYS_tgkill, 2);
  program.answer_if_equal(SYS_tkill, k_refuse);
}

void filter_files(Program& program, const SystemCallPolicy& policy) {
  for (const std::uint32_t call : k_file_changes) {
    if (!policy.change_files) program.answer_if_equal(call, k_refuse);
  }
  program.on(SYS_ioctl, [&] {
    program.load_argument(1);
    for (const std::uint32_t request : k_file_requests) {
      program.answer_if_equal(request, k_refuse);
    }
    program.answer(k_allow);
  });
  program.answer_if_equal(SYS_flock, answer_value(policy.locks));
  program.on(SYS_fcntl, [&] {
    program.load_argument(1);
    for (const std::uint32_t command : k_lock_commands) {
      program.answer_if_equal(command, answer_value(policy.locks));
    }
    for (const std::uint32_t command : k_owner_commands) {
      program.answer_if_equal(command, k_refuse);
    }
    program.answer(k_allow);
  });
}

void filter_sockets(Program& program, const SystemCallPolicy& policy) {
  program.on(SYS_socket, [&] {
    if (policy.unix_sockets) {
      program.load_argument(0);
      program.answer_if_equal(AF_UNIX, k_allow);
    }
    program.answer(k_refuse);
  });
  if (policy.unix_sockets) return;
  for (const std::uint32_t call : {SYS_connect, SYS_bind, SYS_listen}) {
    program.answer_if_equal(call, k_refuse);
  }
  // The ends of a pair are connected; only a datagram could still go to another name.
  program.on(SYS_socketpair, [&] {
    program.load_argument(1);
    constexpr std::uint32_t k_type_bits = 0xf;
    program.keep_bits(k_type_bits);
    program.answer_if_equal(SOCK_STREAM, k_allow);
    program.answer_if_equal(SOCK_SEQPACKET, k_allow);
    program.answer(k_refuse);
  });
}

void filter_starts(Program& program, const SystemCallPolicy& policy) {
  // Its flags are behind a pointer, which a filter cannot read; libraries then use clone.
  program.answer_if_equal(k_clone3, k_absent);
  constexpr std::uint32_t k_new_cgroup = 0x02000000;
  constexpr std::uint32_t k_namespaces = CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET |
                                         CLONE_NEWIPC | CLONE_NEWUTS | k_new_cgroup;
  program.on(SYS_clone, [&] {
    program.load_argument(0);
    if (policy.processes) {
      program.unless_any_bit(k_namespaces);
      program.answer(k_allow);
      program.answer(k_refuse);
    } else {
      program.unless_any_bit(CLONE_THREAD);
      program.answer(k_refuse);
      program.answer(k_allow);
    }
  });
#if defined(__x86_64__)
  if (!policy.processes) {
    for (const std::uint32_t call : {SYS_fork, SYS_vfork}) program.answer_if_equal(call, k_refuse);
  }
#endif
}

}  // namespace

bool has_seccomp() {
  // With a null filter: EFAULT where filters are supported, EINVAL where not.
  return k_architecture != 0 && !k_address_sanitizer &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, nullptr, 0, 0) != 0 && errno == EFAULT;
}

std::vector<sock_filter> make_system_call_filter(const SystemCallPolicy& policy) {
  if (!has_seccomp()) return {};
  Program program;
  program.load(offsetof(seccomp_data, arch));
  program.unless_equal(k_architecture);  // the 32-bit calls of the same kernel have other numbers
  program.answer(SECCOMP_RET_KILL_PROCESS);
  program.load(offsetof(seccomp_data, nr));
#if defined(__x86_64__)
  constexpr std::uint32_t k_x32_calls = 0x40000000;
  program.if_at_least(k_x32_calls);
  program.answer(k_refuse);
#endif
  // Newer calls are answered as by an older kernel.
  program.if_at_least(k_last_known_call + 1);
  program.answer(k_absent);
  for (const std::uint32_t call : k_denied) program.answer_if_equal(call, k_refuse);
  filter_other_processes(program, policy);
  filter_signals(program, policy);
  filter_files(program, policy);
  filter_sockets(program, policy);
  filter_starts(program, policy);
  program.answer(k_allow);
  return program.take();
}

bool apply_system_call_filter(std::vector<sock_filter>& filter) {
  const auto own = static_cast<std::uint32_t>(::getpid());
  const auto parents = static_cast<std::uint32_t>(::getppid());  // 0 within a pid namespace
  for (sock_filter& step : filter) {
    if (step.code != (BPF_JMP | BPF_JEQ | BPF_K)) continue;
    if (step.k == k_own_id) step.k = own;
    if (step.k == k_parents_id && parents != 0) step.k = parents;
  }
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

}  // namespace wb::worker
