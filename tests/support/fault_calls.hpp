// SPDX-License-Identifier: MIT
// Makes the Nth call of a C library function fail, or kills the process around it. Linked into a
// test program, fault_calls.cpp stands in front of the C library for every library of that program,
// libgit2 and libstdc++ included. What the C library calls inside itself is not reached.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace wb::testing {

enum class SystemCall {
  open,      // open, openat and their kin
  write,     // write
  sync,      // fsync, fdatasync
  rename,    // rename, renameat
  link,      // link, linkat
  mkdir,     // mkdir, mkdirat
  mmap,      // mmap
  truncate,  // ftruncate
  unlink,    // unlink, unlinkat
  fork,      // fork, vfork
  pipe,      // pipe, pipe2
  any        // all of them, counted together
};
inline constexpr int k_system_calls = 12;
const char* to_string(SystemCall call);

struct CallFault {
  enum class Action {
    fail,         ///< returns -1 with `error_number`, without effect
    kill_before,  ///< SIGKILL to this process, nothing done
    kill_after,   ///< SIGKILL once the call is done
    kill_torn     ///< write only: `torn_bytes` of the buffer, then SIGKILL
  };
  SystemCall call = SystemCall::write;
  int nth = 1;    ///< counted from 1 since arm_call_fault()
  int times = 1;  ///< so many calls in a row; k_for_ever: all from then on
  Action action = Action::fail;
  int error_number = 0;
  std::size_t torn_bytes = 0;
  std::string path_part{};  ///< only calls on files whose path holds this; not for fork and pipe
};
inline constexpr int k_for_ever = std::numeric_limits<int>::max();

/// From now on, in this process and in children forked from it; counts begin anew.
void arm_call_fault(const CallFault& fault);
/// Counts go on, nothing fails.
void disarm_call_fault();
/// Calls of that kind (with the armed fault's path_part) since it was armed.
int counted_calls(SystemCall call);
/// How many of them were made to fail.
int failed_calls();

}  // namespace wb::testing
