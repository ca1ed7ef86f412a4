// SPDX-License-Identifier: MIT
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
