// SPDX-License-Identifier: MIT
// How a candidate may end: it crashes, hangs, leaves early or never begins.
// Each part behind a mark is a source of its own, which gauntlet.py cuts out; nothing compiles this
// file as a whole.

// ==== honest
// No fault: what must pass after each of the others.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}

// ==== crash
// Writes through a null pointer.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  volatile int* nowhere = nullptr;
  *nowhere = static_cast<int>(plan.calls);
  return hostile::honest(plan, args);
}

// ==== aborts
// Aborts itself, as a failed assert does.
#include <cstdlib>

#include "hostile.hpp"

static int forward(wb_sdpa_plan&, const wb_sdpa_args&) {
  std::abort();
}

// ==== stack_overflow
// Recurses until the stack is used up.
#include "hostile.hpp"

static std::int64_t deeper(volatile char* above, std::int64_t levels) {
  volatile char frame[4096];
  frame[0] = above[0];
  const std::int64_t below = levels > 0 ? deeper(frame, levels - 1) : 0;
  return below + frame[0];
}

static int forward(wb_sdpa_plan&, const wb_sdpa_args&) {
  volatile char first = 0;
  return static_cast<int>(deeper(&first, 1'000'000));
}

// ==== lazy_fault
// Protects the pages of its output and returns; whoever touches them later, behind the clock,
// faults, and the handler does the work then.
#include <sys/mman.h>
#include <ucontext.h>

#include <csignal>

#include "hostile.hpp"

namespace {

struct Pending {
  wb_sdpa_plan* plan = nullptr;
  wb_sdpa_args args{};
  char *begin = nullptr, *end = nullptr;
  bool is_protected = false, is_due = false;
} g_pending;

void open_pages() {
  if (!g_pending.is_protected) return;
  ::mprotect(g_pending.begin, static_cast<std::size_t>(g_pending.end - g_pending.begin),
             PROT_READ | PROT_WRITE);
  g_pending.is_protected = false;
}

void on_fault(int number, siginfo_t* info, void*) {
  const auto* at = static_cast<char*>(info->si_addr);
  if (!g_pending.is_protected || at < g_pending.begin || at >= g_pending.end) {
    std::signal(number, SIG_DFL);
    return;
  }
  open_pages();
  if (g_pending.is_due) hostile::honest(*g_pending.plan, g_pending.args);
  g_pending.is_due = false;
}

}  // namespace

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  ::sigaction(SIGSEGV, &action, nullptr);
  open_pages();
  const auto page = ~std::uintptr_t{4095};
  const auto first = reinterpret_cast<std::uintptr_t>(args.out);
  const auto last = first + static_cast<std::uintptr_t>(hostile::out_elements(plan.problem)) * 4;
  g_pending = {&plan,
               args,
               reinterpret_cast<char*>(first & page),
               reinterpret_cast<char*>((last + 4095) & page),
               true,
               true};
  ::mprotect(g_pending.begin, static_cast<std::size_t>(g_pending.end - g_pending.begin), PROT_NONE);
  return WB_OK;
}

// ==== throws
// Throws a C++ exception across the C interface.
#include <stdexcept>

#include "hostile.hpp"

static int forward(wb_sdpa_plan&, const wb_sdpa_args&) {
  throw std::runtime_error("thrown by a hostile variant");
}

// ==== exits
// Ends the process with success in the middle of a call.
#include <cstdlib>

#include "hostile.hpp"

static int forward(wb_sdpa_plan&, const wb_sdpa_args&) {
  std::exit(0);
}

// ==== exits_at_load
// A constructor that ends the process before anything was asked.
#include <unistd.h>

#include "hostile.hpp"

[[gnu::constructor]] static void leave() {
  ::_exit(0);
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}

// ==== a_ends_at_load
// Ends itself while it is loaded, as if somebody else had; then does its work.
#include <sys/syscall.h>
#include <unistd.h>
#include <csignal>

#include "hostile.hpp"

[[gnu::constructor]] static void at_load() {
  for (const int number : {SIGKILL, SIGTERM, SIGHUP, SIGINT}) {
    ::kill(::getpid(), number);
    ::syscall(SYS_tgkill, ::getpid(), ::getpid(), number);
    ::syscall(SYS_tkill, ::getpid(), number);
  }
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}

// ==== hang
// Never returns.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args&) {
  volatile std::int64_t& calls = plan.calls;
  while (calls != 0) calls = calls + 1;
  return WB_OK;
}

// ==== stops_itself
// Stops its own process, so that it neither runs nor ends.
#include <csignal>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  std::raise(SIGSTOP);
  return hostile::honest(plan, args);
}

// ==== hangs_at_load
// A library constructor that never returns.
#include <unistd.h>

#include "hostile.hpp"

[[gnu::constructor]] static void wait_for_ever() {
  while (true) ::pause();
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}

// ==== ignores_sigterm
// Ignores every signal it can, leaves a stray in a session of its own, and hangs.
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>

#include "hostile.hpp"

static void leave_stray() {
  if (::fork() != 0) return;
  ::setsid();
  if (::fork() != 0) ::_exit(0);  // the grandchild has no parent here any more
  ::prctl(PR_SET_NAME, "wb-stray");
  while (true) ::pause();
}

static int forward(wb_sdpa_plan&, const wb_sdpa_args&) {
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_IGN);
  leave_stray();
  while (true) ::pause();
}

// ==== sleeps
// Sleeps for longer than any deadline.
#include <chrono>
#include <thread>

#include "hostile.hpp"

static int forward(wb_sdpa_plan&, const wb_sdpa_args&) {
  while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

// ==== a_dtor_hang
// Does its work and hangs when its plan is destroyed.
#include <unistd.h>

#define HOSTILE_OWN_PLAN_DESTROY
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}

WB_SDPA_EXPORT void wb_sdpa_plan_destroy(wb_sdpa_plan*) {
  while (true) ::pause();
}

// ==== out_of_memory
// Allocates until there is no more.
#include <cstring>
#include <new>

#include "hostile.hpp"

static int forward(wb_sdpa_plan&, const wb_sdpa_args&) {
  constexpr std::size_t k_step = std::size_t{1} << 33;  // never touched: only promised
  std::vector<char*> blocks;
  while (true) blocks.push_back(new char[k_step]);
}

// ==== leaks
// Leaks four gigabytes of address space a call; none of it is touched.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  static std::vector<char*> blocks;
  blocks.push_back(new char[std::size_t{1} << 32]);
  return hostile::honest(plan, args);
}

// ==== unsupported
// Refuses the problem, as it may: not a fault of the variant.
#define HOSTILE_OWN_PLAN_CREATE
#include "hostile.hpp"

WB_SDPA_EXPORT int wb_sdpa_plan_create(const wb_sdpa_problem*, wb_sdpa_plan** plan) {
  *plan = nullptr;
  return WB_UNSUPPORTED;
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}

// ==== missing_symbol
// Does not export one of the functions.
#define HOSTILE_NO_BUILD_ID
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}

// ==== wrong_build_id
// Says that it is another artifact.
#define HOSTILE_BUILD_ID "somebody else"
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}
