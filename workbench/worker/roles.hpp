// SPDX-License-Identifier: MIT
// The roles of the executable sdpa-wb-worker. The host starts the supervisor, which starts the same
// program as judge and as subject with a hidden first argument.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "worker/channel.hpp"

namespace wb::worker {

inline constexpr const char* k_judge_role = "--role=judge";
inline constexpr const char* k_subject_role = "--role=subject";
inline constexpr const char* k_exercise_role = "--role=exercise";  ///< exercise.hpp

/// The largest number, such as a seed or an address, in messages between the supervisor and its
/// children.
inline constexpr std::int64_t k_max_number = std::numeric_limits<std::int64_t>::max();

/// Second argument of a role that computes on a GPU: "--gpu=0", the CUDA ordinal.
std::string gpu_argument(int ordinal);
/// Nothing for other arguments.
std::optional<int> parse_gpu_argument(std::string_view argument);
/// The environment variables that a role on a GPU keeps: which devices the driver may show, and
/// where its library is.
std::map<std::string, std::string> gpu_environment();

/// Key of the messages that a compiled subject sends before (true) and after (false)
/// wb_sdpa_plan_destroy.
inline constexpr const char* k_leaving = "leaving";

/// Requests to the judge other than tasks: {"ask": …}.
inline constexpr const char* k_ask_gpu = "gpu";
inline constexpr const char* k_ask_memory = "memory";
inline constexpr const char* k_ask_lend = "lend";  ///< memory for a subject's outputs
inline constexpr const char* k_ask_take = "take";  ///< a copy of that memory's content

/// Serves until the socket closes. Returns the exit code. `gpu`: the CUDA ordinal; none: the CPU.
int run_judge(const Channel& channel, std::optional<int> gpu);
int run_subject(const Channel& channel, std::optional<int> gpu);

/// Serves the wire (JSON lines) until its end. `own_program`: the absolute path of this program.
int run_supervisor(int in_fd, int out_fd, const std::string& own_program);

}  // namespace wb::worker
