// SPDX-License-Identifier: MIT
// The played cp.async, in the place of kernels/common/sm80/cp_async.cuh: a copy lands when its
// thread waits for its group, as late as a GPU may let it; see cuda_runtime.h.
#pragma once

#include "cuda_runtime.h"

namespace played {

struct Copy {
  std::size_t at;  // bytes into shared memory
  char bytes[16];
};
/// By thread: the groups not waited for, the last of them not committed yet.
inline std::map<unsigned, std::vector<std::vector<Copy>>> under_way;

inline std::vector<std::vector<Copy>>& groups() {
  auto& of_thread = under_way[threadIdx.x];
  if (of_thread.empty()) of_thread.emplace_back();
  return of_thread;
}

}  // namespace played

namespace wb::gpu {

/// A GPU may read the source at any time until the wait; inputs do not change meanwhile.
inline void cp_async_cg_zfill(std::uint32_t smem, const void* global, bool valid) {
  played::Copy copy = {smem, {}};
  // Which of two copies of a group lands last is nobody's choice on a GPU.
  for (const played::Copy& other : played::groups().back()) {
    if (other.at == smem) played::fault = "two copies of one group have the same target";
  }
  if (valid) std::memcpy(copy.bytes, global, sizeof copy.bytes);
  played::groups().back().push_back(copy);
}

inline void cp_async_commit_group() {
  played::groups().emplace_back();
}

template <int Pending>
void cp_async_wait_group() {
  auto& groups = played::groups();
  while (groups.size() > Pending + 1) {
    for (const played::Copy& copy : groups.front()) {
      std::memcpy(reinterpret_cast<char*>(scalar_smem) + copy.at, copy.bytes, sizeof copy.bytes);
    }
    groups.erase(groups.begin());
  }
}

}  // namespace wb::gpu
