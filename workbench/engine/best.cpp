// SPDX-License-Identifier: MIT
// `best`: which variant the dispatch table chooses for a problem, and what proves it.
#include <fmt/format.h>

#include "engine/memory_verbs.hpp"
#include "engine/page_verbs.hpp"
#include "engine/proven.hpp"
#include "engine/recorded.hpp"
#include "variant/dispatch.hpp"

namespace wb {
namespace {

constexpr std::size_t k_table_max_bytes = 4u << 20;

/// The first kernels/dispatch.json of the search path.
Result<std::pair<DispatchTable, std::string>> load_table(const Services& services) {
  for (const fs::path& root : services.search_path.roots) {
    const fs::path path = root / "kernels" / "dispatch.json";
    std::error_code error;
    if (!fs::exists(path, error)) continue;
    WB_TRY_ASSIGN(const std::string text, services.file_system.read(path, k_table_max_bytes));
    WB_TRY_ASSIGN(DispatchTable table, parse_dispatch(text, path.string()));
    return std::pair{std::move(table), path.string()};
  }
  return Error{ErrorCode::not_found, "find", "kernels/dispatch.json",
               "no folder of the search path has it", "run in a checkout, or give --path DIR"};
}

/// The device's name: given, asked of the worker, or nothing when no rule names a device.
Result<std::string> device_name(Context& context, const Json& args, const DispatchTable& table) {
  if (args.contains("device")) return args["device"].get<std::string>();
  bool matters = false;
  for (const DispatchRule& rule : table.rules) matters = matters || !rule.device.empty();
  if (!matters) return std::string();
  auto worker = context.need_worker();
  if (!worker) {
    return Error{ErrorCode::environment, "ask for the device of", "this machine",
                 worker.error().message, "name it with --device"};
  }
  return context.hello->device.name;
}

bool is_same(const DispatchRule& a, const DispatchRule& b) {
  return a.device == b.device && a.when == b.when && a.dtypes == b.dtypes &&
         a.variant == b.variant && a.configuration == b.configuration &&
         a.artifact_id == b.artifact_id && a.session == b.session;
}

/// Why the rule's variant cannot serve, or nothing.
Result<std::optional<std::string>> obstacle(const Context& context, const DispatchRule& rule,
                                            const Problem& problem) {
  const auto variant = context.catalogue.find(rule.variant);
  if (!variant) return std::optional(variant.error().message());
  if (auto reason = unsupported_reason(variant->manifest, problem)) return reason;
  auto complete = complete_configuration(variant->manifest, rule.configuration);
  if (!complete) return std::optional(complete.error().message());
  WB_TRY_ASSIGN(const auto violated, violated_restriction(variant->manifest, *complete, &problem));
  if (!violated) return std::optional<std::string>{};
  return std::optional(fmt::format("the restriction \"{}\" does not hold", *violated));
}

/// Looks for a recorded pass of the rule's artifact that covers the problem: in the rule's own
/// session, which lies beside the table, then in `more`. Returns why there is none, or fills
/// `found`.
std::optional<std::string> unproven(Context& context, const DispatchRule& rule,
                                    const fs::path& table, const Json& more, const Problem& problem,
                                    std::optional<Proven>& found) {
  std::vector<std::string> folders;
  if (!rule.session.empty()) {
    folders.push_back((table.parent_path().parent_path() / rule.session).string());
  }
  for (const Json& folder : more) folders.push_back(folder.get<std::string>());
  std::string why = folders.empty() ? "no session proves it" : "";
  for (const std::string& folder : folders) {
    const auto session = open_recorded(context.services, folder);
    auto proven = session ? find_proven(context, *session, rule.variant, rule.configuration)
                          : Result<Proven>(session.error());
    std::optional<std::string> reason;
    if (!proven) {
      reason = proven.error().cause;
    } else if (folder == folders.front() && !rule.artifact_id.empty() &&
               proven->subject.artifact.id != rule.artifact_id) {
      reason = "its session's last pass is another artifact than the rule's";
    } else {
      reason = outside_of(*proven, problem);
    }
    if (!reason) {
      found = *std::move(proven);
      return std::nullopt;
    }
    why += (why.empty() ? "" : "; ") + folder_name(folder) + ": " + *reason;
  }
  return why;
}

Json proof_of(const Proven& proven) {
  return Json{{"variant", proven.subject.label},
              {"session", proven.session},
              {"artifact_id", proven.subject.artifact.id}};
}

std::string conditions(const DispatchRule& rule) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (!rule.device.empty()) add("device has \"" + rule.device + "\"");
  std::string dtypes;
  for (const Dtype dtype : rule.dtypes) {
    dtypes += (dtypes.empty() ? "" : " or ") + std::string(to_string(dtype));
  }
  if (!dtypes.empty()) add("dtype is " + dtypes);
  if (!rule.when.empty()) add(rule.when);
  return text.empty() ? "always (the fallback)" : text;
}

Json answer(const DispatchRule& rule, std::size_t number, bool is_fallback, Json passed_over,
            const std::string& table, const Problem& problem, const std::string& device) {
  const std::string configuration = to_text(rule.configuration);
  std::string text =
      fmt::format("{}{}{}\nrule {} of {}: {}\n", rule.variant, configuration.empty() ? "" : " ",
                  configuration, number, table, conditions(rule));
  text += rule.session.empty()
              ? fmt::format("proved by no session: it is the correct fallback{}\n",
                            number > 1 ? ", and no earlier rule takes this problem here" : "")
              : fmt::format("proved by session {}, artifact {}\n", rule.session, rule.artifact_id);
  for (const Json& skipped : passed_over) {
    text +=
        fmt::format("passed over: rule {}, {}: {}\n", skipped["rule"].get<std::size_t>(),
                    skipped["variant"].get<std::string>(), skipped["reason"].get<std::string>());
  }
  const auto or_null = [](const std::string& word) {
    return word.empty() ? Json(nullptr) : Json(word);
  };
  return Json{{"problem", to_text(problem)},
              {"device", or_null(device)},
              {"variant", rule.variant},
              {"configuration", to_json(rule.configuration)},
              {"artifact_id", or_null(rule.artifact_id)},
              {"session", or_null(rule.session)},
              {"rule", number},
              {"when", conditions(rule)},
              {"fallback", is_fallback},
              {"passed_over", std::move(passed_over)},
              {"table", table},
              {"proof", nullptr},
              {"text", text}};
}

}  // namespace

Result<Json> verb_best(Context& context, const Json& args) {
  WB_TRY_ASSIGN(const Problem problem, parse_problem(args["problem"].get<std::string>()));
  WB_TRY_ASSIGN(const auto loaded, load_table(context.services));
  const std::vector<DispatchRule>& rules = loaded.first.rules;
  WB_TRY_ASSIGN(const std::string device, device_name(context, args, loaded.first));
  const bool only_proven = args.value("proven", false) || args.contains("proofs");
  Json passed_over = Json::array();
  for (DispatchTable left = loaded.first; !left.rules.empty();) {
    WB_TRY_ASSIGN(const DispatchRule rule, choose(left, device, problem));
    std::size_t at = 0;  // choose() gives a copy: find where it stands
    while (!is_same(rules[at], rule)) ++at;
    const bool is_fallback = at + 1 == rules.size();
    WB_TRY_ASSIGN(auto reason, obstacle(context, rule, problem));
    std::optional<Proven> proven;
    if (!reason && only_proven) {
      reason = unproven(context, rule, loaded.second, args.value("proofs", Json::array()), problem,
                        proven);
    }
    if (!reason) {
      Json chosen =
          answer(rule, at + 1, is_fallback, std::move(passed_over), loaded.second, problem, device);
      if (proven) chosen["proof"] = proof_of(*proven);
      return chosen;
    }
    if (is_fallback) {
      std::string others;
      for (const Json& skipped : passed_over) {
        others += fmt::format("; rule {}: {}", skipped["rule"].get<std::size_t>(),
                              skipped["reason"].get<std::string>());
      }
      return Error{only_proven ? ErrorCode::not_found : ErrorCode::invalid, "choose a kernel for",
                   to_text(problem),
                   fmt::format("the fallback {} does not serve: {}{}", rule.variant, *reason,
                               only_proven ? others : ""),
                   only_proven ? "judge a variant here, in a session, and name it in proofs"
                               : "add a rule to " + loaded.second};
    }
    passed_over.push_back({{"rule", at + 1}, {"variant", rule.variant}, {"reason", *reason}});
    std::erase_if(left.rules, [&](const DispatchRule& item) { return is_same(item, rule); });
  }
  return Error{ErrorCode::invalid, "choose a kernel for", to_text(problem),
               "the dispatch table is empty", "end it with a fallback"};
}

}  // namespace wb
