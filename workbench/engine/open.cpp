// SPDX-License-Identifier: MIT
// `open`: identity, environment, baseline.
#include <fmt/format.h>
#include <sys/utsname.h>

#include <utility>

#include "core/hash.hpp"
#include "engine/context.hpp"
#include "engine/environment_changes.hpp"
#include "engine/floors.hpp"
#include "engine/opening.hpp"
#include "engine/series.hpp"
#include "engine/verb_bodies.hpp"
#include "session/storage.hpp"
#include "variant/compile_sandbox.hpp"

namespace wb::engine {

using session::Session;
using variant::Variant;

namespace {

template <typename T>
Json or_null(const Json& args, std::string_view key) {
  const auto found = args.find(key);
  return found == args.end() ? Json(nullptr) : Json(found->get<T>());
}

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

/// Where the start runs, unless the arguments say it.
std::string backend_of(const Context& context, const Json& args, const std::string& start) {
  if (args.contains("backend")) return args["backend"].get<std::string>();
  const auto variant = context.catalogue.find(start);
  return variant.ok() && variant::runs_on_gpu(variant->manifest) ? "cuda" : "cpu";
}

/// The predecessor's, held-out problems and weights included, unless another is named.
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

/// As the log keeps it: bytes that are not UTF-8 become U+FFFD.
std::string as_logged(const std::string& text) {
  const Json whole = Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace));
  return whole.get<std::string>();
}

/// Where the commits go, when not into a repository in the folder: the path from the folder, so
/// that no machine's paths are committed, and both can move together.
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
  WB_TRY_ASSIGN(std::tie(objective.plan, objective.regime), how_to_time(args));
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

}  // namespace

Json identity_of(const Context& context, const Json& args, const fs::path& folder,
                 const Opening& opening) {
  return Json{{"session", as_logged(session::whole_path(folder).filename().string())},
              {"title", args.value("title", fmt::format("{} on suite {}", opening.start,
                                                        opening.suite.name))},
              {"objective", to_json(opening.objective)},
              {"suite", suite_json(opening.suite)},
              {"backend", opening.backend},
              {"start_variant", opening.start},
              {"rivals", opening.rivals},
              {"rivals_asked_for", args.contains("rivals")},
              {"budget",
               {{"evaluations", or_null<std::int64_t>(args, "evaluations")},
                {"wall_s", or_null<double>(args, "wall_s")},
                {"usd", or_null<double>(args, "usd")}}},
              {"stop",
               {{"plateau", or_null<std::int64_t>(args, "plateau")},
                {"equal_failures", or_null<std::int64_t>(args, "equal_failures")}}},
              {"rates",
               {{"compile_cpu_usd_per_hour", or_null<double>(args, "compile_cpu_usd_per_hour")},
                {"device_usd_per_hour", or_null<double>(args, "device_usd_per_hour")},
                {"token_usd_per_million", or_null<double>(args, "token_usd_per_million")}}},
              {"effort", args.value("effort", "standard")},
              {"workbench_version", context.services.workbench_version},
              {"author", {{"name", "sdpa-wb"}, {"email", "sdpa-wb@localhost"}}}};
}

Result<Json> begin_session(Context& context, const Json& identity, const fs::path& folder,
                           const Variant* stored, const std::function<Result<void>()>& on_opened) {
  context.let_go();  // floors and settings of calls before it
  WB_TRY_ASSIGN(context.settings, settings_from_json(identity));
  WB_TRY_ASSIGN(const Json environment, environment_json(context));
  WB_TRY_ASSIGN(context.session, Session::create(context.services.file_system,
                                                 context.services.clock, folder, identity));
  if (stored != nullptr) WB_TRY(context.session->store_variant(stored->id, stored->files));
  context.started = context.services.clock.steady_now();
  WB_TRY(context.log("environment_recorded", environment));
  if (on_opened) WB_TRY(on_opened());
  return run_baseline(context, 0);
}

Result<Json> environment_json(Context& context) {
  auto worker = context.need_worker();
  if (!worker) {
    return Error{ErrorCode::environment, "start the worker for", "this session",
                 worker.error().message, "run `sdpa-wb doctor`"};
  }
  const Services& services = context.services;
  const bool with_nvcc = context.settings.backend == "cuda" && services.cuda_toolchain != nullptr;
  WB_TRY_ASSIGN(const variant::CompilerIdentity compiler,
                (with_nvcc ? services.cuda_toolchain : services.toolchain)->identity());
  const protocol::HelloResult& hello = *context.hello;
  utsname host{};
  uname(&host);
  Json environment{
      {"device", to_json(hello.device)},
      {"toolchain",
       {{"compiler", compiler.version},
        {"path", fs::path(compiler.path).filename().string()},
        {"target", services.build_options.target},
        {"sandbox", variant::compile_sandbox_word()}}},
      {"worker",
       {{"version", hello.worker_version},
        {"transport", (*worker)->description()},
        {"isolation", hello.isolation},
        {"python", hello.python.empty() ? "none" : "present"},
        {"threads", hello.threads}}},
      {"call_overhead_us", hello.empty_call_us},
      {"host", {{"os", std::string(host.sysname)}, {"kernel", std::string(host.release)}}}};
  if (hello.gpu) environment["gpu"] = to_json(*hello.gpu);
  if (hello.cpu_limits) {
    Json limits = to_json(*hello.cpu_limits);
    if (limits.contains("quota")) limits["quota"].erase("source");  // it may name a person
    environment["cpu_limits"] = std::move(limits);
  }
  return environment;
}

Result<std::vector<std::string>> environment_since_open(Context& context) {
  WB_TRY_ASSIGN(const session::SessionView view, context.session->view(session::FoldDepth::brief));
  if (!view.environment) return std::vector<std::string>{};
  WB_TRY_ASSIGN(const Json now, environment_json(context));
  std::vector<std::string> texts;
  for (const Change& change :
       changes_between(circumstances_of_environment(view.environment->payload),
                       circumstances_of_environment(now))) {
    if (change.what == "device" || change.what == "architecture") {
      return Error{
          ErrorCode::environment, "go on with", context.session->folder().string(),
          fmt::format("it was measured on {}, and this is {}", change.before, change.after),
          "go on there, or open a session of its own here: noise floors and baseline hold "
          "for one device"};
    }
    texts.push_back(fmt::format("{}: {} -> {}", change.what, change.before, change.after));
  }
  context.device_checked = true;
  return texts;
}

Result<Json> verb_open(Context& context, const Json& given_args, const fs::path& given) {
  const auto on_opened = std::exchange(context.on_opened, nullptr);  // also where this one fails
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

}  // namespace wb::engine
