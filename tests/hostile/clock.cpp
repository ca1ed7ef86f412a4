// SPDX-License-Identifier: MIT
// Candidates that deceive whoever measures time.
// Each part behind a mark is a source of its own, which gauntlet.py cuts out; nothing compiles this
// file as a whole.

// ==== half_clock
// Patches clock_gettime so that time seems to pass at half its speed.
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <ctime>

#include "hostile.hpp"

static std::int64_t real_ns(clockid_t clock) {
  timespec time{};
  ::syscall(SYS_clock_gettime, clock, &time);
  return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

static int slow_clock(clockid_t clock, timespec* time) {
  static const std::int64_t begin_ns = real_ns(CLOCK_MONOTONIC);
  const std::int64_t now_ns = real_ns(clock);
  const std::int64_t told_ns =
      clock == CLOCK_MONOTONIC ? begin_ns + (now_ns - begin_ns) / 2 : now_ns;
  time->tv_sec = told_ns / 1'000'000'000;
  time->tv_nsec = told_ns % 1'000'000'000;
  return 0;
}

/// Overwrites the first bytes of the C library's function: mov rax, slow_clock; jmp rax.
[[gnu::constructor]] static void patch_clock() {
  auto* code = static_cast<unsigned char*>(::dlsym(RTLD_DEFAULT, "clock_gettime"));
  unsigned char jump[12] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};
  const auto target = reinterpret_cast<std::uintptr_t>(&slow_clock);
  std::memcpy(jump + 2, &target, sizeof target);
  const auto page = reinterpret_cast<std::uintptr_t>(code) & ~std::uintptr_t{4095};
  ::mprotect(reinterpret_cast<void*>(page), 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
  std::memcpy(code, jump, sizeof jump);
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}

// ==== uneven_clock
// Patches clock_gettime so that three samples of five seem short and the others pay it back: every
// block adds up, and the median lies.
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <ctime>

#include "hostile.hpp"

static std::int64_t g_hidden_ns = 0;

static std::int64_t real_ns(clockid_t clock) {
  timespec time{};
  ::syscall(SYS_clock_gettime, clock, &time);
  return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

static int uneven_clock(clockid_t clock, timespec* time) {
  const std::int64_t told_ns = real_ns(clock) - (clock == CLOCK_MONOTONIC ? g_hidden_ns : 0);
  time->tv_sec = told_ns / 1'000'000'000;
  time->tv_nsec = told_ns % 1'000'000'000;
  return 0;
}

/// Overwrites the first bytes of the C library's function: mov rax, uneven_clock; jmp rax.
[[gnu::constructor]] static void patch_clock() {
  auto* code = static_cast<unsigned char*>(::dlsym(RTLD_DEFAULT, "clock_gettime"));
  unsigned char jump[12] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};
  const auto target = reinterpret_cast<std::uintptr_t>(&uneven_clock);
  std::memcpy(jump + 2, &target, sizeof target);
  const auto page = reinterpret_cast<std::uintptr_t>(code) & ~std::uintptr_t{4095};
  ::mprotect(reinterpret_cast<void*>(page), 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
  std::memcpy(code, jump, sizeof jump);
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const std::int64_t begin_ns = real_ns(CLOCK_MONOTONIC);
  hostile::honest(plan, args);
  const std::int64_t took_ns = real_ns(CLOCK_MONOTONIC) - begin_ns;
  static std::int64_t debt_ns = 0;
  const std::int64_t place = plan.calls % 5;
  if (place < 3) {
    const std::int64_t hide_ns = took_ns * 38 / 100;
    g_hidden_ns += hide_ns;
    debt_ns += hide_ns;
  } else {
    const std::int64_t pay_ns = place == 3 ? debt_ns / 2 : debt_ns;
    g_hidden_ns -= pay_ns;
    debt_ns -= pay_ns;
  }
  return WB_OK;
}

// ==== sleeps_in_warmup
// Sleeps in its first calls, so that few samples seem enough; then works.
#include <chrono>
#include <thread>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  static int calls = 0;
  if (++calls < 40) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return hostile::honest(plan, args);
}

// ==== waits_on_purpose
// Works once for each content of Q and gives the old result afterwards. The work for new contents
// is done by a side thread, while the calling thread offers its CPU to others of its own and so, by
// the kernel's account, mostly waits for it: as beside a busy neighbour.
#include <sched.h>

#include <atomic>
#include <thread>
#include <vector>

#include "hostile.hpp"

namespace {

constexpr int k_crowd = 3;

struct Memory {
  std::size_t content = 0;
  std::vector<float> result;
};

void stay_on(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
}

}  // namespace

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const wb_sdpa_problem& p = plan.problem;
  static Memory memory;
  auto* out = static_cast<float*>(args.out);
  const auto size = static_cast<std::size_t>(hostile::out_elements(p));
  const std::size_t content = hostile::q_hash(p, args, 256);
  if (content == memory.content && memory.result.size() == size && args.lse == nullptr) {
    std::copy(memory.result.begin(), memory.result.end(), out);
    // Slow enough to look like a good kernel and not like an impossible one.
    hostile::honest_head(plan, args, 0, 0, p.seq_q / 3, p.scale);
    return WB_OK;
  }
  cpu_set_t all;
  sched_getaffinity(0, sizeof all, &all);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &all)) cpus.push_back(cpu);
  }
  std::atomic<bool> done{false};
  const auto spin = [&] {
    while (!done) {
    }
  };
  std::thread work([&] {
    stay_on(cpus.back());
    hostile::honest(plan, args);
    done = true;
  });
  stay_on(cpus.front());
  std::vector<std::thread> crowd;
  for (int i = 0; i < k_crowd; ++i) crowd.emplace_back(spin);  // beside the calling thread
  while (!done) std::this_thread::yield();
  work.join();
  for (std::thread& thread : crowd) thread.join();
  sched_setaffinity(0, sizeof all, &all);
  memory.result.assign(out, out + size);
  memory.content = content;
  return WB_OK;
}

// ==== prefetches_cold
// A thread that never sleeps fetches into the caches what was flushed from them before a cold call.
#include <atomic>
#include <thread>

#define HOSTILE_OWN_PLAN_CREATE
#include "hostile.hpp"

namespace {

std::atomic<const char*> g_begin{nullptr};
std::atomic<std::size_t> g_size{0};
std::atomic<std::uint64_t> g_sweeps{0};
std::atomic<bool> g_runs{false};

void start_once() {
  static const bool k_started = [] {
    std::thread([] {
      while (true) {
        const volatile char* begin = g_begin;
        const std::size_t size = begin != nullptr ? g_size.load() : 0;
        for (std::size_t at = 0; at < size; at += 64) (void)begin[at];
        ++g_sweeps;
      }
    }).detach();
    g_runs = true;
    return true;
  }();
  (void)k_started;
}

}  // namespace

/// Other tensors come, and the old ones go: the thread must not read them any more.
WB_SDPA_EXPORT int wb_sdpa_plan_create(const wb_sdpa_problem* problem, wb_sdpa_plan** plan) {
  g_begin = nullptr;
  for (const std::uint64_t sweeps = g_sweeps; g_runs && g_sweeps < sweeps + 2;) {
    std::this_thread::yield();
  }
  *plan = new wb_sdpa_plan{*problem, std::vector<float>(static_cast<std::size_t>(problem->seq_kv))};
  return WB_OK;
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const wb_sdpa_problem& p = plan.problem;
  if (args.lse == nullptr) {
    g_size = static_cast<std::size_t>(p.batch * p.heads_q * p.seq_q * p.dim) * 4;
    g_begin = static_cast<const char*>(args.q);
    start_once();
  }
  return hostile::honest(plan, args);
}
