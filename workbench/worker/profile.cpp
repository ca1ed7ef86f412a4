// SPDX-License-Identifier: MIT
#include "worker/profile.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "core/json.hpp"
#include "core/json_fields.hpp"
#include "worker/failure.hpp"
#include "worker/hand_over.hpp"
#include "worker/inspection.hpp"
#include "worker/supervisor.hpp"

namespace wb::worker {
namespace {

constexpr std::uint32_t k_kernel_names_seed = 1;
constexpr std::size_t k_most_kernel_names = 32;  ///< the maximum of subject_kernels.py
constexpr std::size_t k_kernel_name_bytes = 300;
constexpr std::size_t k_launch_size_bytes = 40;
constexpr std::size_t k_kernel_reason_bytes = 400;

std::string word_of(const Json& launch, const char* key, std::size_t max_bytes) {
  return printable(text_of(launch, key), max_bytes);
}

/// The launch in the form of ncu's records, without metrics; null when malformed.
Json read_launch(const Json& launch) {
  if (!launch.is_object()) return nullptr;
  const std::string kernel = word_of(launch, "kernel", k_kernel_name_bytes);
  if (kernel.empty()) return nullptr;
  Json read{{"kernel", kernel},
            {"grid", word_of(launch, "grid", k_launch_size_bytes)},
            {"block", word_of(launch, "block", k_launch_size_bytes)},
            {"metrics", Json::object()}};
  const auto share = launch.find("share_frac");
  if (share == launch.end() || !share->is_number()) return read;
  const auto share_frac = share->get<double>();
  if (share_frac >= 0 && share_frac <= 1) read["share_frac"] = share_frac;
  return read;
}

}  // namespace

protocol::ProfileResult read_kernel_names(const Json& answer) {
  protocol::ProfileResult result;
  result.reason = word_of(answer, "reason", k_kernel_reason_bytes);
  Json launches = Json::array();
  const auto told = answer.find("launches");
  if (told != answer.end() && told->is_array()) {
    for (const Json& launch : *told) {
      if (launches.size() == k_most_kernel_names) break;
      if (Json read = read_launch(launch); !read.is_null()) launches.push_back(std::move(read));
    }
  }
  if (launches.empty()) {
    if (result.reason.empty()) result.reason = "the subject named no kernel";
    return result;
  }
  result.available = true;
  result.reason.clear();
  auto launched = static_cast<std::int64_t>(launches.size());
  const auto count = answer.find("launched");
  if (count != answer.end() && count->is_number_integer()) {
    launched = std::max(launched, count->get<std::int64_t>());
  }
  result.records = {{"launches", std::move(launches)},
                    {"launched", launched},
                    {"tool", protocol::k_kernel_names_tool},
                    {"program", "torch"}};
  return result;
}

Outcome<protocol::ProfileResult> name_kernels(SubjectProcess& subject,
                                              const problem::Problem& problem,
                                              const TurnContext& context, const Wait& wait) {
  WB_TRY(check_fits(problem, context, wait));
  WB_TRY_ASSIGN(auto inputs, HandedInputs::create(problem, context.clock));
  Json message = {{"op", "profile"}, {"problem", to_json(problem)}};
  inputs.refill(k_kernel_names_seed, problem::Draw::normal, context.threads, message);
  WB_TRY_ASSIGN(const auto out, make_output("out", problem::out_bytes(problem), draw_poison()));
  std::vector<int> fds = inputs.fds();
  fds.push_back(out.fd());
  WB_TRY_ASSIGN(const auto answer, subject.ask(std::move(message), fds, wait));
  return read_kernel_names(answer);
}

// The supervisor's `profile`: a compiled variant is inspected from outside, in a process that a
// tool starts; a Python subject, whose libraries launch kernels, from inside.

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
