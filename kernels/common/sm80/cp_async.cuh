// SPDX-License-Identifier: MIT
// cp.async: 16-byte copies from global to shared memory that do not pass through registers, and
// the groups in which they are waited for.
#pragma once

#include <cstdint>

namespace wb::gpu {

// Copies 16 bytes when `valid`, else writes 16 zero bytes (the source is then not read).
__device__ __forceinline__ void cp_async_cg_zfill(uint32_t smem, const void* global, bool valid) {
  const int bytes = valid ? 16 : 0;
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(smem), "l"(global),
               "r"(bytes)
               : "memory");
}

// Copies 16 bytes that are all there; with `policy`, as the L2 is to keep their lines.
__device__ __forceinline__ void cp_async_cg(uint32_t smem, const void* global) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(smem), "l"(global)
               : "memory");
}

__device__ __forceinline__ void cp_async_cg_hint(uint32_t smem, const void* global,
                                                 uint64_t policy) {
  asm volatile("cp.async.cg.shared.global.L2::cache_hint.L2::128B [%0], [%1], 16, %2;" ::"r"(smem),
               "l"(global), "l"(policy)
               : "memory");
}

// The same where `wanted`, else nothing: without a branch, so that a warp stays together.
__device__ __forceinline__ void cp_async_cg_if(uint32_t smem, const void* global, bool wanted) {
  asm volatile(
      "{.reg .pred p; setp.ne.u32 p, %2, 0;"
      "@p cp.async.cg.shared.global.L2::128B [%0], [%1], 16;}" ::"r"(smem),
      "l"(global), "r"(int(wanted))
      : "memory");
}

__device__ __forceinline__ void cp_async_cg_hint_if(uint32_t smem, const void* global,
                                                    uint64_t policy, bool wanted) {
  asm volatile(
      "{.reg .pred p; setp.ne.u32 p, %3, 0;"
      "@p cp.async.cg.shared.global.L2::cache_hint.L2::128B [%0], [%1], 16, %2;}" ::"r"(smem),
      "l"(global), "l"(policy), "r"(int(wanted))
      : "memory");
}

// Copies 4 bytes when `valid`, else writes zeros: rows that are not 16-byte aligned.
__device__ __forceinline__ void cp_async_ca4_zfill(uint32_t smem, const void* global, bool valid) {
  const int bytes = valid ? 4 : 0;
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(smem), "l"(global), "r"(bytes)
               : "memory");
}

// Whether the step-th piece of a cache larger than the L2 is among the 256ths that stay there. They
// lie evenly among the others, so that the memory is never idle while the L2 answers.
__device__ __forceinline__ bool stays_in_l2(int step, int kept_256) {
  return int(unsigned(step) * unsigned(kept_256) & 255u) < kept_256;
}

// The same for data read once: its lines are the first to leave the L2.
__device__ __forceinline__ uint64_t createpolicy_evict_first() {
  uint64_t policy;
  asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

__device__ __forceinline__ void cp_async_cg_zfill_hint(uint32_t smem, const void* global,
                                                       bool valid, uint64_t policy) {
  const int bytes = valid ? 16 : 0;
  asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2, %3;" ::"r"(smem),
               "l"(global), "r"(bytes), "l"(policy)
               : "memory");
}

__device__ __forceinline__ void cp_async_commit_group() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits until at most `Pending` of this thread's newest groups are still under way.
template <int Pending>
__device__ __forceinline__ void cp_async_wait_group() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

}  // namespace wb::gpu
