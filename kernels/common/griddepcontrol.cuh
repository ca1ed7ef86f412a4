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

}  // namespace wb::gpu
