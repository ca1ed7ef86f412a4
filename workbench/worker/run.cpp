// SPDX-License-Identifier: MIT
// One judged run: a secret seed, outputs under a poison, and the judge's verdict.
#include <optional>
#include <utility>
#include <vector>

#include "worker/failure.hpp"
#include "worker/hand_over.hpp"
#include "worker/secret.hpp"
#include "worker/turn.hpp"

namespace wb::worker {

Outcome<protocol::RunResult> conduct_run(SubjectProcess& subject, const protocol::RunArgs& args,
                                         const TurnContext& context, const Wait& wait) {
  const Problem& problem = args.problem;
  if (auto fits = check_fits(problem, context, wait); !fits.ok()) return std::move(fits).error();
  JudgeTask task;
  task.problem = problem;
  task.draw = args.draw;
  task.max_blocks = args.max_blocks;
  task.seed = draw_secret<std::uint32_t>();
  task.out_poison = draw_poison();
  task.lse_poison = draw_poison();
  task.threads = context.threads;
  auto out = make_output("out", out_bytes(problem), task.out_poison);
  if (!out.ok()) return std::move(out).error();
  std::optional<SharedMemory> lse;
  if (args.want_lse) {
    const auto lse_bytes = static_cast<std::size_t>(problem.B * problem.Hq * problem.Sq) * 4;
    auto made = make_output("lse", lse_bytes, task.lse_poison);
    if (!made.ok()) return std::move(made).error();
    lse.emplace(*std::move(made));
  }
  Json message = {{"op", "run"},
                  {"problem", to_json(problem)},
                  {"draw", to_string(args.draw)},
                  {"seed", task.seed}};
  std::vector<int> fds;
  std::optional<HandedInputs> inputs;
  if (subject.kind() == SubjectKind::python) {
    auto handed = HandedInputs::create(problem, context.clock);
    if (!handed.ok()) return std::move(handed).error();
    inputs.emplace(*std::move(handed));
    inputs->refill(task.seed, args.draw, context.threads, message);
    fds = inputs->fds();
  }
  fds.push_back(out->fd());
  if (lse) fds.push_back(lse->fd());
  auto answer = subject.ask(std::move(message), fds, wait);
  if (!answer.ok()) return std::move(answer).error();
  ObjectReader reader(*answer, "an answer");
  const double call_us = reader.real("call_us");
  // A Python subject may decline to give an LSE; then it is not judged, and the result says so.
  const bool gives_lse = subject.kind() == SubjectKind::native || reader.boolean_or("lse", false);
  const bool lse_given = lse && gives_lse;
  if (!reader.finish(true).ok()) {
    return subject.fail(Invalidity::runtime, "the subject answered \"run\" with garbage");
  }
  auto verdict =
      context.judge.judge(task, *out, lse_given ? &*lse : nullptr, wait.deadline, wait.cancel);
  if (!verdict.ok()) return std::move(verdict).error();
  return protocol::RunResult{task.seed, *std::move(verdict), lse_given, call_us * 1e-3};
}

}  // namespace wb::worker
