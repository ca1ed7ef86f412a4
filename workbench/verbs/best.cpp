// SPDX-License-Identifier: MIT
// `best`: which variant the dispatch table chooses for a problem, and its proof.
#include <fmt/format.h>

#include <algorithm>

#include "core/json.hpp"
#include "engine/engine.hpp"
#include "engine/parts.hpp"
#include "engine/worker.hpp"
#include "verbs/arguments.hpp"
#include "verbs/fake_engine.hpp"
#include "verbs/proven.hpp"
#include "verbs/rules.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

using catalogue::DispatchRule;
using engine::Context;
using problem::Problem;

namespace {

/// The device's name: given, or from the worker; empty when no rule names a device.
Result<std::string> device_name(Context& context, const Json& args,
                                const std::vector<DispatchRule>& rules) {
  if (args.contains("device")) return args["device"].get<std::string>();
  const bool matters = std::any_of(rules.begin(), rules.end(),
                                   [](const DispatchRule& rule) { return !rule.device.empty(); });
  if (!matters) return std::string();
  auto worker = worker_of(context).need();
  if (!worker) {
    return Error{ErrorCode::environment, "ask for the device of", "this machine",
                 worker.error().message, "name it with --device"};
  }
  return worker_of(context).hello->device.name;
}

/// The request, which is the same for every rule.
struct Question {
  Problem problem;
  std::string device, table;
};

Json proof_of(const Proven& proven) {
  return Json{{"variant", proven.subject.label},
              {"session", proven.session},
              {"artifact_id", proven.subject.artifact.id}};
}

Json answer(const DispatchRule& rule, std::size_t number, bool is_fallback, Json passed_over,
            const Question& question) {
  const std::string configuration = variant::to_text(rule.configuration);
  std::string text =
      fmt::format("{}{}{}\nrule {} of {}: {}\n", rule.variant, configuration.empty() ? "" : " ",
                  configuration, number, question.table, conditions_of(rule));
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
  return Json{{"problem", problem::to_text(question.problem)},
              {"device", or_null(question.device)},
              {"variant", rule.variant},
              {"configuration", variant::to_json(rule.configuration)},
              {"artifact_id", or_null(rule.artifact_id)},
              {"session", or_null(rule.session)},
              {"rule", number},
              {"when", conditions_of(rule)},
              {"fallback", is_fallback},
              {"passed_over", std::move(passed_over)},
              {"table", question.table},
              {"proof", nullptr},
              {"text", text}};
}

Error no_choice(const Question& question, const std::string& fallback, const std::string& reason,
                const Json& passed_over, bool only_proven) {
  std::string others;
  for (const Json& skipped : passed_over) {
    others += fmt::format("; rule {}: {}", skipped["rule"].get<std::size_t>(),
                          skipped["reason"].get<std::string>());
  }
  return Error{only_proven ? ErrorCode::not_found : ErrorCode::invalid, "choose a kernel for",
               problem::to_text(question.problem),
               fmt::format("the fallback {} does not serve: {}{}", fallback, reason,
                           only_proven ? others : ""),
               only_proven ? "judge a variant here, in a session, and name it in proofs"
                           : "add a rule to " + question.table};
}

Result<Json> best_body(Context& context, const Json& args) {
  Question question;
  WB_TRY_ASSIGN(question.problem, problem::parse_problem(args["problem"].get<std::string>()));
  WB_TRY_ASSIGN(const Rules loaded, load_rules(services_of(context)));
  question.table = loaded.table.string();
  WB_TRY_ASSIGN(question.device, device_name(context, args, loaded.rules));
  const bool only_proven = args.value("proven", false) || args.contains("proofs");
  const Json more = args.value("proofs", Json::array());
  const bool can_adopt = !adopted_folder(services_of(context)).empty();
  Json passed_over = Json::array();
  for (std::size_t at = 0; at < loaded.rules.size(); ++at) {
    const DispatchRule& rule = loaded.rules[at];
    const bool is_here = catalogue::is_for_device(rule, question.device);
    if (!is_here && !only_proven) continue;
    WB_TRY_ASSIGN(const bool is_taken, catalogue::takes(rule, question.problem));
    if (!is_taken) continue;
    const bool is_fallback = at + 1 == loaded.rules.size();
    WB_TRY_ASSIGN(auto reason, obstacle(context, rule, question.problem));
    RuleProof proof;
    if (!reason && only_proven) {
      proof = prove(context, rule, loaded.table, more, question.problem, question.device);
      if (!proof.proven) reason = proof.why_not;
    }
    if (!reason) {
      Json chosen = answer(rule, at + 1, is_fallback, std::move(passed_over), question);
      if (proof.proven) {
        chosen["proof"] = proof_of(*proof.proven);
        chosen["text"] = chosen["text"].get<std::string>() + "a recorded pass covers it: session " +
                         proof.proven->session + "\n";
      }
      return chosen;
    }
    if (is_fallback) return no_choice(question, rule.variant, *reason, passed_over, only_proven);
    // A rule for another device counts only if it could be adopted here.
    if (!is_here && !proof.is_offered) continue;
    passed_over.push_back({{"rule", at + 1},
                           {"variant", rule.variant},
                           {"reason", *reason},
                           {"offered", can_adopt && proof.is_offered && !proof.was_refused}});
  }
  return Error{ErrorCode::invalid, "choose a kernel for", problem::to_text(question.problem),
               "the dispatch table is empty", "end it with a fallback"};
}

/// Answers from the rules without asking a worker for the device.
Result<Json> best_sample(FakeEngine& fake, const Json& args) {
  Json asked = args;
  if (!asked.contains("device")) asked["device"] = "dry run";
  return fake.engine().call("best", asked);
}

}  // namespace

const Verb& verb_best() {
  static const Verb verb{
      .spec = {.name = "best",
               .doc = "which variant the dispatch rules choose for a problem, and what proves it",
               .arguments =
                   {string_argument("problem",
                                    "one problem, such as 'B=1 Hq=8 Sq=512 D=64 f16 causal=none'")
                        .required(),
                    string_argument(
                        "device", "the device's name (default: this machine's, when a rule asks)"),
                    flag_argument(
                        "proven",
                        "only what can be loaded here and whose recorded passes cover the problem"),
                    ids_argument(
                        "proofs",
                        "sessions beside the rules' own whose passes count; means --proven")},
               .result = {{"problem", "string: its text form"},
                          {"device", "string or null: the name that the rules saw"},
                          {"variant", "string: kernel name"},
                          {"configuration", "map: tunable parameters"},
                          {"artifact_id", "string or null: of the recorded pass"},
                          {"session", "string or null: that proved it"},
                          {"rule", "int: its place in the table, from 1"},
                          {"when", "string: its conditions"},
                          {"fallback", "bool: it is the last rule"},
                          {"passed_over",
                           "list: rule, variant, reason of rules that could not serve, and whether "
                           "one is offered here (dispatch adopt)"},
                          {"table", "string: the file"},
                          {"proof",
                           "map or null: of proven ones variant (label), session and artifact_id"},
                          {"text", "string: the same for people"}},
               .reads_only = true},
      .body = [](const Call& call) { return best_body(call.context, call.args); },
      .sample = best_sample};
  return verb;
}

}  // namespace wb::verbs
