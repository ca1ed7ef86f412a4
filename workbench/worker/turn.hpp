// SPDX-License-Identifier: MIT
// One turn of a subject, as the supervisor conducts it: it draws the seeds, keeps the wall clock,
// and has outputs judged by the judge alone. What a judged run (run.hpp) and first calls
// (first_calls.hpp) need to know, too.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "protocol/protocol.hpp"
#include "worker/block_figure.hpp"
#include "worker/cpu_time.hpp"
#include "worker/cuda/gpu_monitor.hpp"
#include "worker/fresh_check.hpp"
#include "worker/judge_process.hpp"
#include "worker/subject_process.hpp"

namespace wb::worker {

/// The cost of an empty call: machine and messages, independent of any candidate.
struct EmptyCall {
  /// By the timing loop, for resolution_limited; on a GPU two events with nothing between them.
  double timed_us = 0;
  /// The least that a call costs: as timed_us, on a GPU an empty kernel in a graph.
  double call_us = 0;
  double lone_us = 0;  ///< see time_lone_call_us
  double ping_us = 0;  ///< the slowest of a row of pings
};

/// What a turn needs to know of the machine, and of the code beyond this process.
struct TurnContext {
  JudgeProcess& judge;
  Clock clock = Clock::host;
  int threads = 1;
  EmptyCall empty_native = {}, empty_python = {};
  /// By code, problem and plan; it outlives the code's processes.
  std::map<std::string, FreshRecord>& fresh;
  std::string subject = {};               ///< label of the loaded code
  const cuda::GpuMonitor* gpu = nullptr;  ///< the measured GPU
  /// The least hot figure by code and problem, microseconds; may be null.
  std::map<std::string, double>* hot_us = nullptr;
  /// What a judged call took at most, likewise.
  std::map<std::string, double>* run_us = nullptr;
  WorkerCpus place = {};
};

/// flags beside those of measure/plan.hpp
inline constexpr const char* k_flag_not_witnessed = "not_witnessed";
inline constexpr const char* k_flag_swept_cache = "swept_cache";

/// Failures: environment, when the tensors of subject, judge and hand-over, all at one time, take
/// more than half of the free memory, or on a GPU more than its free memory.
Outcome<void> check_fits(const problem::Problem& problem, const TurnContext& context,
                         const Wait& wait);

/// Whether a problem's judgement and tensors fit into the free memory of a GPU, in bytes.
bool fits_on_gpu(const problem::Problem& problem, std::uint64_t free_bytes);
/// The same with room for the contexts of a judge and a subject: one that ran out of memory and was
/// killed has left free what it held.
bool has_room_on_gpu(const problem::Problem& problem, std::uint64_t free_bytes);
/// Whose fault a GPU's short memory is, by what was free with a subject's process and is without
/// it, bytes: `runtime` where that is far more than the problem's tensors and a context; nothing
/// where it is not, or where memory was not short.
std::optional<Failure> memory_hog_failure(const problem::Problem& problem, std::uint64_t free_with,
                                          std::uint64_t free_without);

Outcome<protocol::TurnResult> conduct_turn(SubjectProcess& subject, const protocol::TurnArgs& args,
                                           const TurnContext& context, const Wait& wait);

/// Times empty messages, ended as a block is.
Outcome<Pings> time_pings(SubjectProcess& subject, double most_us, Clock clock, const Wait& wait);

/// The median single call on inputs never seen, by the supervisor's clock, messages and all.
Outcome<double> time_lone_call_us(SubjectProcess& subject, const protocol::TurnArgs& args,
                                  const TurnContext& context, const Wait& wait);

}  // namespace wb::worker
