// SPDX-License-Identifier: MIT
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
