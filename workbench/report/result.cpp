// SPDX-License-Identifier: MIT
// Where the session began and where it ended.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/json.hpp"
#include "report/iteration_parts.hpp"
#include "report/session_sections.hpp"

namespace wb::report {

using session::Fact;

// The state before any change: the start beside its rivals, who the rivals are, and how much the
// same code differs from itself.

namespace {

constexpr std::size_t k_max_baselines = 60;

/// "6 processes, 12 turns"; empty when not recorded.
std::string floor_effort(const Fact& fact) {
  const auto instances = integer(fact.payload, "instances"), turns = integer(fact.payload, "turns");
  if (!instances || !turns) return {};
  return fmt::format("{} processes, {} turns", *instances, *turns);
}

/// One row per problem, one column per plan; of two measurements the later is shown.
std::string floor_table(const Facts& facts) {
  if (facts.view.noise_floors.empty()) {
    return "The A/A noise floor was not measured: small differences cannot be told from noise.\n\n";
  }
  std::map<std::string, std::map<std::string, const Fact*>> by_problem;
  std::vector<std::string> problems, plans;
  std::set<std::string> efforts;
  for (const Fact* fact : floors_in_use(facts)) {
    const std::string problem = text(fact->payload, "problem"), plan = text(fact->payload, "plan");
    if (!by_problem.contains(problem)) problems.push_back(problem);
    by_problem[problem][plan] = fact;
    if (std::find(plans.begin(), plans.end(), plan) == plans.end()) plans.push_back(plan);
    efforts.insert(floor_effort(*fact));
  }
  std::stable_sort(plans.begin(), plans.end(), [&](const auto& a, const auto& b) {
    return (a == facts.plan) > (b == facts.plan);
  });
  std::vector<std::string> header{"problem"};
  for (const std::string& plan : plans) {
    header.push_back(plan.empty() ? "every plan>" : inline_text(facts.plan_label(plan), 40) + ">");
  }
  Table table(header);
  for (std::size_t i = problems.size() > k_max_baselines ? problems.size() - k_max_baselines : 0;
       i < problems.size(); ++i) {
    const std::string& problem = problems[i];
    std::vector<std::string> cells{problem.empty() ? "every"
                                                   : inline_text(facts.title(problem), 60)};
    for (const std::string& plan : plans) {
      const auto found = by_problem[problem].find(plan);
      cells.push_back(
          found == by_problem[problem].end()
              ? "not measured"
              : percent(number(found->second->payload, "floor_frac")) +
                    (text(found->second->payload, "unfit").empty() ? "" : " (cannot serve)") +
                    cite(found->second->seq));
    }
    table.row(std::move(cells));
  }
  const std::string effort = efforts.size() == 1 ? *efforts.begin() : "";
  return fmt::format(
             "Noise floor: how far the same code differs from itself in fresh processes{}. A "
             "difference below it is noise.\n\n",
             effort.empty() ? effort : " (" + effort + ")") +
         table.str() + "\n";
}

/// The rivals that must not be compared, with the reason.
std::string rival_list(const Facts& facts) {
  if (facts.rivals.empty()) {
    return "No rival was measured: nothing here says how the start or the incumbent stands against "
           "PyTorch's SDPA.\n\n";
  }
  std::string out;
  for (const auto& [name, rival] : facts.rivals) {
    std::vector<std::int64_t> events{rival.built_seq};
    if (rival.version_seq != rival.built_seq) events.push_back(rival.version_seq);
    out += fmt::format("- rival {} ({}){}: ", code(rival.name, 60),
                       inline_text(rival.versions, 120), cite(events));
    if (!rival.built) {
      out += "**failed** to build: " + brief(facts.words(rival.failure), 200) +
             cite(rival.failure_seq) + "; it stands in no comparison.";
    } else if (!rival.failed.empty()) {
      out +=
          fmt::format("**failed** its verdict on {}: {}{}; its times there stand in no comparison.",
                      count(static_cast<std::int64_t>(rival.failed.size()), "problem"),
                      brief(facts.words(rival.failure), 200), cite(rival.failure_seq));
    } else if (rival.passed.empty() && !rival.refused.empty()) {
      out += "takes no problem of this session" + cite(rival.refusal_seq) +
             "; it stands in no comparison.";
    } else if (rival.passed.empty()) {
      out += "no verdict recorded; it stands in no comparison.";
    } else {
      out += fmt::format("passed its verdict on {}.",
                         count(static_cast<std::int64_t>(rival.passed.size()), "problem"));
      if (!rival.refused.empty()) {
        out += fmt::format(" It does not take {}{}.",
                           count(static_cast<std::int64_t>(rival.refused.size()), "problem"),
                           cite(rival.refusal_seq));
      }
    }
    out += "\n" + rival_kernels(facts, rival);
  }
  return out + "\n";
}

/// What the analyses say about the start's own times, if nothing was compared with it.
std::string start_times(const Facts& facts) {
  Table table({"problem", "plan", "start us>", "event"});
  for (const Fact& finding : facts.baseline->findings) {
    const Json& figures = field(finding.payload, "figures");
    const auto time_us = number(figures, "time_us");
    if (!time_us || !text(finding.payload, "analysis").starts_with("roofline")) continue;
    table.row({inline_text(facts.title(text(finding.payload, "problem")), 60),
               inline_text(facts.plan_label(text(figures, "plan")), 40), microseconds(time_us),
               ref(finding.seq)});
  }
  return table.empty() ? std::string() : table.str() + "\n";
}

}  // namespace

std::string baseline_section(const Page& page) {
  const Facts& facts = page.facts;
  std::string out = "## Baseline\n\n";
  if (facts.baseline == nullptr) return out + "Not measured.\n\n";
  out += rival_list(facts);
  const ComparisonIndex index(*facts.baseline);
  const std::string table = comparison_tables(facts, index, "start");
  if (table.empty()) {
    out += start_times(facts) + "The start " + code(facts.start, 60) +
           " was compared with nothing; its turns:" +
           (facts.baseline->turns.empty() ? std::string(" none") : cite(facts.baseline->turns)) +
           ".\n\n";
  } else {
    out += "The start " + code(facts.start, 60) + " against each rival, before any change.\n\n" +
           table;
  }
  return out + floor_table(facts);
}

// The result: the incumbent beside what it replaced and beside every rival, as confirmed, and the
// confirmed steps that lead from the start to it.

std::optional<Gain> problem_gain(const Page& page, const std::string& problem) {
  Gain product;
  product.ratio.value = product.ratio.low = product.ratio.high = 1;
  for (const ComparisonIndex& step : page.steps) {
    const Compared* part = step.find("", problem, page.facts.plan);
    const bool whole = part != nullptr && part->phase == "confirmation" && part->ratio.value &&
                       part->ratio.low && part->ratio.high && *part->ratio.low > 0;
    if (!whole) return std::nullopt;
    product.ratio.value = *product.ratio.value * *part->ratio.value;
    product.ratio.low = *product.ratio.low * *part->ratio.low;
    product.ratio.high = *product.ratio.high * *part->ratio.high;
    product.events.push_back(part->seq);
  }
  return product;
}

namespace {

/// Each confirmed factor, and the product.
std::string steps_table(const Page& page) {
  const Facts& facts = page.facts;
  Table table(
      {"iteration>", "variant", "speedup over the incumbent before>", "interval>", "event"});
  const auto exact = [](std::optional<double> value) {
    return value ? fixed(*value, k_step_decimals) : std::string("not recorded");
  };
  for (std::size_t i = 0; i < page.steps.size(); ++i) {
    const session::IterationView& win = *facts.wins[i];
    const Compared* figure = objective_figure(facts, page.steps[i], facts.plan);
    const bool confirmed = figure != nullptr && figure->phase == "confirmation";
    const Ratio step = confirmed ? figure->ratio : ratio(win.incumbent_changed->payload);
    table.row({fmt::format("{}", win.number), code(text(win.incumbent_changed->payload, "to"), 60),
               exact(step.value) + "x", "[" + exact(step.low) + ", " + exact(step.high) + "]",
               ref(confirmed ? figure->seq : win.incumbent_changed->seq)});
  }
  if (const auto total = gain(page, facts.plan)) {
    table.row({"", "**product**", exact(total->ratio.value) + "x",
               total->ratio.low
                   ? "[" + exact(total->ratio.low) + ", " + exact(total->ratio.high) + "]"
                   : "not known",
               ""});
  }
  return table.str() + "\n";
}

/// Amdahl's law over the problems' shares in a profile: 1 / (1 - sum of share (1 - 1 / speedup)).
/// Interval ends are combined with each other, which holds for any dependence. The gains are
/// relative to the session's start, so the figure is for a program that ran the start. Empty for a
/// suite without a profile.
std::string end_to_end(const Page& page) {
  double covered = 0, value = 0, low = 0, high = 0;
  std::vector<std::int64_t> events;
  std::string unknown;
  for (const SuiteEntry& entry : page.facts.suite) {
    if (!entry.share_frac) continue;
    covered += *entry.share_frac;
    const auto found = problem_gain(page, entry.problem);
    if (!found) {
      unknown += (unknown.empty() ? "" : ", ") + inline_text(page.facts.title(entry.problem), 60);
      continue;
    }
    value += *entry.share_frac * (1 - 1 / *found->ratio.value);
    low += *entry.share_frac * (1 - 1 / *found->ratio.low);
    high += *entry.share_frac * (1 - 1 / *found->ratio.high);
    events.insert(events.end(), found->events.begin(), found->events.end());
  }
  if (covered <= 0) return {};
  const std::string share =
      fmt::format("the suite is {:.2f} % of the profile's GPU span", 100 * covered);
  if (events.empty() || covered > 1 || value >= 1 || high >= 1) {
    return fmt::format("End to end: not known: {}{}.\n\n", share,
                       events.empty() ? ", and no problem has a confirmed figure"
                                      : ", in which its kernels overlap");
  }
  Ratio total;
  total.value = 1 / (1 - value);
  total.low = 1 / (1 - low);
  total.high = 1 / (1 - high);
  std::string out = fmt::format(
      "End to end: {} for a program that ran {} where the profile has its attention{}: {}, and by "
      "Amdahl's law all else is taken as it was. What was profiled may have run another kernel, "
      "which the incumbent was not compared with.",
      speedup(total), code(page.facts.start, 60), cite(events), share);
  if (!unknown.empty()) {
    out += fmt::format(" Without a confirmed figure, so counted as unchanged: {}.", unknown);
  }
  return out + "\n\n";
}

}  // namespace

std::string result_section(const Page& page) {
  const Facts& facts = page.facts;
  std::string out = "## Result\n\n";
  if (facts.wins.empty()) {
    return out + (facts.baseline == nullptr
                      ? "Nothing is measured yet.\n\n"
                      : "The incumbent is the start; the baseline above is where it stands.\n\n");
  }
  out += fmt::format(
      "The incumbent is {}{}, made in iteration {}. The figures are those of its confirmation: "
      "other samples than those it was selected by, from fresh processes.\n\n",
      incumbent_name(page), cite(facts.wins.back()->incumbent_changed->seq),
      facts.wins.back()->number);
  // The baseline's tables above explain the words.
  const bool is_explained = facts.baseline != nullptr && !facts.baseline->comparisons.empty();
  out += comparison_tables(facts, page.held, "incumbent", !is_explained);
  out += end_to_end(page);
  if (page.steps.size() < 2) return out;
  out += fmt::format(
      "Over the start {}: the confirmed steps multiplied, their intervals' ends likewise; "
      "incumbent "
      "and start were not measured side by side.\n\n",
      code(facts.start, 60));
  return out + steps_table(page);
}

}  // namespace wb::report
