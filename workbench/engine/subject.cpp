// SPDX-License-Identifier: MIT
#include "engine/subject.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "core/hash.hpp"
#include "core/json.hpp"
#include "engine/context.hpp"
#include "engine/evidence.hpp"
#include "engine/recorded.hpp"
#include "engine/spending.hpp"
#include "engine/worker.hpp"
#include "variant/cuda_target.hpp"
#include "variant/ptxas_record.hpp"
#include "variant/restriction.hpp"

namespace wb::engine {

using problem::Problem;
using problem::Suite;
using problem::SuiteProblem;
using variant::Backend;
using variant::Configuration;
using variant::KeyedRandom;
using variant::Manifest;
using variant::Variant;

namespace {

/// nvcc takes ten times as long as g++ for a kernel with a table of tiles.
constexpr auto k_cuda_deadline = std::chrono::seconds(600);

Failure needs_gpu(const Manifest& manifest, const std::string& why) {
  std::string message = fmt::format("{} needs an NVIDIA GPU: {}", manifest.name, why);
  if (manifest.backend == Backend::cuda) {
    message += fmt::format(
        "; `sdpa-wb build {0}` compiles it without one, `sdpa-wb show {0} "
        "--ptx` shows what became of it",
        manifest.name);
  }
  return Failure{Invalidity::environment, std::move(message), ""};
}

Failure from_error(Invalidity invalidity, const Error& error) {
  return Failure{invalidity, error.message(), ""};
}

}  // namespace

std::string_view to_string(VerdictExtent value) {
  static constexpr std::string_view k_words[] = {"none", "screening", "whole"};
  return k_words[static_cast<int>(value)];
}

VerdictExtent parse_verdict_extent(std::string_view word) {
  return word == "none"        ? VerdictExtent::none
         : word == "screening" ? VerdictExtent::screening
                               : VerdictExtent::whole;
}

std::optional<std::string> not_supported(const Subject& subject, const Problem& problem) {
  if (auto reason = variant::unsupported_reason(subject.variant.manifest, problem)) return reason;
  const auto refused = subject.refused.find(to_text(problem));
  if (refused != subject.refused.end()) return refused->second;
  auto violated =
      variant::violated_restriction(subject.variant.manifest, subject.configuration, &problem);
  if (!violated) return violated.error().message();
  if (*violated) return fmt::format("the restriction \"{}\" does not hold", **violated);
  return std::nullopt;
}

void refuse_held_out(Subject& rival, const Suite& suite) {
  for (const SuiteProblem& member : suite.problems) {
    if (member.held_out) {
      rival.refused.emplace(to_text(member.problem), "rivals are not judged on held-out problems");
    }
  }
}

std::vector<variant::EdgeDraw> drawn_runs(const Context& context, const Subject& subject,
                                          const Suite& suite, VerdictExtent extent,
                                          std::optional<std::int64_t> count) {
  const Manifest& manifest = subject.variant.manifest;
  const bool is_jit = manifest.backend == Backend::python && variant::runs_on_gpu(manifest);
  variant::EdgeTerms terms{
      .manifest = manifest,
      .takes = [&](const Problem& problem) { return !not_supported(subject, problem); },
      .near = {},
      .count = extent == VerdictExtent::screening ? variant::k_screening_draws
               : is_jit                           ? variant::k_jit_draws
                                                  : variant::k_edge_draws};
  if (count) terms.count = static_cast<std::size_t>(*count);
  for (const SuiteProblem& member : suite.problems) {
    if (!member.held_out) terms.near.push_back(member.problem);
  }
  KeyedRandom random =
      context.services.edge_key ? KeyedRandom(*context.services.edge_key) : KeyedRandom::secret();
  return variant::draw_edges(terms, random);
}

Result<std::pair<Variant, Configuration>> resolve_variant(Context& context, std::string_view id) {
  if (id.find('@') == std::string_view::npos) {
    WB_TRY_ASSIGN(Variant variant, context.catalogue.find(id));
    return std::pair{std::move(variant), Configuration{}};
  }
  if (!context.session) {
    return Error{ErrorCode::not_found, "find the variant", std::string(id),
                 "labels with @ are known inside a session only",
                 "name a kernel (see `sdpa-wb kernels`) or give --session DIR"};
  }
  WB_TRY_ASSIGN(const session::SessionView* current,
                context.session->current(session::FoldDepth::full));
  const session::SessionView& view = *current;
  return stored_variant(*context.session, view, id);
}

const variant::Toolchain* toolchain_of(const Services& services, Backend backend) {
  switch (backend) {
    case Backend::cpu:
      return services.toolchain.get();
    case Backend::cuda:
      return services.cuda_toolchain.get();
    case Backend::python:
      break;
  }
  return nullptr;
}

Result<std::string> compiler_of(const Context& context, Backend backend) {
  const variant::Toolchain* toolchain = toolchain_of(context.services, backend);
  if (toolchain == nullptr) return std::string();
  WB_TRY_ASSIGN(const variant::CompilerIdentity compiler,
                toolchain->remembered_identity(context.cache.root() / "compilers"));
  return compiler.signature + " " + toolchain->target_identity(context.services.build_options);
}

Outcome<variant::BuildOptions> build_options_for(const Context& context, const Manifest& manifest,
                                                 std::string_view wanted) {
  variant::BuildOptions options = context.services.build_options;
  if (!wanted.empty()) options.target = wanted;
  if (manifest.backend != Backend::cuda) return options;
  const bool on_gpu = context.worker->device && context.worker->device->backend == "cuda";
  const auto target = variant::choose_cuda_target(
      manifest.architectures, on_gpu ? context.worker->device->architecture : std::string(),
      options.target);
  if (!target) {
    const bool is_ours = target.error().code == ErrorCode::environment;
    return from_error(is_ours ? Invalidity::environment : Invalidity::constraints, target.error());
  }
  options.target = *target;
  options.deadline = std::max(options.deadline, k_cuda_deadline);
  return options;
}

Outcome<Subject> build_only(Context& context, const Variant& variant, const Configuration& given,
                            std::string_view wanted_target) {
  Subject subject;
  subject.variant = variant;
  auto completed = variant::complete_configuration(variant.manifest, given);
  if (!completed) return from_error(Invalidity::constraints, completed.error());
  subject.configuration = *std::move(completed);
  auto violated = variant::violated_restriction(variant.manifest, subject.configuration, nullptr);
  if (violated && *violated) {
    return Failure{Invalidity::constraints,
                   fmt::format("the restriction \"{}\" does not hold for {}", **violated,
                               variant::to_text(subject.configuration)),
                   ""};
  }
  const auto options = build_options_for(context, variant.manifest, wanted_target);
  if (!options) return options.error();
  auto artifact = context.cache.build(variant, subject.configuration, *options,
                                      toolchain_of(context.services, variant.manifest.backend));
  if (!artifact) return std::move(artifact).error();
  subject.artifact = *std::move(artifact);
  subject.label = variant.manifest.name + "@" + short_hash(subject.artifact.id);
  return subject;
}

Outcome<Subject> build_subject(Context& context, const Variant& variant,
                               const Configuration& given) {
  context.worker->use_device_of(variant.manifest);
  if (variant::runs_on_gpu(variant.manifest) && !context.worker->device) {
    if (auto worker = context.worker->need(); !worker) {
      return needs_gpu(variant.manifest, worker.error().message);
    }
  }
  const bool on_gpu = context.worker->device && context.worker->device->backend == "cuda";
  if (variant::runs_on_gpu(variant.manifest) && !on_gpu) {
    return needs_gpu(variant.manifest, "the device here is " + context.worker->device->name);
  }
  if (!variant::runs_on_gpu(variant.manifest) && on_gpu) {
    return Failure{Invalidity::environment,
                   fmt::format("{} runs on a CPU, and this session measures on {}",
                               variant.manifest.name, context.worker->device->name),
                   ""};
  }
  return build_only(context, variant, given, {});
}

Result<Outcome<Subject>> build_and_log(Context& context, const Variant& variant,
                                       const Configuration& configuration) {
  Outcome<Subject> subject = build_subject(context, variant, configuration);
  WB_TRY(log_built(context, variant, configuration, subject));
  if (subject) WB_TRY(record_build_findings(context, *subject));
  return subject;
}

Result<void> log_built(Context& context, const Variant& variant, const Configuration& configuration,
                       const Outcome<Subject>& subject) {
  Json event{{"iteration", context.iteration_or_null()},
             {"variant_id", variant.id},
             {"message", ""},
             {"configuration", variant::to_json(configuration)},
             {"log_blob", nullptr}};
  const auto keep_output = [&](const std::string& output) {
    if (output.empty() || !context.session) return;
    if (auto blob = context.session->put_blob(output)) event["log_blob"] = *blob;
  };
  variant::BuildRecord record;
  if (subject) {
    record = subject->artifact.record;
    event["subject"] = subject->label;
    event["artifact_id"] = subject->artifact.id;
    event["configuration"] = variant::to_json(subject->configuration);
    event["outcome"] = "built";
    keep_output(record.log);
  } else {
    event["subject"] = label(variant);
    event["artifact_id"] = "";
    event["outcome"] = to_string(subject.error().invalidity);
    event["message"] = subject.error().message;
    record.cpu_s = subject.error().compile_cpu_s;
    keep_output(subject.error().untrusted_output);
  }
  if (!record.target.empty()) event["target"] = record.target;
  if (!record.ptxas.empty()) event["ptxas"] = to_json(record.ptxas);
  event["cached"] = record.cached;
  event["compiler"] = record.compiler;
  event["wall_s"] = record.wall_s;
  event["cpu_s"] = record.cpu_s;
  if (context.session) WB_TRY(context.session->store_variant(variant.id, variant.files));
  WB_TRY(context.log("variant_built", event));
  return context.spending->debit_compile(record, event["subject"].get<std::string>());
}

Error error_of_build(const variant::Variant& variant, const Failure& failure) {
  const ErrorCode code = failure.invalidity == Invalidity::compile       ? ErrorCode::compile
                         : failure.invalidity == Invalidity::environment ? ErrorCode::environment
                         : failure.invalidity == Invalidity::timeout     ? ErrorCode::limit
                                                                         : ErrorCode::invalid;
  return Error{code, "build", label(variant), failure.message, failure.untrusted_output};
}

Result<Subject> subject_from_arguments(Context& context, const Json& args, const char* key,
                                       std::optional<std::string> wanted_target) {
  WB_TRY_ASSIGN(auto resolved, resolve_variant(context, args[key].get<std::string>()));
  const auto& [variant, stored] = resolved;
  variant::Configuration configuration = stored;
  const Json given = args.value("configuration", Json::object());
  for (const auto& [name, value] : given.items()) configuration[name] = value.get<std::int64_t>();
  Outcome<Subject> subject = wanted_target
                                 ? build_only(context, variant, configuration, *wanted_target)
                                 : build_subject(context, variant, configuration);
  if (context.session) {  // without a session nothing is stored
    WB_TRY(log_built(context, variant, configuration, subject));
    if (subject) WB_TRY(record_build_findings(context, *subject));
  }
  if (subject) return *std::move(subject);
  return error_of_build(variant, subject.error());
}

Result<void> add_subject_output(Context& context, const std::string& words, Json& answer) {
  constexpr std::size_t most_bytes = 4096;
  answer["subject_output"] = words.empty() ? words : variant::cut_in_the_middle(words, most_bytes);
  answer["subject_output_ref"] = nullptr;
  if (words.empty() || !context.session) return {};
  WB_TRY_ASSIGN(answer["subject_output_ref"], context.session->put_blob(words));
  return {};
}

}  // namespace wb::engine
