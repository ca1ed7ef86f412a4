// SPDX-License-Identifier: MIT
#include "report/sweeps.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analyze/scaling.hpp"
#include "core/json.hpp"

namespace wb::report {

using analyze::ScalingFamily;
using analyze::ScalingPoint;
using session::Fact;

namespace {

constexpr std::size_t k_most_sweeps = 6;

double rate_of(const ScalingPoint& point) {
  return point.work_flops / (point.time_us * 1e-6);
}

/// The finding on the problem; nullptr if its peak is unknown.
const Fact* share_of(const Facts& facts, const std::vector<const Fact*>& shares,
                     const std::string& title) {
  const auto found = std::find_if(shares.begin(), shares.end(), [&](const Fact* fact) {
    return facts.title(text(fact->payload, "problem")) == title;
  });
  return found == shares.end() ? nullptr : *found;
}

const ScalingPoint& best_of(const ScalingFamily& family) {
  return *std::max_element(
      family.points.begin(), family.points.end(),
      [](const ScalingPoint& a, const ScalingPoint& b) { return rate_of(a) < rate_of(b); });
}

std::string sweep_table(const Facts& facts, const ScalingFamily& family,
                        const std::vector<const Fact*>& shares) {
  const double best = rate_of(best_of(family));
  Table table({std::string(family.axis) + ">", "problem", "time us>", "GFLOP/s>",
               "share of the peak>", "verdict", "below the best rate>"});
  for (const ScalingPoint& point : family.points) {
    const std::string title = facts.title(problem::to_text(point.observation->problem));
    const Fact* finding = share_of(facts, shares, title);
    const auto share = finding == nullptr
                           ? std::nullopt
                           : number(field(finding->payload, "figures"), "share_frac");
    const auto& events = point.observation->events;
    table.row({fmt::format("{}", point.size), inline_text(title, 60),
               microseconds(point.time_us) + (events.empty() ? "" : cite(events.front())),
               fmt::format("{:.4g}", rate_of(point) / 1e9),
               share ? percent(*share) : std::string("not known"),
               share ? verdict_words(*share) : "not known",
               fmt::format("{:.3g}x", best / rate_of(point))});
  }
  return table.str();
}

/// The size with the best rate, and how far the rate falls on the side where it falls further.
std::string fall_words(const ScalingFamily& family) {
  const ScalingPoint& best = best_of(family);
  const ScalingPoint& worst = *std::min_element(
      family.points.begin(), family.points.end(),
      [](const ScalingPoint& a, const ScalingPoint& b) { return rate_of(a) < rate_of(b); });
  return fmt::format(
      "The rate is best at {} = {} and {:.3g}x lower at {} = {}; nothing else changed.\n\n",
      family.axis, best.size, rate_of(best) / rate_of(worst), family.axis, worst.size);
}

}  // namespace

std::string verdict_words(double share) {
  return share >= 0.6   ? "near the peak"
         : share >= 0.3 ? "fair"
         : share >= 0.1 ? "poor"
                        : "very poor";
}

std::string sweeps_section(const Page& page, const measure::Evidence& evidence,
                           const std::vector<const Fact*>& shares) {
  std::string out = "### One size at a time\n\n";
  std::size_t found = 0;
  for (const ScalingFamily& family : analyze::scaling_families(evidence.observations)) {
    if (family.subject != page.facts.view.incumbent || family.points.size() < 2) continue;
    if (++found > k_most_sweeps) continue;
    out += sweep_table(page.facts, family, shares) + "\n" + fall_words(family);
  }
  if (found == 0) {
    return out +
           "No two problems of the suite differ in one size only, so a fall of the rate cannot be "
           "laid to one of them. A session with such problems can: `--problem 'B=1 Hq=4 Sq=64 "
           "D=512 f32; B=1 Hq=4 Sq=64 D=2048 f32'`.\n\n";
  }
  if (found > k_most_sweeps) {
    out += fmt::format("{} more are in `sdpa-wb analyze`.\n\n", found - k_most_sweeps);
  }
  return out;
}

}  // namespace wb::report
