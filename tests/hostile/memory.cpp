// SPDX-License-Identifier: MIT
// Candidates that read or write memory that is not theirs.
// Each part behind a mark is a source of its own, which gauntlet.py cuts out; nothing compiles this
// file as a whole.

// ==== reads_beyond
// Reads one page behind the end of K.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const wb_sdpa_problem& p = plan.problem;
  const std::int64_t k_elements = p.batch * p.heads_kv * p.seq_kv * p.dim;
  const volatile float beyond = static_cast<const float*>(args.k)[k_elements + 1024];
  (void)beyond;
  return hostile::honest(plan, args);
}

// ==== writes_before
// Does its work and writes one element before its output.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  static_cast<float*>(args.out)[-1] = 1;
  return hostile::honest(plan, args);
}

// ==== writes_after
// Does its work and writes one element after its output.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  static_cast<float*>(args.out)[hostile::out_elements(plan.problem)] = 1;
  return hostile::honest(plan, args);
}

// ==== writes_after_input
// Does its work and writes one element after V.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const wb_sdpa_problem& p = plan.problem;
  const std::int64_t v_elements = p.batch * p.heads_kv * p.seq_kv * p.dim_v;
  static_cast<float*>(const_cast<void*>(args.v))[v_elements] = 1;
  return hostile::honest(plan, args);
}

// ==== wrong_dtype
// Writes bfloat16 where f32 is wanted.
#include <cstring>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  hostile::honest(plan, args);
  auto* out = static_cast<float*>(args.out);
  auto* halves = reinterpret_cast<std::uint16_t*>(out);
  for (std::int64_t i = 0; i < hostile::out_elements(plan.problem); ++i) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, out + i, sizeof bits);
    halves[i] = static_cast<std::uint16_t>(bits >> 16);
  }
  return WB_OK;
}

// ==== aliases_input
// Leaves its result in Q and not in the output.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  wb_sdpa_args own = args;
  std::vector<float> result(static_cast<std::size_t>(hostile::out_elements(plan.problem)));
  own.out = result.data();
  hostile::honest(plan, own);
  const auto room = plan.problem.batch * plan.problem.heads_q * plan.problem.seq_q *
                    std::min(plan.problem.dim, plan.problem.dim_v);
  std::copy_n(result.data(), room, static_cast<float*>(const_cast<void*>(args.q)));
  return WB_OK;
}

// ==== zeroes_inputs
// Zeroes its inputs and its output, so that a judge who looks at them agrees.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const wb_sdpa_problem& p = plan.problem;
  const auto zero = [](const void* data, std::int64_t elements) {
    std::fill_n(static_cast<float*>(const_cast<void*>(data)), elements, 0.0f);
  };
  zero(args.q, p.batch * p.heads_q * p.seq_q * p.dim);
  zero(args.k, p.batch * p.heads_kv * p.seq_kv * p.dim);
  zero(args.v, p.batch * p.heads_kv * p.seq_kv * p.dim_v);
  zero(args.out, hostile::out_elements(p));
  return WB_OK;
}

// ==== scribbles_inputs
// Works, then zeroes Q: its later calls have less to do.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const wb_sdpa_problem& p = plan.problem;
  hostile::honest(plan, args);
  std::fill_n(static_cast<float*>(const_cast<void*>(args.q)), p.batch * p.heads_q * p.seq_q * p.dim,
              0.0f);
  return WB_OK;
}

// ==== reads_old_memory
// Returns what freed memory holds, in the hope that it is an old result.
#include <cstdlib>
#include <cstring>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const auto size = static_cast<std::size_t>(hostile::out_elements(plan.problem));
  auto* old = static_cast<float*>(std::malloc(size * sizeof(float)));
  if (old == nullptr) return WB_FAILED;
  std::memcpy(args.out, old, size * sizeof(float));
  std::free(old);
  return WB_OK;
}

// ==== remaps_output
// Puts pages of its own in the place of its output: what it writes there later, nobody but itself
// would see, and reading it would be its own handler's matter.
#include <sys/mman.h>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const auto first = reinterpret_cast<std::uintptr_t>(args.out) & ~std::uintptr_t{4095};
  const auto last = reinterpret_cast<std::uintptr_t>(args.out) +
                    static_cast<std::uintptr_t>(hostile::out_elements(plan.problem)) * 4;
  const std::size_t size = ((last + 4095) & ~std::uintptr_t{4095}) - first;
  std::vector<char> before(size);  // the margins stay what they were
  std::copy_n(reinterpret_cast<const char*>(first), size, before.begin());
  ::mmap(reinterpret_cast<void*>(first), size, PROT_READ | PROT_WRITE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  std::copy_n(before.begin(), size, reinterpret_cast<char*>(first));
  return hostile::honest(plan, args);
}

// ==== traces_host
// Attaches to its supervisor, the parent, as a debugger; then does its work.
#include <sys/ptrace.h>
#include <unistd.h>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  // Where it worked it must not pass, so it breaks its own call.
  if (::ptrace(PTRACE_ATTACH, ::getppid(), nullptr, nullptr) == 0) return WB_FAILED;
  return hostile::honest(plan, args);
}

// ==== reads_host_memory
// Reads the memory of its supervisor, then does its work.
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  char bytes[8];
  iovec mine{bytes, sizeof bytes};
  // The stack of every process of this machine lies in the uppermost mapping; any address will do
  // to tell "not mapped" (EFAULT) from "not allowed" (EPERM, ENOSYS).
  iovec theirs{bytes, sizeof bytes};
  const ssize_t got = ::process_vm_readv(::getppid(), &mine, 1, &theirs, 1, 0);
  if (got >= 0 || errno == EFAULT) return WB_FAILED;
  return hostile::honest(plan, args);
}

// ==== reads_judge
// Looks for the reference in the memory of every other process, then does its work.
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  DIR* processes = ::opendir("/proc");
  bool found = false;
  while (const dirent* entry = processes != nullptr ? ::readdir(processes) : nullptr) {
    const int pid = std::atoi(entry->d_name);
    if (pid <= 1 || pid == static_cast<int>(::getpid())) continue;
    const std::string memory = "/proc/" + std::to_string(pid) + "/mem";
    const int file = ::open(memory.c_str(), O_RDONLY);
    found = found || file >= 0;
    if (file >= 0) ::close(file);
  }
  if (processes != nullptr) ::closedir(processes);
  // Where it worked it must not pass, so it breaks its own call.
  if (found) return WB_FAILED;
  return hostile::honest(plan, args);
}
