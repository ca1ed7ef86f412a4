// SPDX-License-Identifier: MIT
// `diff`: what changed between two sessions. Times are never compared directly: each session's
// incumbent is expressed as a ratio to a rival that both measured beside it, and the ratios are
// compared.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/json.hpp"
#include "engine/worker.hpp"
#include "problem/suite.hpp"
#include "verbs/answer_forms.hpp"
#include "verbs/arguments.hpp"
#include "verbs/standings.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

using engine::changes_between;
using engine::circumstances_of;
using engine::Services;

namespace {

std::string figure(const Json& row, const char* key) {
  if (!row[key].is_number()) return "-";
  return fmt::format("{:.3f}x [{:.3f}, {:.3f}]", row[key].get<double>(),
                     row["interval"]["low"].get<double>(), row["interval"]["high"].get<double>());
}

std::string text_of_rival(const Json& item) {
  std::string text = fmt::format("\nratio to {}:\n", item["rival"].get<std::string>());
  const auto line = [&](const Json& row, const std::string& name) {
    text += fmt::format("  {:<14} {}", row["outcome"].get<std::string>(), name);
    if (row["change"].is_number()) text += ": " + figure(row, "change");
    if (row["before"].is_object() && row["before"]["speedup"].is_number() &&
        row["after"]["speedup"].is_number()) {
      text +=
          fmt::format(" (before {:.3f}x, after {:.3f}x)", row["before"]["speedup"].get<double>(),
                      row["after"]["speedup"].get<double>());
    }
    text += "\n";
  };
  if (item["suite"].is_object()) line(item["suite"], "the suite");
  for (const Json& row : item["problems"])
    line(row, problem::short_name(row["problem"].get<std::string>()));
  return text;
}

/// The result over all rivals: worse outweighs better, and a figure outweighs none.
struct Summary {
  std::string outcome = "not_comparable";
  std::int64_t regressions = 0;

  void add(const Json& item) {
    static constexpr std::array k_rank{"not_comparable", "same", "ambiguous", "better", "worse"};
    const auto rank = [](const std::string& word) {
      return std::find(k_rank.begin(), k_rank.end(), word) - k_rank.begin();
    };
    if (item["suite"].is_object()) {
      const auto word = item["suite"]["outcome"].get<std::string>();
      if (rank(word) > rank(outcome)) outcome = word;
    }
    std::int64_t worse = 0;
    for (const Json& row : item["problems"]) worse += row["outcome"] == "worse" ? 1 : 0;
    regressions = std::max(regressions, worse);
  }
};

std::string no_yardstick(const RecordedSide& before, const RecordedSide& after,
                         const std::vector<std::string>& reasons) {
  const auto names = [](const RecordedSide& side) {
    std::vector<std::string> list;
    for (const auto& [name, standings] : side.rivals) list.push_back(name);
    return list.empty() ? std::string("none") : fmt::format("{}", fmt::join(list, ", "));
  };
  if (!reasons.empty()) {
    return fmt::format("the rivals they share changed: {}", fmt::join(reasons, "; "));
  }
  return fmt::format(
      "no rival stands beside both incumbents on the {} plan (before: {}; after: {}); bare times "
      "of two sessions say nothing. Open sessions with the same --rivals, or `sdpa-wb compare` the "
      "two variants in one run",
      before.plan == after.plan ? before.plan : before.plan + " or " + after.plan, names(before),
      names(after));
}

Result<Json> diff_body(const Services& services, const Json& args) {
  const std::string plan = args.value("plan", "");
  WB_TRY_ASSIGN(const RecordedSide after,
                read_side(services, args["after"].get<std::string>(), plan));
  WB_TRY_ASSIGN(const RecordedSide before,
                read_side(services, args["before"].get<std::string>(), after.plan));
  const auto changes = changes_between(circumstances_of(before.view), circumstances_of(after.view));
  Json rivals = Json::array();
  std::vector<std::string> reasons, kept;
  Summary summary;
  for (const auto& [rival, standings] : after.rivals) {
    if (!before.rivals.contains(rival)) continue;
    const RivalChange change = rival_change(before, after, rival);
    if (!change.is_comparable) {
      reasons.push_back(change.words);
      continue;
    }
    if (!change.words.empty()) kept.push_back(change.words);
    rivals.push_back(compare_sides(before, after, rival));
    summary.add(rivals.back());
  }
  std::string message;
  if (rivals.empty()) {
    message = no_yardstick(before, after, reasons);
  } else if (!reasons.empty()) {
    message = fmt::format("left out: {}", fmt::join(reasons, "; "));
  } else if (summary.outcome == "not_comparable") {
    message = "what is recorded beside the shared rival has no interval over the suite";
  }
  for (const std::string& words : kept) message += (message.empty() ? "" : "; ") + words;
  std::string text = fmt::format(
      "{} -> {}: {}{}\n", before.view.incumbent, after.view.incumbent, summary.outcome,
      summary.regressions == 0 ? ""
                               : fmt::format(", {} problem{} worse", summary.regressions,
                                             summary.regressions == 1 ? "" : "s"));
  if (!message.empty()) text += message + "\n";
  text += changes.empty() ? "same circumstances\n" : "changed:\n" + to_lines(changes);
  for (const Json& item : rivals) text += text_of_rival(item);
  return Json{{"outcome", summary.outcome},
              {"regressions", summary.regressions},
              {"plan", after.plan},
              {"before", {{"session", args["before"]}, {"incumbent", before.view.incumbent}}},
              {"after", {{"session", args["after"]}, {"incumbent", after.view.incumbent}}},
              {"changes", to_json(changes)},
              {"rivals", std::move(rivals)},
              {"message", message},
              {"text", text}};
}

ExitCode diff_exit_code(const Json& answer) {
  const std::string outcome = answer.value("outcome", "");
  if (outcome == "not_comparable") return ExitCode::data;
  const bool is_worse = outcome == "worse" || answer.value("regressions", 0) > 0;
  return is_worse ? ExitCode::variant_failed : ExitCode::ok;
}

}  // namespace

const Verb& verb_diff() {
  static const Verb verb{
      .spec =
          {.name = "diff",
           .doc =
               "compare two sessions: what changed around them, and their ratios to a shared rival",
           .arguments = {id_argument("before",
                                     "a session's folder or archive, or its name in --sessions")
                             .required()
                             .positional(),
                         id_argument("after", "the session to judge by it").required().positional(),
                         choice_argument(
                             "plan",
                             "which timing (default: the plan of the second one's objective)",
                             {"hot", "cold", "eager"})},
           .result = {{"outcome", "string: better, worse, same, ambiguous or not_comparable"},
                      {"regressions", "int: problems that are worse"},
                      {"plan", "string: hot, cold or eager"},
                      {"before", "map: session, incumbent"},
                      {"after", "map: session, incumbent"},
                      {"changes", "list: what, before, after"},
                      {"rivals",
                       "list: per shared rival suite and problems with outcome, change (ratio of "
                       "the ratios), interval, before, after"},
                      {"message",
                       "string: why something cannot be compared, or what changed of a rival that "
                       "still can; or empty"},
                      {"text", "string: the same for people"}},
           .reads_only = true,
           .in_playbook = false},
      .body = [](const Call& call) { return diff_body(call.services, call.args); },
      .exit_code = diff_exit_code};
  return verb;
}

}  // namespace wb::verbs
