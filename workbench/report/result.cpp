// SPDX-License-Identifier: MIT
// The result: the incumbent beside what it replaced and beside every rival, as confirmed, and the
// confirmed steps that lead from the start to it.
#include <fmt/format.h>

#include "report/sections.hpp"

namespace wb::page {
namespace {

/// Each confirmed step as it is multiplied, and the product.
std::string steps_table(const Page& page) {
  const Facts& facts = page.facts;
  Table table(
      {"iteration>", "variant", "speedup over the incumbent before>", "interval>", "event"});
  const auto exact = [](std::optional<double> value) {
    return value ? fixed(*value, k_step_decimals) : std::string("not recorded");
  };
  for (std::size_t i = 0; i < page.steps.size(); ++i) {
    const IterationView& win = *facts.wins[i];
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
  // The baseline's tables above say what the words mean.
  const bool is_explained = facts.baseline != nullptr && !facts.baseline->comparisons.empty();
  out += comparison_tables(facts, page.held, "incumbent", !is_explained);
  if (page.steps.size() < 2) return out;
  out += fmt::format(
      "Over the start {}: the confirmed steps multiplied, their intervals' ends likewise; "
      "incumbent "
      "and start were not measured side by side.\n\n",
      code(facts.start, 60));
  return out + steps_table(page);
}

}  // namespace wb::page
