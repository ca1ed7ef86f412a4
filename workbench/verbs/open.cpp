// SPDX-License-Identifier: MIT
// `open`: begins a session (opening.hpp) from the arguments.
#include <fmt/format.h>

#include <utility>

#include "core/json.hpp"
#include "engine/context.hpp"
#include "engine/floors.hpp"
#include "engine/settings.hpp"
#include "engine/subject.hpp"
#include "engine/timing.hpp"
#include "session/storage.hpp"
#include "verbs/answer_forms.hpp"
#include "verbs/arguments.hpp"
#include "verbs/opening.hpp"
#include "verbs/suite_selection.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

using engine::cannot_show_text;
using engine::Context;
using engine::Objective;
using engine::ObjectiveRule;
using engine::parse_objective_rule;
using engine::plan_and_regime;
using engine::SessionSettings;
using engine::settings_from_json;
using engine::Subject;

namespace {

/// PyTorch's backends for this device.
std::vector<std::string> default_rivals(const Context& context, const std::string& backend) {
  std::vector<std::string> rivals;
  for (const auto& entry : context.catalogue.list()) {
    if (!entry.name.starts_with("torch_")) continue;
    const auto variant = context.catalogue.find(entry.name);
    if (variant.ok() && variant::runs_on_gpu(variant->manifest) == (backend == "cuda")) {
      rivals.push_back(entry.name);
    }
  }
  return rivals;
}

/// The backend of the start, unless the arguments name one.
std::string backend_of(const Context& context, const Json& args, const std::string& start) {
  if (args.contains("backend")) return args["backend"].get<std::string>();
  const auto variant = context.catalogue.find(start);
  return variant.ok() && variant::runs_on_gpu(variant->manifest) ? "cuda" : "cpu";
}

/// The predecessor's suite, with held-out problems and weights, unless another is named.
Result<problem::Suite> suite_of(Context& context, const Json& args,
                                const std::optional<Predecessor>& before) {
  if (!before || args.contains("suite") || args.contains("problem")) {
    return suite_from_arguments(context, args);
  }
  WB_TRY_ASSIGN(SessionSettings settings, settings_from_json(before->opened));
  return std::move(settings.suite);
}

Result<void> check_start(Context& context, const Json& args,
                         const std::optional<Predecessor>& before) {
  if (before && args.contains("start")) {
    return Error{ErrorCode::usage, "open a session with", "start and after",
                 "a session goes on from its predecessor's incumbent", "give one of the two"};
  }
  if (before) return {};
  if (!args.contains("start")) {
    return Error{ErrorCode::usage, "open a session", "without a start",
                 "neither a kernel nor a session to go on from was named",
                 "give --start KERNEL (see `sdpa-wb kernels`) or --after SESSION"};
  }
  WB_TRY(context.catalogue.find(args["start"].get<std::string>()));
  return {};
}

/// Where commits go, if not to a repository in the folder: a path relative to the folder, so that
/// no absolute path is committed and both can be moved together.
Result<Json> repository_of(const Json& args, const fs::path& folder) {
  if (args.contains("repo") != args.contains("branch")) {
    return Error{ErrorCode::usage, "open a session with",
                 args.contains("repo") ? "repo alone" : "branch alone",
                 "a repository and a branch of it belong together",
                 "give --repo PATH and --branch NAME"};
  }
  if (!args.contains("repo")) return Json(nullptr);
  const fs::path repo = session::whole_path(args["repo"].get<std::string>());
  const std::string path = repo.lexically_relative(session::whole_path(folder)).string();
  if (as_logged(path) != path) {
    return Error{ErrorCode::usage, "commit to the repository", repo.string(),
                 "its path is not UTF-8, and the session's log could not keep it",
                 "rename the folder, or name it by a link"};
  }
  return Json{{"path", path}, {"branch", args["branch"]}};
}

Result<Json> make_identity(Context& context, const Json& args, const fs::path& folder,
                           const std::optional<Predecessor>& before) {
  WB_TRY(check_start(context, args, before));
  WB_TRY_ASSIGN(const problem::Suite suite, suite_of(context, args, before));
  const std::string start = before ? before->label : args["start"].get<std::string>();
  Objective objective;
  objective.rule = *parse_objective_rule(args.value("objective", "geomean_speedup"));
  WB_TRY_ASSIGN(std::tie(objective.plan, objective.regime), plan_and_regime(args));
  objective.min_speedup = args.value("min_speedup", 0.0);
  objective.problem = args.value("objective_problem", "");
  if (objective.rule == ObjectiveRule::one_problem) {
    const bool known =
        std::any_of(suite.problems.begin(), suite.problems.end(),
                    [&](const auto& m) { return label(m.problem) == objective.problem; });
    if (!known) {
      return Error{ErrorCode::usage, "open a session with", "objective one_problem",
                   fmt::format("\"{}\" is not a problem of the suite", objective.problem),
                   "give objective_problem one of the suite's problem names"};
    }
  }
  const std::string backend = backend_of(context, args, start);
  auto rivals = args.contains("rivals") ? args["rivals"].get<std::vector<std::string>>()
                                        : default_rivals(context, backend);
  if (rivals == std::vector<std::string>{"none"}) rivals.clear();
  for (const std::string& rival : rivals) WB_TRY(context.catalogue.find(rival));
  Json identity = identity_of(context, args, folder, {start, suite, objective, backend, rivals});
  if (args.contains("goal")) {
    WB_TRY(add_goals(context.services, args["goal"].get<std::string>(), identity));
  }
  if (args.value("list_prices", "shipped") == "none") identity["list_prices"] = nullptr;
  if (args.contains("planned_minutes")) identity["planned_minutes"] = args["planned_minutes"];
  WB_TRY_ASSIGN(const Json repository, repository_of(args, folder));
  if (!repository.is_null()) identity["repository"] = repository;
  if (before) {
    identity["start"] = {{"variant_id", before->variant.id},
                         {"configuration", variant::to_json(before->configuration)}};
    identity["series"] = {{"number", before->sessions.size() + 1},
                          {"task_sha256", task_hash(identity)},
                          {"sessions", before->sessions}};
  }
  return identity;
}

Result<Json> open_body(Context& context, const Json& given_args, const fs::path& given) {
  const auto on_opened =
      std::exchange(context.on_opened, nullptr);  // cleared also when this call fails
  if (context.session) {
    return Error{ErrorCode::usage, "open a session in", given.string(),
                 "this process already holds one", "close it first"};
  }
  const fs::path folder =
      given.empty() ? session::next_session_folder(context.services.sessions_root) : given;
  std::optional<Predecessor> before;
  if (given_args.contains("after")) {
    WB_TRY_ASSIGN(before, read_predecessor(context.services, given_args["after"]));
  }
  const Json args = before ? with_defaults_of(*before, given_args) : given_args;
  WB_TRY_ASSIGN(const Json identity, make_identity(context, args, folder, before));
  WB_TRY_ASSIGN(Json rows, begin_session(context, identity, folder,
                                         before ? &before->variant : nullptr, on_opened));
  Json rivals = Json::array();
  for (const Subject& rival : context.rivals) rivals.push_back(rival.label);
  return Json{{"session", folder.string()},
              {"incumbent", context.incumbent->label},
              {"baseline", std::move(rows)},
              {"cannot_show", cannot_show(context)},
              {"cannot_show_text", cannot_show_text(cannot_show(context))},
              {"rivals", std::move(rivals)}};
}

std::string open_text(const Json& answer) {
  return rows_of(answer["baseline"], {"problem", "plan", "start_us", "rivals_us", "message"}) +
         answer.value("cannot_show_text", "") + cell(answer["session"]) + "\n";
}

}  // namespace

const Verb& verb_open() {
  static const Verb verb{
      .spec =
          {.name = "open",
           .doc =
               "open a session: record the environment, measure the noise floor and the baseline",
           .session = SessionNeed::creates,
           .arguments =
               {suite_argument(),
                problem_argument(),
                start_argument(),
                after_argument(),
                backend_argument(),
                rivals_argument(),
                title_argument(),
                repo_argument(),
                branch_argument(),
                choice_argument("objective", "the rule over the suite",
                                {"geomean_speedup", "weighted_time", "one_problem"}),
                string_argument("objective_problem",
                                "the problem's name, for the rule one_problem"),
                plan_argument(),
                regime_argument(),
                real_argument("min_speedup",
                              "guard: no problem may fall below this speedup over the incumbent")
                    .in("ratio")
                    .between(0, 100),
                effort_argument(),
                budget_evaluations_argument(),
                budget_wall_argument(),
                budget_usd_argument(),
                planned_minutes_argument(),
                goal_argument(),
                integer_argument("plateau", "stop after so many iterations in a row without a win")
                    .in("iterations")
                    .between(1, 1e6),
                integer_argument("equal_failures", "stop after so many equal failures in a row")
                    .in("iterations")
                    .between(1, 1e6),
                real_argument("compile_cpu_usd_per_hour", "price of one hour of compiler CPU")
                    .in("USD/h")
                    .between(0, 1e6),
                real_argument("device_usd_per_hour", "price of one hour of device")
                    .in("USD/h")
                    .between(0, 1e6),
                real_argument("token_usd_per_million", "price of one million agent tokens")
                    .in("USD")
                    .between(0, 1e6),
                list_prices_argument()},
           .result = {{"session", "string: the session's folder"},
                      {"incumbent", "string: label of the starting variant"},
                      {"baseline",
                       "list: per problem the medians (us) of start and rivals (null where nothing "
                       "was measured; message says why)"},
                      {"cannot_show",
                       "list: per problem the gain (cannot_show_frac) below which a confirmation "
                       "shows nothing, and why its noise floor cannot serve (unfit, or empty)"},
                      {"cannot_show_text", "string: the same for people"},
                      {"rivals", "list: names of the rivals that passed"}},
           .is_long = true,
           .in_playbook = false},
      .body = [](const Call& call) { return open_body(call.context, call.args, call.folder); },
      .text = open_text};
  return verb;
}

}  // namespace wb::verbs
