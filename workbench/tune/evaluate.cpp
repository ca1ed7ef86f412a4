// SPDX-License-Identifier: MIT
// Answers one request of a tune in another process, with this process's compiler and device; keeps
// nothing.
#include "tune/evaluate.hpp"

#include <fmt/format.h>

#include <numeric>

#include "core/json.hpp"
#include "engine/context.hpp"
#include "engine/engine.hpp"
#include "engine/settings.hpp"
#include "engine/spending.hpp"
#include "engine/subject.hpp"
#include "engine/worker.hpp"
#include "tune/builds.hpp"
#include "tune/evaluation.hpp"
#include "tune/evaluation_exchange.hpp"

namespace wb::tune {

using engine::Context;
using engine::SessionSettings;
using engine::Subject;

namespace {

Result<void> check_place(Context& context, const EvaluationRequest& request) {
  const auto refused = [](std::string cause) {
    return Error{ErrorCode::environment, "evaluate", "the request", std::move(cause),
                 "use the same workbench and device for all of a search"};
  };
  if (request.workbench_version != context.services.workbench_version) {
    return refused(fmt::format("it comes from version {}, and this is {}",
                               printable(request.workbench_version, 64),
                               context.services.workbench_version));
  }
  const variant::Manifest& manifest = request.candidate.variant.manifest;
  WB_TRY_ASSIGN(const std::string compiler, compiler_of(context, manifest.backend));
  if (compiler != request.compiler) {
    return refused(fmt::format("its session builds by {}, and this would by {}",
                               printable(request.compiler, 128), compiler));
  }
  context.worker->use_device_of(manifest);
  if (auto worker = context.worker->need(); !worker) return refused(worker.error().message);
  const device::Device& device = context.worker->hello->device;
  if (device.backend != request.backend || device.name != request.device) {
    return refused(fmt::format("its session measures on {}, and this is {}",
                               printable(request.device, 128), device.name));
  }
  return {};
}

}  // namespace

Result<EvaluationReply> evaluate_request(Context& context, const EvaluationRequest& request) {
  SessionSettings& settings = context.settings;
  settings.suite = request.suite;
  settings.objective = request.objective;
  settings.effort = request.effort;
  context.floors = request.floors;
  WB_TRY(check_place(context, request));
  EvaluationReply reply{.id = request.id,
                        .workbench_version = request.workbench_version,
                        .backend = request.backend,
                        .device = request.device};
  reply.lanes.resize(request.suite.problems.size());
  const Clock& clock = context.services.clock;
  const auto build = [&](const Candidate& made) {
    const auto begin = clock.steady_now();
    Outcome<Subject> subject = build_subject(context, made.variant, made.configuration);
    reply.build_s += std::chrono::duration<double>(clock.steady_now() - begin).count();
    if (!subject) {
      reply.compile_cpu_s += subject.error().compile_cpu_s;
    } else if (!subject->artifact.record.cached) {
      reply.compile_cpu_s += subject->artifact.record.cpu_s;
    }
    return subject;
  };
  const auto add_device_time = [&] {
    for (const auto& [verb, wall_s] : context.spending->take_worker_time()) {
      reply.device_s += wall_s;
    }
  };
  const Outcome<Subject> candidate = build(request.candidate);
  if (!candidate) {
    reply.failure = Failure{candidate.error().invalidity, candidate.error().message, ""};
    add_device_time();
    return reply;
  }
  reply.artifact_id = candidate->artifact.id;
  Outcome<std::string> hash = code_hash_of(context, *candidate);
  if (!hash) {
    reply.failure = hash.error();
    add_device_time();
    return reply;
  }
  reply.code_hash = *std::move(hash);
  Evaluator evaluator(context, request.terms,
                      [&](const variant::Configuration&) -> Result<Outcome<Subject>> {
                        return build(*request.against);
                      });
  TuneAnswer answer;
  WB_TRY_ASSIGN(reply.is_stopped_early,
                evaluator.judge_and_time(request.ask, *candidate, reply.lanes, answer));
  // A stop looks like a failure of the machine.
  WB_TRY(context.check_stop());
  reply.proof = answer.proof;
  if (const auto invalidity = answer.evaluation.score.invalidity) {
    reply.failure = Failure{*invalidity, answer.message, ""};
  }
  add_device_time();
  return reply;
}

Result<Json> evaluate(engine::Engine& engine, const Json& request) {
  Context& context = engine.context();
  if (context.session) {
    return Error{ErrorCode::usage, "evaluate with", "this engine", "it holds a session",
                 "make another engine: one evaluates for others, one owns a session"};
  }
  WB_TRY(context.check_stop());
  WB_TRY_ASSIGN(const EvaluationRequest wanted, request_from_json(request));
  Result<EvaluationReply> reply = evaluate_request(context, wanted);
  // Later calls, perhaps of another session, see nothing of it but the worker.
  context.settings = {};
  context.settings.backend = wanted.backend;
  context.floors.clear();
  if (!reply) return std::move(reply).error();
  return to_json(*reply, wanted.suite);
}

}  // namespace wb::tune
