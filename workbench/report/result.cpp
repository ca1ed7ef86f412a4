// SPDX-License-Identifier: MIT
// The result: the incumbent beside what it replaced and beside every rival, as confirmed, and the
// confirmed steps that lead from the start to it.
#include <fmt/format.h>

#include "core/json.hpp"
#include "report/sections.hpp"

namespace wb::report {
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

/// The total speedup of one problem from the start to the incumbent. Nothing if a step has no
/// interval for it.
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
