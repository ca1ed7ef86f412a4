// SPDX-License-Identifier: MIT
#include "verbs/opening.hpp"

#include <fmt/format.h>

#include "core/json.hpp"
#include "engine/baseline.hpp"
#include "engine/context.hpp"
#include "engine/settings.hpp"
#include "engine/worker.hpp"
#include "session/storage.hpp"

namespace wb::verbs {

using engine::Context;
using engine::settings_from_json;
using engine::suite_json;
using session::Session;
using variant::Variant;

namespace {

template <typename T>
Json or_null(const Json& args, std::string_view key) {
  const auto found = args.find(key);
  return found == args.end() ? Json(nullptr) : Json(found->get<T>());
}

}  // namespace

std::string as_logged(const std::string& text) {
  const Json whole = Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace));
  return whole.get<std::string>();
}

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
  context.let_go();  // clears floors and settings of earlier calls
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

}  // namespace wb::verbs
