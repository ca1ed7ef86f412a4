// SPDX-License-Identifier: MIT
// From a verb's arguments to a plan.
#include <fmt/format.h>

#include "core/hash.hpp"
#include "core/json.hpp"
#include "engine/context.hpp"
#include "engine/iteration.hpp"
#include "engine/services.hpp"
#include "engine/settings.hpp"
#include "engine/subject.hpp"
#include "engine/timing.hpp"
#include "engine/worker.hpp"
#include "search/program.hpp"
#include "tune/evaluation.hpp"
#include "tune/evaluation_exchange.hpp"
#include "tune/tune.hpp"
#include "variant/restriction.hpp"

namespace wb::tune {

using engine::Budget;
using engine::Context;
using engine::effort_plan;
using engine::Services;
using search::SearchSpace;
using search::StrategyKind;
using search::StrategyOptions;
using variant::Backend;
using variant::Configuration;
using variant::Variant;

namespace {

/// The largest space that may be searched without a limit.
constexpr std::uint64_t k_unlimited_max = 1'000;
constexpr std::size_t k_entrants_max = 64;
const std::string k_entrant = "entrant";  ///< the only parameter of a race's space

Json start_json(const StrategyOptions& options) {
  return options.start ? variant::to_json(*options.start) : Json(nullptr);
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

/// Equal for answers that may be joined: the same code, asked for the same, built by the same
/// compiler and measured on the same device.
Result<std::string> tune_id(Context& context, const TunePlan& plan) {
  auto worker = context.worker->need();
  if (!worker) {
    return Error{ErrorCode::environment, "tune on", "this machine", worker.error().message,
                 "run `sdpa-wb doctor`"};
  }
  Json problems = Json::array();
  for (const problem::SuiteProblem& member : context.settings.suite.problems) {
    problems.push_back({to_text(member.problem), member.weight, member.held_out});
  }
  const Services& services = context.services;
  Json entrants = Json::array();
  std::set<Backend> backends;
  if (plan.entrants.empty()) backends.insert(plan.variant.manifest.backend);
  for (const Candidate& entrant : plan.entrants) {
    entrants.push_back({entrant.variant.id, variant::to_json(entrant.configuration)});
    backends.insert(entrant.variant.manifest.backend);
  }
  Json key{{"variant", plan.variant.id},
           {"entrants", entrants},
           {"size", plan.space.size()},
           {"strategy", to_string(plan.options.kind)},
           {"options", options_json(plan.options)},
           {"suite", problems},
           {"objective", to_json(context.settings.objective)},
           {"effort", context.settings.effort},
           {"device", context.worker->hello->device.id}};
  // Included because a proposer's proposals depend on how many are requested at once.
  if (search::is_external(plan.options.kind)) key["in_flight"] = plan.options.in_flight;
  for (const Backend backend : backends) {
    const variant::Toolchain* toolchain = toolchain_of(services, backend);
    if (toolchain == nullptr) continue;  // python, or its builds report what is missing
    WB_TRY_ASSIGN(const variant::CompilerIdentity compiler,
                  toolchain->remembered_identity(context.cache.root() / "compilers"));
    // A CUDA build's target follows from variant and device, which are included already.
    const std::string prefix = backend == Backend::cuda ? "cuda_" : "";
    key[prefix + "compiler"] = compiler.signature;
    key[prefix + "target"] = toolchain->target_identity(services.build_options);
  }
  return sha256_hex(key.dump());
}

template <typename T>
std::optional<T> given(const Json& args, std::string_view key) {
  const auto found = args.find(key);
  return found == args.end() ? std::nullopt : std::optional<T>(found->get<T>());
}

Result<TuneBudget> read_budget(const Context& context, const Json& args, const SearchSpace& space,
                               const std::string& name, StrategyKind kind) {
  TuneBudget budget{given<std::int64_t>(args, "evaluations"), given<double>(args, "seconds"),
                    given<double>(args, "usd")};
  const session::Rates& rates = context.settings.prices.rates;
  const bool has_rate = session::price_usd(rates, session::CostItem::compile_cpu, 1).has_value() ||
                        session::price_usd(rates, session::CostItem::device, 1).has_value();
  if (budget.usd && !has_rate) {
    return Error{ErrorCode::usage, "tune", name,
                 "a money budget was given, but the session knows no rate",
                 "open it with --device-usd-per-hour or --compile-cpu-usd-per-hour, or with list "
                 "prices, or give evaluations or seconds"};
  }
  const Budget& whole = context.settings.budget;
  const bool is_limited =
      budget.evaluations || budget.seconds || budget.usd || whole.wall_s || (whole.usd && has_rate);
  if (!is_limited && space.size() > k_unlimited_max && kind != StrategyKind::racing) {
    return Error{
        ErrorCode::usage, "tune", name,
        fmt::format("its space has {} configurations and nothing limits the search", space.size()),
        "give evaluations, seconds or usd, or the strategy racing"};
  }
  return budget;
}

/// The first configuration to ask: the named one, else the incumbent's if it is the same variant,
/// else the manifest's defaults.
Result<Configuration> start_of(const Context& context, const Variant& variant,
                               Configuration named) {
  if (named.empty() && context.incumbent->variant.id == variant.id) {
    named = context.incumbent->configuration;
  }
  return variant::complete_configuration(variant.manifest, named);
}

/// The variant whose configurations are searched.
struct SearchTarget {
  Variant variant;
  std::vector<Candidate> entrants;
  SearchSpace space;
};

Result<TunePlan> make_plan(Context& context, const Json& args, SearchTarget target,
                           StrategyOptions options, std::int64_t in_flight) {
  const std::string name = target.entrants.empty() ? target.variant.manifest.name : "the variants";
  WB_TRY_ASSIGN(const TuneBudget budget,
                read_budget(context, args, target.space, name, options.kind));
  TunePlan plan{.variant = std::move(target.variant),
                .entrants = std::move(target.entrants),
                .space = std::move(target.space),
                .options = std::move(options),
                .budget = budget,
                .early_stop = {},
                .effort = {},
                .ahead = given<std::int64_t>(args, "ahead"),
                .in_flight = in_flight,
                .id = {}};
  const measure::Effort selection = effort_plan(context.settings.effort).selection;
  plan.effort = {1, selection.placements, selection.rounds};
  plan.options.seed = args.value("seed", std::uint64_t{1});
  plan.options.rounds = selection.rounds;
  WB_TRY_ASSIGN(plan.id, tune_id(context, plan));
  return plan;
}

}  // namespace

Candidate TunePlan::candidate(const Configuration& configuration) const {
  if (entrants.empty()) return {variant, configuration, variant::to_text(configuration)};
  return entrants.at(static_cast<std::size_t>(configuration.at(k_entrant)) - 1);
}

Result<TunePlan> plan_tune(Context& context, const Json& args) {
  WB_TRY_ASSIGN(auto proposal, read_proposal(context, args, "tune"));
  WB_TRY_ASSIGN(SearchSpace space,
                SearchSpace::make(proposal.first.manifest, context.settings.suite));
  StrategyOptions options;
  options.kind = *search::parse_strategy_kind(args.value("strategy", "random"));
  WB_TRY_ASSIGN(const std::int64_t in_flight, remote_capacity(context.services.ask_program));
  options.in_flight = std::max<std::int64_t>(in_flight, 1);
  options.make_proposer = search::proposers_of(context.services.ask_program, options.in_flight);
  WB_TRY_ASSIGN(options.start, start_of(context, proposal.first, std::move(proposal.second)));
  return make_plan(context, args, {std::move(proposal.first), {}, std::move(space)},
                   std::move(options), in_flight);
}

Result<TunePlan> plan_race(Context& context, const Json& args) {
  std::vector<Candidate> entrants;
  std::set<std::string> seen;
  for (const Json& id : args["variants"]) {
    const auto word = id.get<std::string>();
    WB_TRY_ASSIGN(auto resolved, resolve_variant(context, word));
    WB_TRY_ASSIGN(Configuration configuration,
                  variant::complete_configuration(resolved.first.manifest, resolved.second));
    if (!seen.insert(resolved.first.id + variant::to_text(configuration)).second) {
      return Error{ErrorCode::usage, "race", word, "the same code and configuration runs already",
                   "name each variant once"};
    }
    entrants.push_back({std::move(resolved.first), std::move(configuration), word});
  }
  if (entrants.size() < 2 || entrants.size() > k_entrants_max) {
    return Error{ErrorCode::usage, "race", fmt::to_string(entrants.size()) + " variants",
                 fmt::format("a race has 2 to {} of them", k_entrants_max),
                 "use `iterate` for one, `tune` for a variant's configurations"};
  }
  variant::Manifest field;
  field.name = "race";
  for (std::size_t n = 1; n <= entrants.size(); ++n) {
    field.tune_params[k_entrant].push_back(static_cast<std::int64_t>(n));
  }
  WB_TRY_ASSIGN(SearchSpace space, SearchSpace::make(field, context.settings.suite));
  StrategyOptions options;
  options.kind = StrategyKind::racing;
  options.entrants = static_cast<std::int64_t>(entrants.size());
  options.start = Configuration{{k_entrant, 1}};
  Variant first = entrants.front().variant;
  WB_TRY_ASSIGN(const std::int64_t in_flight, remote_capacity(context.services.ask_program));
  return make_plan(context, args, {std::move(first), std::move(entrants), std::move(space)},
                   std::move(options), in_flight);
}

Json to_json(const TunePlan& plan) {
  Json json{{"strategy", to_string(plan.options.kind)},
            {"options", options_json(plan.options)},
            {"space_size", plan.space.size()},
            {"unrestricted_size", plan.space.unrestricted_size()},
            {"tune_id", plan.id}};
  if (plan.in_flight > 0) json["in_flight"] = plan.in_flight;
  for (const Candidate& entrant : plan.entrants) {
    json["entrants"].push_back({{"variant", entrant.name},
                                {"variant_id", entrant.variant.id},
                                {"configuration", variant::to_json(entrant.configuration)}});
  }
  return json;
}

}  // namespace wb::tune
