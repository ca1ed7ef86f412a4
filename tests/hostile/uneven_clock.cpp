// SPDX-License-Identifier: MIT
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
