// SPDX-License-Identifier: MIT
// One turn and one judged run of a subject on the CPU, as the supervisor conducts them: it draws
// the seeds, keeps the wall clock, and has outputs judged by the judge alone.
#pragma once

#include <set>
#include <string>

#include "protocol/protocol.hpp"
#include "worker/judge_process.hpp"
#include "worker/subject_process.hpp"

namespace wb::worker {

/// What a turn needs to know of the machine, and of the code beyond this process.
struct TurnContext {
  JudgeProcess& judge;
  int threads = 1;
  double empty_call_us = 0;  ///< native, for resolution_limited
  double empty_python_call_us = 0;
  /// Which code has passed calls on fresh inputs, and on what: outlives its processes.
  std::set<std::string>* shown = nullptr;
  std::string subject = {};  ///< label of the loaded code
};

/// flags beside those of measure/plan.hpp
inline constexpr const char* k_flag_not_witnessed = "not_witnessed";
inline constexpr const char* k_flag_swept_cache = "swept_cache";

Outcome<protocol::TurnResult> conduct_turn(SubjectProcess& subject, const protocol::TurnArgs& args,
                                           const TurnContext& context, const Wait& wait);

Outcome<protocol::RunResult> conduct_run(SubjectProcess& subject, const protocol::RunArgs& args,
                                         const TurnContext& context, const Wait& wait);

}  // namespace wb::worker
