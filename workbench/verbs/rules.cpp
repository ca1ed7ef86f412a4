// SPDX-License-Identifier: MIT
#include "verbs/rules.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/hash.hpp"
#include "core/json.hpp"
#include "engine/parts.hpp"
#include "engine/recorded.hpp"
#include "engine/services.hpp"
#include "engine/settings.hpp"
#include "engine/subject.hpp"
#include "engine/worker.hpp"
#include "session/storage.hpp"
#include "variant/restriction.hpp"
#include "variant/variant.hpp"
#include "verbs/proven.hpp"

namespace wb::verbs {

using catalogue::DispatchRule;
using catalogue::DispatchTable;
using engine::Context;
using engine::member_of;
using engine::Services;
using engine::settings_from_json;
using engine::text_of;
using problem::Problem;
using session::FoldDepth;
using session::SessionView;
using variant::Backend;
using variant::Manifest;
using variant::Toolchain;

namespace {

constexpr std::size_t k_table_max_bytes = 4u << 20;

/// True when this machine has a compiler for the variant's language.
bool can_build(const Context& context, const Manifest& manifest) {
  const Toolchain* toolchain = toolchain_of(services_of(context), manifest.backend);
  return toolchain != nullptr && toolchain->identity().ok();
}

/// The architecture of a GPU with that name: "sm_90".
std::string gpu_architecture(const Context& context, const std::string& device) {
  if (worker_of(context).hello && worker_of(context).hello->device.name == device &&
      worker_of(context).hello->device.backend == "cuda") {
    return worker_of(context).hello->device.architecture;
  }
  const auto known = device::known_gpu(device);
  return known && known->backend == "cuda" ? known->architecture : std::string();
}

bool is_gpu_name(const std::string& device) {
  return device::known_gpu(device).has_value() || device.find("NVIDIA") != std::string::npos;
}

/// True when a device with another name than the rule's is of a kind that the variant supports.
bool is_of_its_kind(const Context& context, const Manifest& manifest, const std::string& device) {
  if (manifest.backend == Backend::python || device.empty()) return false;
  if (manifest.backend == Backend::cpu) return !is_gpu_name(device);
  const std::string architecture = gpu_architecture(context, device);
  return !architecture.empty() &&
         std::any_of(manifest.architectures.begin(), manifest.architectures.end(),
                     [&](const std::string& one) {
                       return one == architecture || one == architecture + "a";
                     });
}

/// The result of a session of `dispatch adopt` on the problem.
struct Adopted {
  std::optional<Proven> proven;
  std::string why_not;
  bool is_stale = false;    ///< it passed here with another compiler's build
  bool is_refused = false;  ///< it was slower or failed there
  bool is_exact = false;    ///< the session was opened for exactly this problem
};

/// Compared without names, since a suite's problem has a name and a requested one has none.
bool is_opened_for(const SessionView& view, const Problem& problem) {
  const auto settings = settings_from_json(view.opened.payload);
  const std::string text = problem::to_text(problem);
  return settings.ok() &&
         std::any_of(settings->suite.problems.begin(), settings->suite.problems.end(),
                     [&](const auto& member) { return problem::to_text(member.problem) == text; });
}

/// True when the session's build is by the compiler on this machine.
bool is_by_this_compiler(const Context& context, const SessionView& view) {
  if (!view.environment) return false;
  const Toolchain* toolchain = toolchain_of(
      services_of(context),
      text_of(view.opened.payload, "backend") == "cuda" ? Backend::cuda : Backend::cpu);
  if (toolchain == nullptr) return false;
  const auto here = toolchain->identity();
  const std::string there = text_of(member_of(view.environment->payload, "toolchain"), "compiler");
  return here.ok() && here->version == there;
}

Adopted look_into(Context& context, const fs::path& folder, const DispatchRule& rule,
                  const Problem& problem, const std::string& device) {
  const auto session = open_recorded(services_of(context), folder.string());
  if (!session) return {.proven = {}, .why_not = session.error().message()};
  const auto view = session->view(FoldDepth::full);
  if (!view) return {.proven = {}, .why_not = view.error().message()};
  const std::string reason = view->closed ? text_of(view->closed->payload, "reason") : "";
  const std::string there =
      view->environment ? text_of(member_of(view->environment->payload, "device"), "name") : "";
  if (!device.empty() && there != device) return {};
  const bool is_exact = is_opened_for(*view, problem);
  if (reason.starts_with(k_declined) || reason.starts_with(k_failed)) {
    // Another compiler makes other code, which was not tried.
    if (!is_exact || !is_by_this_compiler(context, *view)) return {};
    return {.proven = {}, .why_not = reason, .is_refused = true, .is_exact = true};
  }
  if (!reason.starts_with(k_adopted)) return {};
  auto proven = find_proven(context, *session, rule.variant, rule.configuration);
  if (!proven) {
    return {.proven = {},
            .why_not = proven.error().cause,
            .is_stale = proven.error().code == ErrorCode::environment};
  }
  if (auto outside = outside_domain(*proven, problem)) {
    return {.proven = {}, .why_not = *std::move(outside)};
  }
  return {.proven = *std::move(proven), .why_not = {}, .is_exact = is_exact};
}

void add_reason(std::string& reasons, const std::string& where, const std::string& why) {
  reasons += (reasons.empty() ? "" : "; ") + where + ": " + why;
}

/// Sessions of `dispatch adopt` for this rule, newest first. Errors: io.
Result<std::vector<fs::path>> adopted_for(const Services& services, const DispatchRule& rule) {
  std::vector<fs::path> folders;
  const fs::path root = adopted_folder(services);
  if (root.empty()) return folders;
  auto found = session::find_sessions(root);
  if (!found && found.error().code == ErrorCode::not_found) return folders;
  if (!found) return std::move(found).error();
  for (const fs::path& folder : *found) {
    if (session::listed_name(folder).starts_with(adopted_name(rule))) folders.push_back(folder);
  }
  std::reverse(folders.begin(), folders.end());
  return folders;
}

std::string offer(const Manifest& manifest, const Problem& problem) {
  return fmt::format(
      "; offered: `sdpa-wb dispatch adopt --problem '{}'{}` builds, checks and times "
      "it here",
      problem::to_text(problem), manifest.backend == Backend::cuda ? " --backend cuda" : "");
}

}  // namespace

Result<Rules> load_rules(const Services& services) {
  for (const fs::path& root : services.search_path.roots) {
    const fs::path path = root / "kernels" / "dispatch.json";
    std::error_code error;
    if (!fs::exists(path, error)) continue;
    WB_TRY_ASSIGN(const std::string text, services.file_system.read(path, k_table_max_bytes));
    WB_TRY_ASSIGN(DispatchTable table, catalogue::parse_dispatch(text, path.string()));
    return Rules{std::move(table.rules), path};
  }
  return Error{ErrorCode::not_found, "find", "kernels/dispatch.json",
               "no folder of the search path has it", "run in a checkout, or give --path DIR"};
}

Result<std::optional<std::string>> obstacle(const Context& context, const DispatchRule& rule,
                                            const Problem& problem) {
  const auto variant = catalogue_of(context).find(rule.variant);
  if (!variant) return std::optional(variant.error().message());
  if (auto reason = variant::unsupported_reason(variant->manifest, problem)) return reason;
  auto complete = variant::complete_configuration(variant->manifest, rule.configuration);
  if (!complete) return std::optional(complete.error().message());
  WB_TRY_ASSIGN(const auto violated,
                variant::violated_restriction(variant->manifest, *complete, &problem));
  if (!violated) return std::optional<std::string>{};
  return std::optional(fmt::format("the restriction \"{}\" does not hold", *violated));
}

RuleProof prove(Context& context, const DispatchRule& rule, const fs::path& table, const Json& more,
                const Problem& problem, const std::string& device) {
  RuleProof proof;
  const auto variant = catalogue_of(context).find(rule.variant);
  const bool is_here = catalogue::is_for_device(rule, device);
  const bool may_build = variant.ok() && can_build(context, variant->manifest);
  const std::size_t own = is_here && !rule.session.empty() ? 1 : 0;
  std::vector<std::string> folders;
  if (own == 1) folders.push_back(session_of(rule, table).string());
  if (is_here) {
    for (const Json& folder : more) folders.push_back(folder.get<std::string>());
  } else {
    proof.why_not = fmt::format("it is for a device called \"{}\"", rule.device);
    proof.is_offered = may_build && is_of_its_kind(context, variant->manifest, device);
  }
  for (std::size_t i = 0; i < folders.size(); ++i) {
    const auto session = open_recorded(services_of(context), folders[i]);
    auto proven = session ? find_proven(context, *session, rule.variant, rule.configuration,
                                        i < own ? rule.artifact_id : std::string())
                          : Result<Proven>(session.error());
    std::optional<std::string> reason;
    if (!proven) {
      reason = proven.error().cause;
      proof.is_offered |= i < own && may_build && proven.error().code == ErrorCode::environment;
    } else if (i < own && !rule.artifact_id.empty() &&
               proven->subject.artifact.id != rule.artifact_id) {
      reason = "its session's pass is of another artifact than the rule's";
    } else {
      reason = outside_domain(*proven, problem);
    }
    if (!reason) return {.proven = *std::move(proven), .why_not = {}};
    add_reason(proof.why_not, session::session_name(folders[i]), *reason);
  }
  const auto tried = adopted_for(services_of(context), rule);
  if (!tried) add_reason(proof.why_not, "what was adopted here", tried.error().message());
  std::optional<Proven> covering;
  for (const fs::path& folder : tried ? *tried : std::vector<fs::path>{}) {
    Adopted adopted = look_into(context, folder, rule, problem, device);
    if (adopted.proven && !adopted.is_exact) {
      if (!covering) covering = std::move(adopted.proven);
      continue;
    }
    if (adopted.proven) return {.proven = std::move(adopted.proven), .why_not = {}};
    if (adopted.why_not.empty()) continue;
    add_reason(proof.why_not, session::listed_name(folder), adopted.why_not);
    proof.is_offered |= adopted.is_stale && may_build;
    proof.was_refused = adopted.is_refused;
    // The newest trial of exactly this problem decides, whatever trials of larger ones say.
    if (adopted.is_refused) break;
  }
  if (covering && !proof.was_refused) return {.proven = std::move(covering), .why_not = {}};
  if (proof.why_not.empty()) proof.why_not = "no session proves it";
  const bool has_place = !adopted_folder(services_of(context)).empty();
  if (proof.is_offered && !proof.was_refused && has_place) {
    proof.why_not += offer(variant->manifest, problem);
  }
  return proof;
}

fs::path adopted_folder(const Services& services) {
  return services.data_root.empty() ? fs::path() : services.data_root / "adopted";
}

std::string adopted_name(const DispatchRule& rule) {
  return fmt::format("{}-{}-", rule.variant, short_hash(rule.artifact_id));
}

fs::path session_of(const DispatchRule& rule, const fs::path& table) {
  return table.parent_path().parent_path() / rule.session;
}

std::string conditions_of(const DispatchRule& rule) {
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

}  // namespace wb::verbs
