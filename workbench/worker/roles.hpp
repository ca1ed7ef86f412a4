// SPDX-License-Identifier: MIT
// The roles of the executable sdpa-wb-worker. The supervisor is what the host starts; it starts the
// same program again as judge and as subject, with a hidden first argument.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "worker/channel.hpp"

namespace wb::worker {

inline constexpr const char* k_judge_role = "--role=judge";
inline constexpr const char* k_subject_role = "--role=subject";

/// Between the supervisor and its children, who are one program: the bound of a seed or an address.
inline constexpr std::int64_t k_max_number = std::numeric_limits<std::int64_t>::max();

/// Serves until the socket closes. Returns the exit code.
int run_judge(const Channel& channel);
int run_subject(const Channel& channel);

/// Serves the wire (JSON lines) until its end. `own_program`: the absolute path of this program.
int run_supervisor(int in_fd, int out_fd, const std::string& own_program);

}  // namespace wb::worker
