// SPDX-License-Identifier: MIT
// One judged run: a secret seed, poisoned outputs, and the judge's verdict. On a CPU it is an
// untimed turn, unless it is called in a form that no turn has.
#include "worker/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "core/json.hpp"
#include "core/secret.hpp"
#include "worker/call_output.hpp"
#include "worker/failure.hpp"
#include "worker/gpu_output.hpp"
#include "worker/hand_over.hpp"

namespace wb::worker {

using measure::PlanKind;
using problem::CallForm;
using problem::Draw;

namespace {

/// As in the shortest turns of a search.
constexpr double k_settle_us = 1'000;
/// Longer calls are made once, and the plan's first call is judged.
constexpr double k_short_call_us = 1'000;
constexpr std::int64_t k_most_samples = 4, k_most_calls = 8;
constexpr std::ptrdiff_t k_normal_runs = 3;  ///< of a verdict
/// Above every placement of a turn, since a run has its own buffers.
constexpr std::int64_t k_first_run_placement = std::int64_t{1} << 40;

std::uint32_t draw_below(std::uint32_t count) {
  return draw_secret<std::uint32_t>() % count;
}

/// The calls of one judged run.
struct RunPlan {
  double settle_us = 0;  ///< 0: the plan's first call is judged
  PlanKind kind = PlanKind::hot;
  bool fresh_inputs = false;  ///< different from those of settling
  bool warm = false;
  bool flush = false;
  std::int64_t samples = 1, calls = 1;
};

/// Calls as in a turn, or a single one. Drawn, so that a variant that counts its calls, or looks at
/// its caches or messages, cannot tell a judged call from a timed one.
RunPlan draw_plan(std::optional<double> call_us) {
  RunPlan plan;
  constexpr std::array k_kinds{PlanKind::hot, PlanKind::cold, PlanKind::eager};
  plan.kind = k_kinds[draw_below(k_kinds.size())];
  plan.flush = plan.kind == PlanKind::cold;
  if (!call_us || !(*call_us < k_short_call_us) || draw_below(2) == 0) return plan;
  plan.settle_us = k_settle_us;
  plan.fresh_inputs = draw_below(2) == 0;
  plan.warm = plan.fresh_inputs && draw_below(2) == 0;
  if (plan.kind == PlanKind::cold) return plan;
  plan.samples = 1 + draw_below(k_most_samples);
  plan.calls = 1 + draw_below(k_most_calls);
  return plan;
}

class RunConductor {
 public:
  RunConductor(SubjectProcess& subject, const protocol::RunArgs& args, const TurnContext& context,
               const Wait& wait)
      : m_subject(subject), m_args(args), m_context(context), m_wait(wait) {}
  Outcome<protocol::RunResult> conduct(JudgeTask task);

 private:
  Outcome<void> set_stage();
  Outcome<void> prime();
  Outcome<double> call();
  void refill(Json& message);

  SubjectProcess& m_subject;
  const protocol::RunArgs& m_args;
  const TurnContext& m_context;
  const Wait& m_wait;
  JudgeTask m_task;
  RunPlan m_plan;
  std::unique_ptr<CallOutput> m_output;
  std::optional<HandedInputs> m_inputs;
};

void RunConductor::refill(Json& message) {
  m_task.seed = draw_secret<std::uint32_t>();
  message["seed"] = m_task.seed;
  message["draw"] = to_string(m_args.draw);
  if (m_inputs) m_inputs->refill(m_task.seed, m_args.draw, m_context.threads, message);
}

Outcome<void> RunConductor::set_stage() {
  const std::int64_t placement =
      k_first_run_placement + static_cast<std::int64_t>(draw_secret<std::uint32_t>());
  const OutputOrder order{fmt::format("run {}", placement), placement, m_args.want_lse};
  WB_TRY_ASSIGN(auto output, make_call_output(m_subject, m_context.judge, m_args.problem, order,
                                              m_context.clock, m_wait));
  m_output = std::move(output);
  std::vector<int> fds;
  if (m_subject.kind() == SubjectKind::python) {
    WB_TRY_ASSIGN(auto handed, HandedInputs::create(m_args.problem, m_context.clock));
    m_inputs.emplace(std::move(handed));
    fds = m_inputs->fds();
  }
  Json message = {{"op", "turn"},
                  {"problem", to_json(m_args.problem)},
                  {"placement", placement},
                  {"settle_us", m_plan.settle_us},
                  {"kind", to_string(m_plan.kind)}};
  refill(message);
  m_output->hand_over(message, fds);
  WB_TRY(m_subject.ask(std::move(message), fds, m_wait));
  return m_output->taken_up();
}

Outcome<void> RunConductor::prime() {
  m_task.out_poison = draw_poison();
  m_task.lse_poison = draw_poison();
  Json message = {{"op", "prime"},
                  {"calls", m_plan.calls},
                  {"warm", m_plan.warm},
                  {"poison", m_task.out_poison.seed},
                  {"lse_poison", m_task.lse_poison.seed},
                  {"flush", m_plan.flush}};
  if (m_plan.fresh_inputs) refill(message);
  m_output->spoil();
  WB_TRY(m_subject.ask(std::move(message), {}, m_wait));
  return {};
}

/// Microseconds of one call, as the subject reports.
Outcome<double> RunConductor::call() {
  const Json go = {{"op", "go"}, {"samples", m_plan.samples}, {"calls", m_plan.calls}};
  WB_TRY(m_subject.ask_to_stop(go, m_wait));
  const ResumeOnExit go_on(m_subject);
  WB_TRY_ASSIGN(auto done, m_subject.more(m_wait));
  WB_TRY(m_output->at_done(done, TakeOutput::yes));
  m_subject.go_on();
  WB_TRY_ASSIGN(auto samples, m_subject.more(m_wait));
  const auto block = done.find("block_ns");
  if (block == done.end() || !block->is_number()) {
    return m_subject.fail(Invalidity::runtime, "the subject answered \"go\" with garbage");
  }
  return block->get<double>() * 1e-3 / static_cast<double>(m_plan.samples * m_plan.calls);
}

Outcome<protocol::RunResult> RunConductor::conduct(JudgeTask task) {
  m_task = std::move(task);
  const std::string key = fmt::format("{} {}", m_context.subject, problem::to_text(m_args.problem));
  std::optional<double> known_us;
  if (m_context.run_us != nullptr && m_context.run_us->contains(key)) {
    known_us = m_context.run_us->at(key);
  }
  m_plan = draw_plan(known_us);
  WB_TRY(set_stage());
  WB_TRY(prime());
  const Deadline begin = std::chrono::steady_clock::now();
  WB_TRY_ASSIGN(const auto call_us, call());
  if (m_context.run_us != nullptr && m_plan.samples * m_plan.calls == 1) {
    // The subject's own report of the duration is not trusted.
    (*m_context.run_us)[key] =
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
  }
  WB_TRY(m_subject.expect_silence());
  const bool has_lse = m_output->has_lse();
  WB_TRY_ASSIGN(auto verdict, m_output->judge(m_task));
  m_subject.keep_outputs(nullptr);
  return protocol::RunResult{m_task.seed, std::move(verdict), has_lse, call_us * 1e-3};
}

/// On a GPU whose judge lends memory: the judge takes the output right after the answer.
Outcome<protocol::RunResult> conduct_lent_run(SubjectProcess& subject,
                                              const protocol::RunArgs& args,
                                              const TurnContext& context, const Wait& wait,
                                              const JudgeTask& task) {
  WB_TRY_ASSIGN(const auto lent, lend_for_run(context.judge, task, args.want_lse, wait));
  Json message = {{"op", "run"},
                  {"problem", to_json(task.problem)},
                  {"draw", to_string(task.draw)},
                  {"seed", task.seed},
                  {"lent", to_json(*lent)}};
  if (args.form != CallForm()) message["form"] = to_json(args.form);
  if (subject.kind() == SubjectKind::python) {
    WB_TRY_ASSIGN(auto inputs, HandedInputs::create(task.problem, context.clock));
    inputs.refill(task.seed, task.draw, context.threads, message);
  }
  WB_TRY_ASSIGN(auto answer, subject.ask(std::move(message), lent->numbers_of_fds(), wait));
  WB_TRY(context.judge.take(*lent, wait.deadline, wait.cancel));
  ObjectReader reader(answer, "an answer");
  const double call_us = reader.real("call_us");
  const bool gives_lse = subject.kind() == SubjectKind::native || reader.boolean_or("lse", false);
  if (!reader.finish(true).ok()) {
    return subject.fail(Invalidity::runtime, "the subject answered \"run\" with garbage");
  }
  const bool with_lse = args.want_lse && gives_lse;
  WB_TRY_ASSIGN(auto verdict,
                context.judge.judge_taken(task, *lent, with_lse, wait.deadline, wait.cancel));
  return protocol::RunResult{task.seed, std::move(verdict), with_lse, call_us * 1e-3};
}

/// The subject makes the output in its own memory and copies it to ours: on a GPU whose judge lends
/// none, and on a CPU for views and forms of calls that no turn has.
Outcome<protocol::RunResult> conduct_copied_run(SubjectProcess& subject,
                                                const protocol::RunArgs& args,
                                                const TurnContext& context, const Wait& wait,
                                                const JudgeTask& task) {
  const problem::Problem& problem = args.problem;
  WB_TRY_ASSIGN(auto out, make_output("out", problem::out_bytes(problem), task.out_poison));
  std::optional<SharedMemory> lse;
  if (args.want_lse) {
    WB_TRY_ASSIGN(auto made, make_output("lse", problem::lse_bytes(problem), task.lse_poison));
    lse.emplace(std::move(made));
  }
  Json message = {{"op", "run"},
                  {"problem", to_json(problem)},
                  {"draw", to_string(args.draw)},
                  {"seed", task.seed}};
  if (args.form != CallForm()) message["form"] = to_json(args.form);
  std::vector<int> fds;
  std::optional<HandedInputs> inputs;
  if (subject.kind() == SubjectKind::python) {
    WB_TRY_ASSIGN(auto handed, HandedInputs::create(problem, context.clock));
    inputs.emplace(std::move(handed));
    inputs->refill(task.seed, args.draw, context.threads, message);
    fds = inputs->fds();
  }
  fds.push_back(out.fd());
  if (lse) fds.push_back(lse->fd());
  WB_TRY_ASSIGN(auto answer, subject.ask(std::move(message), fds, wait));
  ObjectReader reader(answer, "an answer");
  const double call_us = reader.real("call_us");
  // A Python subject may give no LSE; then it is not judged, and the result says so.
  const bool gives_lse = subject.kind() == SubjectKind::native || reader.boolean_or("lse", false);
  const bool lse_given = lse && gives_lse;
  if (!reader.finish(true).ok()) {
    return subject.fail(Invalidity::runtime, "the subject answered \"run\" with garbage");
  }
  WB_TRY_ASSIGN(auto verdict, context.judge.judge(task, out, lse_given ? &*lse : nullptr,
                                                  wait.deadline, wait.cancel));
  return protocol::RunResult{task.seed, std::move(verdict), lse_given, call_us * 1e-3};
}

}  // namespace

std::vector<VerdictRun> draw_verdict_runs(bool has_edge, bool want_lse) {
  std::vector<VerdictRun> runs;
  for (const Draw draw : {Draw::normal, Draw::large, Draw::edge}) {
    if (draw == Draw::edge && !has_edge) continue;
    runs.push_back({draw, false});
    if (want_lse) runs.push_back({draw, true});
  }
  while (std::count_if(runs.begin(), runs.end(), [](const VerdictRun& run) {
           return run.draw == Draw::normal;
         }) < k_normal_runs) {
    runs.push_back({Draw::normal, want_lse && draw_below(2) == 0});
  }
  for (std::size_t i = runs.size(); i > 1; --i) {
    std::swap(runs[i - 1], runs[draw_below(static_cast<std::uint32_t>(i))]);
  }
  return runs;
}

Outcome<protocol::RunResult> conduct_run(SubjectProcess& subject, const protocol::RunArgs& args,
                                         const TurnContext& context, const Wait& wait) {
  WB_TRY(check_fits(args.problem, context, wait));
  JudgeTask task;
  task.problem = args.problem;
  task.draw = args.draw;
  task.max_blocks = args.max_blocks;
  task.threads = context.threads;
  if (context.clock == Clock::host && args.form == CallForm()) {
    return RunConductor(subject, args, context, wait).conduct(std::move(task));
  }
  task.seed = draw_secret<std::uint32_t>();
  task.out_poison = draw_poison();
  task.lse_poison = draw_poison();
  // Lent memory has the size of a packed output.
  if (context.clock == Clock::device && context.judge.lends() &&
      problem::is_packed(args.form.out)) {
    return conduct_lent_run(subject, args, context, wait, task);
  }
  return conduct_copied_run(subject, args, context, wait, task);
}

}  // namespace wb::worker
