// SPDX-License-Identifier: MIT
// The roles of the executable sdpa-wb-worker. The supervisor is what the host starts; it starts the
// same program again as judge and as subject, with a hidden first argument.
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

/// Between the supervisor and its children, who are one program: the bound of a seed or an address.
inline constexpr std::int64_t k_max_number = std::numeric_limits<std::int64_t>::max();

/// Second argument of a role that computes on a GPU: "--gpu=0", the CUDA ordinal.
std::string gpu_argument(int ordinal);
/// Nothing for other arguments.
std::optional<int> parse_gpu_argument(std::string_view argument);
/// What a role on a GPU keeps of this process's environment: which devices the driver may show, and
/// where its library lies.
std::map<std::string, std::string> gpu_environment();

/// In what a compiled subject says before and after wb_sdpa_plan_destroy: true, then false.
inline constexpr const char* k_leaving = "leaving";

/// Questions to the judge that are no task: {"ask": …}.
inline constexpr const char* k_ask_gpu = "gpu";
inline constexpr const char* k_ask_memory = "memory";
inline constexpr const char* k_ask_lend = "lend";  ///< memory for a subject's outputs
inline constexpr const char* k_ask_take = "take";  ///< a copy of what stands in it

/// Serves until the socket closes. Returns the exit code. `gpu`: the CUDA ordinal; none: the CPU.
int run_judge(const Channel& channel, std::optional<int> gpu);
int run_subject(const Channel& channel, std::optional<int> gpu);

/// Serves the wire (JSON lines) until its end. `own_program`: the absolute path of this program.
int run_supervisor(int in_fd, int out_fd, const std::string& own_program);

}  // namespace wb::worker
