// SPDX-License-Identifier: MIT
#include "worker/seccomp.hpp"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace wb::worker {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t k_architecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t k_architecture = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t k_architecture = 0;  // no filter
#endif

#if defined(__SANITIZE_ADDRESS__)
constexpr bool k_traces_itself = true;
#elif defined(__has_feature)
constexpr bool k_traces_itself = __has_feature(address_sanitizer);
#else
constexpr bool k_traces_itself = false;
#endif

// Numbers that are the same on every architecture, and that Debian 12's headers may lack.
constexpr std::uint32_t k_pidfd_getfd = 438, k_process_madvise = 440, k_mount_setattr = 442,
                        k_clone3 = 435;

/// Never needed to compute: other processes, the machine's state, keys, tracing, namespaces, and
/// io_uring, which would make calls that this filter does not see.
constexpr std::array k_denied = {
    std::uint32_t{SYS_ptrace},
    std::uint32_t{SYS_process_vm_readv},
    std::uint32_t{SYS_process_vm_writev},
    std::uint32_t{SYS_kcmp},
    k_pidfd_getfd,
    k_process_madvise,
    std::uint32_t{SYS_mount},
    std::uint32_t{SYS_umount2},
    std::uint32_t{SYS_pivot_root},
    std::uint32_t{SYS_chroot},
    std::uint32_t{SYS_open_tree},
    std::uint32_t{SYS_move_mount},
    std::uint32_t{SYS_fsopen},
    std::uint32_t{SYS_fsmount},
    k_mount_setattr,
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
    std::uint32_t{SYS_sethostname},
    std::uint32_t{SYS_setdomainname},
    std::uint32_t{SYS_acct},
    std::uint32_t{SYS_keyctl},
    std::uint32_t{SYS_add_key},
    std::uint32_t{SYS_request_key},
    std::uint32_t{SYS_bpf},
    std::uint32_t{SYS_perf_event_open},
    std::uint32_t{SYS_userfaultfd},
    std::uint32_t{SYS_open_by_handle_at},
    std::uint32_t{SYS_io_uring_setup},
    std::uint32_t{SYS_io_uring_enter},
    std::uint32_t{SYS_io_uring_register},
};

constexpr std::uint32_t k_allow = SECCOMP_RET_ALLOW;
constexpr std::uint32_t k_refuse = SECCOMP_RET_ERRNO | EPERM;

class Program {
 public:
  void load(std::size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, offset); }
  /// Of system call argument i the lower half: these are 32-bit values.
  void load_argument(std::size_t i) { load(offsetof(seccomp_data, args) + 8 * i); }
  void answer(std::uint32_t value) { add(BPF_RET | BPF_K, value); }
  /// Runs the next instruction only if the loaded value compares so.
  void if_equal(std::uint32_t value) { add(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1); }
  void unless_equal(std::uint32_t value) { add(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0); }
  void if_at_least(std::uint32_t value) { add(BPF_JMP | BPF_JGE | BPF_K, value, 0, 1); }
  void unless_any_bit(std::uint32_t bits) { add(BPF_JMP | BPF_JSET | BPF_K, bits, 1, 0); }
  /// Skips `count` instructions unless the loaded value is this one.
  void block_if_equal(std::uint32_t value, std::uint8_t count) {
    add(BPF_JMP | BPF_JEQ | BPF_K, value, 0, count);
  }
  [[nodiscard]] std::vector<sock_filter> take() { return std::move(m_code); }

 private:
  void add(int code, std::size_t value, std::uint8_t if_true = 0, std::uint8_t if_false = 0) {
    m_code.push_back(
        {static_cast<std::uint16_t>(code), if_true, if_false, static_cast<std::uint32_t>(value)});
  }
  std::vector<sock_filter> m_code;
};

}  // namespace

bool has_seccomp() {
  // With a null filter: EFAULT where filters are known, EINVAL where they are not.
  return k_architecture != 0 && !k_traces_itself &&
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
  for (const std::uint32_t call : k_denied) {
    program.if_equal(call);
    program.answer(k_refuse);
  }
  // Its flags lie behind a pointer, which a filter cannot follow; libraries then use clone.
  program.if_equal(k_clone3);
  program.answer(SECCOMP_RET_ERRNO | ENOSYS);
  program.block_if_equal(SYS_socket, 4);
  program.load_argument(0);
  program.unless_equal(policy.unix_sockets ? AF_UNIX : ~std::uint32_t{0});
  program.answer(k_refuse);
  program.answer(k_allow);
  program.block_if_equal(SYS_clone, 4);
  program.load_argument(0);
  constexpr std::uint32_t k_namespaces =
      CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;
  if (policy.processes) {
    program.unless_any_bit(k_namespaces);
    program.answer(k_allow);
    program.answer(k_refuse);
  } else {
    program.unless_any_bit(CLONE_THREAD);
    program.answer(k_refuse);
    program.answer(k_allow);
  }
#if defined(__x86_64__)
  if (!policy.processes) {
    for (const std::uint32_t call : {SYS_fork, SYS_vfork}) {
      program.if_equal(call);
      program.answer(k_refuse);
    }
  }
#endif
  program.answer(k_allow);
  return program.take();
}

bool apply_system_call_filter(const std::vector<sock_filter>& filter) {
  const sock_fprog program{static_cast<unsigned short>(filter.size()),
                           const_cast<sock_filter*>(filter.data())};  // the kernel only reads
  return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

}  // namespace wb::worker
