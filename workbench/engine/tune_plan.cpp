// SPDX-License-Identifier: MIT
// From the verb's arguments to a plan, and from the log to what an interrupted run already knows.
#include <fmt/format.h>

#include "core/hash.hpp"
#include "engine/tune.hpp"

namespace wb {
namespace {

/// More than anyone waits for without having said so.
constexpr std::uint64_t k_unlimited_max = 1'000;

Json start_json(const StrategyOptions& options) {
  return options.start ? to_json(*options.start) : Json(nullptr);
}

Json options_json(const StrategyOptions& options) {
  Json json{{"seed", options.seed},
            {"start", start_json(options)},
            {"rounds", options.rounds},
            {"confidence", options.confidence}};
  if (options.kind == StrategyKind::racing) {
    json["entrants"] = options.entrants;
    json["stages"] = options.stages;
    json["worthwhile_frac"] = options.worthwhile_frac;
  }
  return json;
}

/// Answers may be joined when the same code was asked for the same, built by the same compiler and
/// measured on the same device.
Result<std::string> tune_id(Context& context, const TunePlan& plan) {
  auto worker = context.need_worker();
  if (!worker) {
    return Error{ErrorCode::environment, "tune on", "this machine", worker.error().message,
                 "run `sdpa-wb doctor`"};
  }
  Json problems = Json::array();
  for (const SuiteProblem& member : context.settings.suite.problems) {
    problems.push_back({to_text(member.problem), member.weight, member.held_out});
  }
  const Services& services = context.services;
  Json key{{"variant", plan.variant.id},
           {"size", plan.space.size()},
           {"strategy", to_string(plan.options.kind)},
           {"options", options_json(plan.options)},
           {"suite", problems},
           {"objective", to_json(context.settings.objective)},
           {"effort", context.settings.effort},
           {"device", context.hello->device.id}};
  if (plan.variant.manifest.backend != Backend::python) {
    WB_TRY_ASSIGN(const CompilerIdentity compiler,
                  services.toolchain->remembered_identity(context.cache.root() / "compilers"));
    key["compiler"] = compiler.signature;
    key["target"] = services.toolchain->target_identity(services.build_options);
  }
  return sha256_hex(key.dump());
}

template <typename T>
std::optional<T> given(const Json& args, std::string_view key) {
  const auto found = args.find(key);
  return found == args.end() ? std::nullopt : std::optional<T>(found->get<T>());
}

Result<TuneBudget> read_budget(const Context& context, const Json& args, const SearchSpace& space,
                               const std::string& name) {
  TuneBudget budget{given<std::int64_t>(args, "evaluations"), given<double>(args, "seconds"),
                    given<double>(args, "usd")};
  const Rates& rates = context.settings.rates;
  const bool has_rate = price_usd(rates, CostItem::compile_cpu, 1).has_value() ||
                        price_usd(rates, CostItem::device, 1).has_value();
  if (budget.usd && !has_rate) {
    return Error{ErrorCode::usage, "tune", name,
                 "a money budget was given, but the session knows no rate",
                 "open it with --device-usd-per-hour or --compile-cpu-usd-per-hour, or give "
                 "evaluations or seconds"};
  }
  const Budget& whole = context.settings.budget;
  const bool is_limited =
      budget.evaluations || budget.seconds || budget.usd || whole.wall_s || (whole.usd && has_rate);
  if (!is_limited && space.size() > k_unlimited_max && args.value("strategy", "") != "racing") {
    return Error{
        ErrorCode::usage, "tune", name,
        fmt::format("its space has {} configurations and nothing limits the search", space.size()),
        "give evaluations, seconds or usd, or the strategy racing"};
  }
  return budget;
}

/// The configuration that is asked first: what was named, else what the incumbent uses when it is
/// the same variant, else the manifest's defaults.
Result<Configuration> start_of(const Context& context, const Variant& variant,
                               Configuration named) {
  if (named.empty() && context.incumbent->variant.id == variant.id) {
    named = context.incumbent->configuration;
  }
  return complete_configuration(variant.manifest, named);
}

std::optional<Configuration> configuration_or_nothing(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  Configuration configuration;
  for (const auto& [name, value] : json.items()) {
    if (value.is_number_integer()) configuration[name] = value.get<std::int64_t>();
  }
  return configuration;
}

std::string pair_key(const TuneAnswer& answer) {
  return fmt::format("{} {}", answer.stage, to_text(answer.evaluation.configuration));
}

std::vector<Evaluation> evaluations_of(const std::vector<TuneAnswer>& answers) {
  std::vector<Evaluation> evaluations;
  for (const TuneAnswer& answer : answers) evaluations.push_back(answer.evaluation);
  return evaluations;
}

bool is_environment(const TuneAnswer& answer) {
  return answer.evaluation.score.invalidity == Invalidity::environment;
}

}  // namespace

Result<TunePlan> plan_tune(Context& context, const Json& args) {
  WB_TRY_ASSIGN(auto proposal, read_proposal(context, args, "tune"));
  WB_TRY_ASSIGN(SearchSpace space,
                SearchSpace::make(proposal.first.manifest, context.settings.suite));
  const std::string name = proposal.first.manifest.name;
  WB_TRY_ASSIGN(const TuneBudget budget, read_budget(context, args, space, name));
  TunePlan plan{.variant = std::move(proposal.first),
                .space = std::move(space),
                .options = {},
                .budget = budget,
                .early_stop = {},
                .effort = {},
                .ahead = given<std::int64_t>(args, "ahead"),
                .id = {}};
  const Effort selection = effort_plan(context.settings.effort).selection;
  plan.effort = {1, selection.placements, selection.rounds};
  plan.options.kind = *parse_strategy_kind(args.value("strategy", "random"));
  plan.options.seed = args.value("seed", std::uint64_t{1});
  plan.options.rounds = selection.rounds;
  WB_TRY_ASSIGN(plan.options.start, start_of(context, plan.variant, std::move(proposal.second)));
  WB_TRY_ASSIGN(plan.id, tune_id(context, plan));
  return plan;
}

Json to_json(const TunePlan& plan) {
  return {{"strategy", to_string(plan.options.kind)},
          {"options", options_json(plan.options)},
          {"space_size", plan.space.size()},
          {"unrestricted_size", plan.space.unrestricted_size()},
          {"tune_id", plan.id}};
}

Json to_json(const TuneAnswer& answer) {
  const auto or_null = [](const std::optional<Configuration>& configuration) {
    return configuration ? to_json(*configuration) : Json(nullptr);
  };
  Json json = to_json(answer.evaluation.score);
  json["configuration"] = to_json(answer.evaluation.configuration);
  json["artifact_id"] = answer.artifact_id;
  json["code_hash"] = answer.evaluation.artifact;
  json["stage"] = answer.stage;
  json["against"] = or_null(answer.against);
  json["duplicate_of"] = or_null(answer.duplicate_of);
  json["build_s"] = answer.build_s;
  json["message"] = answer.message;
  json["events"] =
      answer.turns.first > 0 ? Json{answer.turns.first, answer.turns.second} : Json(nullptr);
  return json;
}

Result<TuneAnswer> answer_from_json(const Json& payload) {
  ObjectReader reader(payload, "an evaluation");
  TuneAnswer answer;
  answer.artifact_id = reader.string_or("artifact_id", "");
  answer.evaluation.artifact = reader.string_or("code_hash", "");
  answer.message = reader.string_or("message", "");
  answer.stage = reader.integer_or("stage", 0, 0, 1'000'000);
  answer.build_s = reader.real_or("build_s", 0);
  const Json* configuration = reader.member("configuration");
  if (configuration == nullptr || !configuration->is_object()) {
    reader.fail("configuration", "must be a map");
  }
  WB_TRY(reader.finish(true));
  answer.evaluation.configuration = configuration_or_nothing(*configuration).value();
  answer.against = configuration_or_nothing(payload.value("against", Json()));
  answer.duplicate_of = configuration_or_nothing(payload.value("duplicate_of", Json()));
  WB_TRY_ASSIGN(answer.evaluation.score, score_from_json(payload));
  const Json events = payload.value("events", Json());
  if (events.is_array() && events.size() == 2 && events[0].is_number_integer() &&
      events[1].is_number_integer()) {
    answer.turns = {events[0].get<std::int64_t>(), events[1].get<std::int64_t>()};
  }
  return answer;
}

Result<TunePast> past_of_tune(const SessionView& view, std::string_view tune_id) {
  TunePast past;
  for (const IterationView& iteration : view.iterations) {
    const Json tune = iteration.opened.payload.value("tune", Json::object());
    if (!tune.is_object() || tune.value("tune_id", "") != tune_id || !iteration.closed) continue;
    if (iteration.closed->payload.value("outcome", "") != "abandoned") {
      past = {};  // that one came to its end: the same again is a new tune
      continue;
    }
    past.usd += iteration.ledger.total().usd;
    for (const Fact& fact : iteration.evaluations) {
      WB_TRY_ASSIGN(TuneAnswer answer, answer_from_json(fact.payload));
      past.answers.push_back(std::move(answer));
    }
    const auto opened = parse_iso8601(iteration.opened.t);
    const auto last = parse_iso8601(iteration.evaluations.empty() ? iteration.opened.t
                                                                  : iteration.evaluations.back().t);
    if (opened && last) past.seconds += std::chrono::duration<double>(*last - *opened).count();
  }
  return past;
}

Result<std::vector<TuneAnswer>> replayable(const TunePlan& plan, const TunePast& past) {
  std::vector<TuneAnswer> answers;
  std::set<std::string> answered;
  for (const TuneAnswer& answer : past.answers) {
    if (is_environment(answer)) continue;
    answers.push_back(answer);
    answered.insert(pair_key(answer));
  }
  if (answers.size() == past.answers.size()) return answers;
  const auto can_be_told = [&](const std::vector<TuneAnswer>& told) -> Result<bool> {
    WB_TRY_ASSIGN(Strategy strategy, Strategy::make(plan.space, plan.options));
    TuneLedger ledger;
    return replay(strategy, ledger, evaluations_of(told)).ok();
  };
  WB_TRY_ASSIGN(const bool without, can_be_told(answers));
  if (without) return answers;
  answers.clear();
  for (const TuneAnswer& answer : past.answers) {
    const bool is_needed = !is_environment(answer) || !answered.contains(pair_key(answer));
    if (is_needed) answers.push_back(answer);
    if (is_needed && is_environment(answer)) answered.insert(pair_key(answer));
  }
  return answers;
}

}  // namespace wb
