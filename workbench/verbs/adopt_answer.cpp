// SPDX-License-Identifier: MIT
#include "verbs/adopt_answer.hpp"

#include <fmt/format.h>

#include "core/json.hpp"
#include "core/json_fields.hpp"
#include "verbs/rules.hpp"

namespace wb::verbs {

using catalogue::DispatchRule;
using problem::SuiteProblem;

namespace {

/// "0.512x cpu_unfused, slower [e40]"
std::string text_of_figure(const Json& figure) {
  const auto speedup = number_of(figure, "speedup");
  return fmt::format("{} {}, {} [e{}]", speedup ? fmt::format("{:.3f}x", *speedup) : "no figure,",
                     text_of(figure, "against"), text_of(figure, "outcome"),
                     figure["event"].get<std::int64_t>());
}

}  // namespace

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

}  // namespace wb::verbs
