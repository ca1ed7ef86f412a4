// SPDX-License-Identifier: MIT
// The cost of a percent of speed and of an iteration: confirmed gains beside what was debited for
// them. Without a rate there is no figure in dollars.
#include <fmt/format.h>

#include <cmath>

#include "core/json.hpp"
#include "report/cost.hpp"
#include "report/sections.hpp"

namespace wb::report {

using session::IterationView;
using session::Ledger;

namespace {

/// Fewer iterations do not predict the next one.
constexpr std::size_t k_least_tries = 3;
constexpr double k_s_per_h = 3600;

double device_s_of(const Ledger& ledger) {
  const auto found = ledger.items.find(session::CostItem::device);
  return found == ledger.items.end() ? 0.0 : found->second.quantity;
}

/// Two significant digits and no exponent.
std::string two_digits(double value) {
  if (!(value > 0)) return "0";
  const int decimals = 1 - static_cast<int>(std::floor(std::log10(value)));
  return fixed(value, std::clamp(decimals, 0, 9));
}

std::string so_far(const Page& page, const std::optional<Gain>& gained) {
  if (!gained || !(gained->ratio.value.value_or(1) > 1)) {
    return fmt::format("- No gain was accepted: {} brought none.\n", page.costs.spend());
  }
  const double percents = (*gained->ratio.value - 1) * 100;
  const Ledger& ledger = page.facts.view.ledger;
  const Ledger::Total total = ledger.total();
  const double device_s = device_s_of(ledger);
  std::string out = "- Each percent accepted";
  if (device_s > 0) {
    out +=
        fmt::format(" took {} s of the device ({} device hours) and",
                    two_digits(device_s / percents), two_digits(device_s / percents / k_s_per_h));
  } else {
    out += " took";
  }
  out += total.complete ? " $" + two_digits(total.usd / percents) : " money at a rate not given";
  return out + fmt::format(": {} over the start{}; spent: {}.\n", speedup(gained->ratio.value),
                           cite(gained->events), page.costs.spend());
}

/// The cost per iteration, over all iterations, with and without a gain.
std::string each_try(const std::vector<const IterationView*>& tries, std::size_t wins) {
  if (tries.size() < k_least_tries) {
    return fmt::format("- What a try takes is not said: {} of the {} needed closed.\n",
                       tries.size(), k_least_tries);
  }
  double device_s = 0;
  Ledger::Total spent;
  for (const IterationView* iteration : tries) {
    device_s += device_s_of(iteration->ledger);
    const Ledger::Total total = iteration->ledger.total();
    spent.usd += total.usd;
    spent.complete = spent.complete && total.complete;
  }
  const auto n = static_cast<double>(tries.size());
  std::string out = fmt::format("- A try took {} s of the device", two_digits(device_s / n));
  if (!spent.complete) {
    out += " and money at a rate not given";
  } else if (spent.usd > 0) {
    out += fmt::format(" and ${} (a dollar buys {} of them)", two_digits(spent.usd / n),
                       two_digits(n / spent.usd));
  }
  return out + fmt::format(" on average; {} of {} gained. Later ones tend to gain less.\n", wins,
                           tries.size());
}

/// The expected gain per dollar of the roadmap's first step; empty for logs without a roadmap.
std::string next_dollar(const Page& page, const std::vector<const IterationView*>& tries) {
  if (!page.facts.view.roadmap) return "";
  const session::Fact& made = *page.facts.view.roadmap;
  const Json& entries = field(made.payload, "entries");
  const std::string head = "- The next dollar: ";
  if (!entries.is_array() || entries.empty()) {
    return head + "nothing is expected of it, as the catalogue has no technique left" +
           cite(made.seq) + ".\n";
  }
  const Json& first = entries.front();
  const auto expected = number(first, "expected");
  const Json& calibration = field(made.payload, "calibration");
  const auto known = integer(calibration, "count").value_or(0);
  std::string out =
      head + fmt::format("{} should bring {}{}, {}", code(text(first, "technique"), 40),
                         speedup(expected), cite(made.seq),
                         known < static_cast<std::int64_t>(k_least_tries)
                             ? "the middle of its range, as too few predictions were decided here"
                             : "calibrated by the predictions that were decided here");
  double usd = 0;
  bool is_priced = !tries.empty();
  for (const IterationView* iteration : tries) {
    const Ledger::Total total = iteration->ledger.total();
    usd += total.usd;
    is_priced = is_priced && total.complete;
  }
  if (!is_priced || !(usd > 0) || !expected) {
    return out + "; what that is for a dollar is not said: rate not given.\n";
  }
  const double a_try = usd / static_cast<double>(tries.size());
  return out + fmt::format("; at ${} a try that is {} % a dollar.\n", two_digits(a_try),
                           two_digits((*expected - 1) * 100 / a_try));
}

}  // namespace

std::string gain_per_cost(const Page& page) {
  std::vector<const IterationView*> closed;
  for (const IterationView* iteration : page.facts.tries) {
    if (iteration->closed) closed.push_back(iteration);
  }
  if (closed.empty() || page.costs.rows().empty()) return "";
  return so_far(page, gain(page, page.facts.plan)) + each_try(closed, page.facts.wins.size()) +
         next_dollar(page, closed) + "\n";
}

}  // namespace wb::report
