// SPDX-License-Identifier: MIT
// griddepcontrol: a kernel launched with programmatic stream serialization may start while the one
// before it drains; it must wait before it touches memory that the other reads or writes.
#pragma once

namespace wb::gpu {

__device__ __forceinline__ void griddepcontrol_wait() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

__device__ __forceinline__ void griddepcontrol_launch_dependents() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

// Keeps an address that was worked out before the wait from being worked out behind it.
template <typename P>
__device__ __forceinline__ void compute_before_wait(P*& pointer) {
  asm volatile("" : "+l"(pointer));
}

// Makes the page of an address known to the SM. Nothing is read, so this may come before the wait.
__device__ __forceinline__ void prefetch_page(const void* global) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(global));
}

}  // namespace wb::gpu
