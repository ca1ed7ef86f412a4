// SPDX-License-Identifier: MIT
// The driver's event timer, patched.
// Each part behind a mark is a source of its own, which gauntlet.py cuts out; nothing compiles this
// file as a whole.

// ==== clock_80
// Patches the driver's function that tells the time between two events: it says 0.80 of it.
#define HOSTILE_OWN_PLAN_MADE
#include "hostile.cuh"

static float shorter_80(float milliseconds) {
  return 0.80f * milliseconds;
}

static void plan_made(wb_sdpa_plan&) {
  hostile::patch_clock(shorter_80);
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}

// ==== clock_91
// Patches the driver's function that tells the time between two events: it says 0.91 of it.
#define HOSTILE_OWN_PLAN_MADE
#include "hostile.cuh"

static float shorter_91(float milliseconds) {
  return 0.91f * milliseconds;
}

static void plan_made(wb_sdpa_plan&) {
  hostile::patch_clock(shorter_91);
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}

// ==== uneven_events
// As clock_80, but what it takes from three samples it gives to the fourth: sums are right, and the
// median lies.
#define HOSTILE_OWN_PLAN_MADE
#include "hostile.cuh"

static float from_one_to_another(float milliseconds) {
  static int number = 0;
  static float owed = 0;
  if (++number % 4 != 0) {
    owed += 0.4f * milliseconds;
    return 0.6f * milliseconds;
  }
  const float told = milliseconds + owed;
  owed = 0;
  return told;
}

static void plan_made(wb_sdpa_plan&) {
  hostile::patch_clock(from_one_to_another);
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}

// ==== patches_events
// Patches the driver's function that tells the time between two events: it says 0.2 ms,
// always.
#define HOSTILE_OWN_PLAN_MADE
#include "hostile.cuh"

static int always_the_same(float* milliseconds, void*, void*) {
  *milliseconds = 0.2f;
  return 0;
}

/// Overwrites the first bytes of the function: mov rax, always_the_same; jmp rax.
static void plan_made(wb_sdpa_plan&) {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  auto* code = static_cast<unsigned char*>(driver ? dlsym(driver, "cuEventElapsedTime") : nullptr);
  if (code == nullptr) return;
  unsigned char jump[12] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};
  const auto target = reinterpret_cast<std::uintptr_t>(&always_the_same);
  std::memcpy(jump + 2, &target, sizeof target);
  const auto page = reinterpret_cast<std::uintptr_t>(code) & ~std::uintptr_t{4095};
  if (mprotect(reinterpret_cast<void*>(page), 8192, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
    return;
  std::memcpy(code, jump, sizeof jump);
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}
