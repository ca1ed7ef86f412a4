// SPDX-License-Identifier: MIT
// `dispatch adopt`: a shipped rule was proved on one device with one compiler, and code from
// another compiler was not judged. This verb builds, judges and times it here once, in a session
// below the user's data folder, where `best` finds it.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/json.hpp"
#include "core/json_fields.hpp"
#include "engine/closing.hpp"
#include "engine/context.hpp"
#include "engine/services.hpp"
#include "engine/worker.hpp"
#include "session/storage.hpp"
#include "verbs/answer_forms.hpp"
#include "verbs/arguments.hpp"
#include "verbs/opening.hpp"
#include "verbs/rules.hpp"
#include "verbs/suite_selection.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

using catalogue::DispatchRule;
using engine::Context;
using engine::Services;
using problem::Suite;
using problem::SuiteProblem;
using session::FoldDepth;
using session::SessionView;
using variant::Variant;

namespace {

/// "0.512x cpu_unfused, slower [e40]"
std::string text_of_figure(const Json& figure) {
  const auto speedup = number_of(figure, "speedup");
  return fmt::format("{} {}, {} [e{}]", speedup ? fmt::format("{:.3f}x", *speedup) : "no figure,",
                     text_of(figure, "against"), text_of(figure, "outcome"),
                     figure["event"].get<std::int64_t>());
}

/// One problem's row of the answer. `at`: index of the rule in the table, from 0.
Json adopt_row(const DispatchRule& rule, std::size_t at, const SuiteProblem& member,
               std::string_view outcome, const std::string& reason) {
  return Json{{"rule", at + 1},
              {"variant", rule.variant},
              {"configuration", variant::to_json(rule.configuration)},
              {"problem", problem::to_text(member.problem)},
              {"outcome", outcome},
              {"reason", reason},
              {"session", nullptr},
              {"artifact_id", nullptr},
              {"figures", Json::array()}};
}

/// The hot comparisons of a session's baseline with each rival.
Json adopt_figures(const session::SessionView& view) {
  Json figures = Json::array();
  for (const session::Fact& fact : view.iterations.front().comparisons) {
    const Json& made = fact.payload;
    if (text_of(made, "role") != "rival" || text_of(made, "plan") != "hot") continue;
    if (member_of(made, "problem").is_null()) continue;
    Json figure{{"event", fact.seq}};
    for (const char* key : {"problem", "against", "speedup", "interval", "outcome"}) {
      figure[key] = member_of(made, key);
    }
    figures.push_back(std::move(figure));
  }
  return figures;
}

/// The closing reason of a trial session; its first word is the outcome, adopted or declined.
std::string adopt_reason(const Json& figures) {
  std::string open;
  for (const Json& figure : figures) {
    const std::string outcome = text_of(figure, "outcome");
    if (outcome == "slower") return fmt::format("{} here: {}", k_declined, text_of_figure(figure));
    if (outcome == "faster" || outcome == "same") continue;
    open += (open.empty() ? "" : ", ") + text_of(figure, "against");
  }
  const std::string passed = fmt::format("{} here: it passed", k_adopted);
  if (figures.empty()) return passed + "; no rival could be timed beside it";
  if (!open.empty()) return passed + "; the comparison with " + open + " is undecided";
  return passed + ", and no rival is faster";
}

/// The rows as text for people.
std::string adopt_text(const Json& rows) {
  std::string text;
  for (const Json& row : rows) {
    const std::string outcome = row["outcome"];
    text += outcome == "none" ? std::string("no rule")
                              : fmt::format("rule {}, {}", row["rule"].get<std::size_t>(),
                                            row["variant"].get<std::string>());
    text += fmt::format(": {}\n  {}\n", outcome, row["problem"].get<std::string>());
    for (const Json& figure : row["figures"]) text += "  " + text_of_figure(figure) + "\n";
    text += "  " + row["reason"].get<std::string>() + "\n";
    if (row["session"].is_string()) text += "  " + row["session"].get<std::string>() + "\n";
  }
  return text;
}

/// What to try: one rule on one problem, so that problems are independent.
struct Trial {
  std::size_t rule = 0;  ///< its index in the table, from 0
  SuiteProblem member;
};

/// The rule to try for this problem: the first offered one that was not refused here, unless an
/// earlier rule already serves the problem; else the first refused one, since the user asks again.
/// Otherwise the row says why there is none.
Result<std::optional<std::size_t>> find_offer(Context& context, const Rules& loaded,
                                              const SuiteProblem& member,
                                              const std::string& backend, Json& rows) {
  std::string reasons;
  std::optional<std::size_t> refused;
  for (std::size_t at = 0; at + 1 < loaded.rules.size(); ++at) {
    const DispatchRule& rule = loaded.rules[at];
    const auto variant = context.catalogue.find(rule.variant);
    if (variant.ok() && to_string(variant->manifest.backend) != backend) continue;
    WB_TRY_ASSIGN(const bool is_taken, catalogue::takes(rule, member.problem));
    if (!is_taken) continue;
    WB_TRY_ASSIGN(const auto reason, obstacle(context, rule, member.problem));
    const std::string& device = context.worker->hello->device.name;
    const RuleProof proof =
        reason ? RuleProof{.proven = {}, .why_not = *reason}
               : prove(context, rule, loaded.table, Json::array(), member.problem, device);
    if (proof.is_offered && !proof.was_refused) return std::optional(at);
    if (proof.is_offered && !refused) refused = at;
    if (proof.proven) {
      Json row = adopt_row(rule, at, member, "served", "a recorded pass covers it");
      row["session"] = proof.proven->session;
      row["artifact_id"] = proof.proven->subject.artifact.id;
      rows.push_back(std::move(row));
      return std::optional<std::size_t>{};
    }
    reasons += fmt::format("; rule {}: {}", at + 1, proof.why_not);
  }
  if (refused) return refused;
  Json row = adopt_row(loaded.rules.back(), loaded.rules.size() - 1, member, "none",
                       "no rule is offered for it here" + reasons);
  rows.push_back(std::move(row));
  return std::optional<std::size_t>{};
}

/// The alternatives as kernels: a CPU rule's fallback, and PyTorch.
std::vector<std::string> rivals_of(const Context& context, const Rules& loaded,
                                   const DispatchRule& rule, const std::string& backend) {
  std::vector<std::string> wanted{"torch_default"};
  if (backend == "cpu") wanted = {loaded.rules.back().variant, "torch_cpu_sdpa"};
  std::erase_if(wanted, [&](const std::string& name) {
    return name == rule.variant || !context.catalogue.find(name).ok();
  });
  return wanted;
}

fs::path next_folder(const Services& services, const DispatchRule& rule) {
  const fs::path root = adopted_folder(services);
  for (int number = 1;; ++number) {
    fs::path folder = root / fmt::format("{}{:03}", adopted_name(rule), number);
    std::error_code error;
    if (!fs::exists(folder, error) && !session::is_session(folder)) return folder;
  }
}

/// Later calls see nothing of the session but the worker.
void let_go(Context& context, const std::string& backend) {
  context.let_go();
  context.settings.backend = backend;
}

/// True for errors of the variant, which are reported as outcomes.
bool is_of_the_variant(ErrorCode code) {
  return code == ErrorCode::compile || code == ErrorCode::wrong_result ||
         code == ErrorCode::limit || code == ErrorCode::invalid;
}

/// The first word of the reason is the outcome.
Result<Json> close_trial(Context& context, const std::string& reason) {
  return close_session(context, {{"reason", reason}});
}

/// A session for one rule: baseline, verdict, closing. The context holds none afterwards.
Result<Json> try_rule(Context& context, const Rules& loaded, const Trial& trial, const Json& args,
                      const std::string& backend) {
  const DispatchRule& rule = loaded.rules[trial.rule];
  WB_TRY_ASSIGN(const Variant variant, context.catalogue.find(rule.variant));
  WB_TRY(context.services.file_system.make_directories(adopted_folder(context.services)));
  const fs::path folder = next_folder(context.services, rule);
  const Opening opening{.start = rule.variant,
                        .suite = {.name = "adopted", .about = {}, .problems = {trial.member}},
                        .objective = {},
                        .backend = backend,
                        .rivals = rivals_of(context, loaded, rule, backend)};
  Json identity = identity_of(context,
                              {{"title", fmt::format("rule {} of {} here", trial.rule + 1,
                                                     loaded.table.filename().string())},
                               {"effort", args.value("effort", "quick")}},
                              folder, opening);
  identity["start"] = {{"variant_id", variant.id},
                       {"configuration", variant::to_json(rule.configuration)}};
  Json row = adopt_row(rule, trial.rule, trial.member, "adopted", "");
  const auto begun = begin_session(context, identity, folder, &variant);
  if (!begun) {
    Error error = begun.error();
    if (!context.session) return error;
    const bool is_busy = error.code == ErrorCode::environment;
    if (!is_busy && !is_of_the_variant(error.code)) return error;
    WB_TRY_ASSIGN(const SessionView failed, context.session->view(FoldDepth::brief));
    WB_TRY(abandon_in_flight(context, failed, error.cause));
    if (is_busy) {  // this session says nothing about the variant, so another one is tried next
                    // time
      WB_TRY(close_trial(context, "not measured: " + error.cause));
      error.next = "nothing is held against the rule: adopt it again";
      return error;
    }
    WB_TRY(close_trial(context, fmt::format("{} here: {}", k_failed, error.cause)));
    row["outcome"] = "failed";
    row["reason"] = error.message();
    row["session"] = folder.string();
    return row;
  }
  row["session"] = folder.string();
  row["artifact_id"] = context.incumbent->artifact.id;
  WB_TRY_ASSIGN(const SessionView measured, context.session->view(FoldDepth::full));
  row["figures"] = adopt_figures(measured);
  const std::string reason = adopt_reason(row["figures"]);
  row["outcome"] = reason.substr(0, reason.find(' '));
  row["reason"] = reason;
  WB_TRY(close_trial(context, reason));
  return row;
}

/// Errors: environment (there is no such device).
Result<void> need_device(Context& context, const std::string& backend) {
  context.worker->use_backend(backend);
  auto worker = context.worker->need();
  if (worker) return {};
  return Error{ErrorCode::environment, "ask for the device of", "this machine",
               worker.error().message, "run `sdpa-wb doctor`"};
}

/// Tries what is offered for the problems in the arguments.
Result<Json> adopt(Context& context, const Json& args) {
  const std::string backend = args.value("backend", "cpu");
  WB_TRY_ASSIGN(const Suite suite, suite_from_arguments(context, args));
  WB_TRY_ASSIGN(const Rules loaded, load_rules(context.services));
  WB_TRY(need_device(context, backend));
  const std::string device = context.worker->hello->device.name;
  Json rows = Json::array();
  std::vector<Trial> trials;
  for (const SuiteProblem& member : suite.problems) {
    WB_TRY_ASSIGN(const auto at, find_offer(context, loaded, member, backend, rows));
    if (!at) continue;
    trials.push_back({*at, member});
    trials.back().member.held_out = false;
  }
  for (const Trial& trial : trials) {
    Result<Json> row = try_rule(context, loaded, trial, args, backend);
    let_go(context, backend);
    if (!row) return row;
    rows.push_back(*std::move(row));
  }
  std::string text = adopt_text(rows);
  return Json{{"rules", std::move(rows)},
              {"device", device},
              {"table", loaded.table.string()},
              {"folder", adopted_folder(context.services).string()},
              {"text", std::move(text)}};
}

Result<Json> dispatch_adopt_body(Context& context, const Json& args) {
  if (context.session) {
    return Error{ErrorCode::usage, "adopt a rule in", "this process", "it holds a session",
                 "close it first: a rule is tried in a session of its own"};
  }
  if (context.services.data_root.empty()) {
    return Error{ErrorCode::usage, "adopt a rule for", "this user",
                 "neither XDG_DATA_HOME nor HOME says where the pass could be kept",
                 "set one of them"};
  }
  if (!args.contains("problem") && !args.contains("suite")) {
    return Error{ErrorCode::usage, "adopt a rule for", "no problem", "none was named",
                 "give --problem P or --suite NAME"};
  }
  // Restores the backend, so that the next verb uses the device it would have used.
  const std::string before = context.settings.backend;
  Result<Json> answer = adopt(context, args);
  context.worker->use_backend(before);
  return answer;
}

ExitCode dispatch_adopt_exit_code(const Json& answer) {
  for (const Json& row : answer["rules"]) {
    if (row.value("outcome", "") == "failed") return ExitCode::variant_failed;
  }
  return ExitCode::ok;
}

}  // namespace

const Verb& verb_dispatch_adopt() {
  static const Verb verb{
      .spec =
          {.name = "dispatch_adopt",
           .doc = "build, judge and time here what a dispatch rule offers, and keep the pass for "
                  "`best`",
           .arguments = {string_argument("problem",
                                         "one problem, such as 'B=1 Hq=8 Sq=512 D=64 f32'"),
                         string_argument(
                             "suite", "or problems of a suite: its name, or 'name:problem,pro*'"),
                         choice_argument("backend",
                                         "for which device of this machine (default: cpu)",
                                         {"cpu", "cuda"}),
                         choice_argument(
                             "effort", "how many processes, placements and rounds (default: quick)",
                             {"quick", "standard", "thorough"})},
           .result =
               {{"rules",
                 "list: per problem rule (its place in the table, from 1), variant, configuration, "
                 "problem, outcome (adopted, declined: a rival is faster, failed, served: it "
                 "passed before, none: no rule is offered), reason, session, artifact_id, figures "
                 "(problem, against, speedup, interval, outcome, event)"},
                {"device", "string: the device's name"},
                {"table", "string: the rules' file"},
                {"folder", "string: where sessions of adopted rules lie"},
                {"text", "string: the same for people"}},
           .is_long = true,
           .in_playbook = false},
      .body = [](const Call& call) { return dispatch_adopt_body(call.context, call.args); },
      .exit_code = dispatch_adopt_exit_code};
  return verb;
}

}  // namespace wb::verbs
