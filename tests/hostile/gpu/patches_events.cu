// SPDX-License-Identifier: MIT
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
