// SPDX-License-Identifier: MIT
// The supervisor's `profile`: a compiled variant is inspected from outside, in a process that a
// tool starts; a Python subject, whose libraries launch kernels, from inside.
#include <fmt/format.h>

#include "core/json.hpp"
#include "worker/failure.hpp"
#include "worker/inspection.hpp"
#include "worker/kernel_names.hpp"
#include "worker/supervisor.hpp"

namespace wb::worker {

Outcome<Json> Supervisor::profile(const protocol::ProfileArgs& args) {
  WB_TRY_ASSIGN(const auto subject, find_subject(args.handle));
  const bool is_python = subject->process.kind() == SubjectKind::python;
  const bool looks_inside = args.tool == protocol::k_kernel_names_tool;
  if (is_python && looks_inside) return profile_inside(*subject, args);
  protocol::ProfileResult result;
  if (looks_inside || is_python || !on_gpu()) {
    result.reason = fmt::format("{} looks at {}; this one is {}", args.tool,
                                looks_inside ? "Python subjects" : "compiled variants on a GPU",
                                looks_inside ? "compiled"
                                : !on_gpu()  ? "on the CPU"
                                             : "a Python subject");
    return to_json(result);
  }
  WB_TRY(ensure_healthy());
  WB_TRY_ASSIGN(const auto held, take_device());
  WB_TRY_ASSIGN(const auto scratch,
                as_outcome(ScratchFolder::create(m_store.folder(), "inspection")));
  InspectionTask task;
  task.tool = args.tool;
  task.own_program = m_own_program;
  task.folder = scratch.path();
  task.order = {subject->library, subject->build_id, args.problem,
                *m_greeted->factory.setting().gpu, scratch.path() / "variant"};
  // The loaded process is not touched: the tool starts its own.
  return as_json(inspect(*m_registry, task,
                         deadline_in(std::chrono::milliseconds(args.deadline_ms)), m_cancel));
}

Outcome<Json> Supervisor::profile_inside(LoadedSubject& subject,
                                         const protocol::ProfileArgs& args) {
  WB_TRY(ensure_healthy());
  WB_TRY_ASSIGN(const auto held, take_device());
  subject.profiled = true;  // set before the request: a failing profiler may stay attached too
  return as_json(noted(args.handle, name_kernels(subject.process, args.problem, context(),
                                                 wait_for(args.deadline_ms))));
}

}  // namespace wb::worker
