// SPDX-License-Identifier: MIT
// `report --kind bottleneck`: how fast the incumbent is at each size and beside its rivals, what
// the problems demand of the device, how the launches meet it, what bounds small and large ones,
// and what to do. From the log alone.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "analyze/scaling.hpp"
#include "core/json.hpp"
#include "measure/finding.hpp"
#include "report/causes.hpp"
#include "report/evidence.hpp"
#include "report/findings.hpp"
#include "report/handover_sections.hpp"
#include "report/report.hpp"

namespace wb::report {

using analyze::ScalingFamily;
using analyze::ScalingPoint;
using session::Fact;
using session::SessionView;

namespace {

constexpr std::size_t k_most_sweeps = 6;

/// The word for a share of a peak.
std::string verdict_words(double share) {
  return share >= 0.6   ? "near the peak"
         : share >= 0.3 ? "fair"
         : share >= 0.1 ? "poor"
                        : "very poor";
}

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

/// The incumbent's rate over one size while all others stay the same: a table in which several
/// sizes change at once does not show which one costs. One table per size that the suite varies
/// alone: rate, share of the peak, verdict and factor below the best rate of that sweep. `shares`:
/// the incumbent's roofline findings.
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

std::string header(const Page& page) {
  const SessionView& view = page.facts.view;
  const std::string title = text(view.opened.payload, "title");
  const Json none;
  const Json& environment = view.environment ? view.environment->payload : none;
  const std::string device = text(field(environment, "device"), "name");
  return fmt::format(
      "# Bottlenecks: {}\n\nDate: {}. Device: {}. Subject: {}, plan {}. Every figure is from the "
      "session's log; what it does not hold is named at the end.\n\n",
      title.empty() ? code(text(view.opened.payload, "session"), 60) : inline_text(title, 120),
      plain(view.last_t.substr(0, 10)), device.empty() ? "not recorded" : inline_text(device, 80),
      view.incumbent.empty() ? "no incumbent yet" : incumbent_name(page, false),
      inline_text(page.facts.plan_label(page.facts.plan), 40));
}

/// The rates of one subject under the objective's plan, in the order of the findings.
std::vector<const Fact*> shares_of(const Page& page, const std::vector<Fact>& findings) {
  std::vector<const Fact*> shares;
  for (const Fact& finding : findings) {
    const Json& figures = field(finding.payload, "figures");
    const bool is_ours = text(finding.payload, "analysis") == "roofline_share" &&
                         text(figures, "subject") == page.facts.view.incumbent &&
                         text(figures, "plan") == page.facts.plan;
    if (is_ours && number(figures, "achieved_flops_per_s")) shares.push_back(&finding);
  }
  return shares;
}

std::string performance(const Page& page, const measure::Evidence& evidence,
                        const std::vector<const Fact*>& shares) {
  std::string out = "## Performance\n\n";
  double best = 0;
  for (const Fact* finding : shares) {
    best = std::max(best,
                    number(field(finding->payload, "figures"), "achieved_flops_per_s").value_or(0));
  }
  Table table({"problem", "time us>", "GFLOP/s>", "GB/s that must move>", "share of the peak>",
               "verdict", "below the best rate>"});
  for (const Fact* finding : shares) {
    const Json& figures = field(finding->payload, "figures");
    const double rate = number(figures, "achieved_flops_per_s").value_or(0);
    const auto share = number(figures, "share_frac"),
               bytes = number(figures, "achieved_bytes_per_s");
    table.row(
        {inline_text(page.facts.title(text(finding->payload, "problem")), 60),
         microseconds(number(figures, "time_us")) + cite(finding->seq),
         fmt::format("{:.4g}", rate / 1e9), bytes ? fmt::format("{:.4g}", *bytes / 1e9) : "-",
         share ? percent(*share) + " of " + inline_text(text(figures, "peak"), 20) : "not known",
         share ? verdict_words(*share) : "not known",
         rate > 0 ? fmt::format("{:.3g}x", best / rate) : "-"});
  }
  out += table.empty() ? "No time of the incumbent beside a known peak.\n\n" : table.str() + "\n";
  out += "Verdict: from 60 % of a peak on near it, from 30 % fair, from 10 % poor.\n\n";
  out += sweeps_section(page, evidence, shares);
  return out;
}

/// What bounds the problems: one line per bound, with the reason of the first problem.
std::string regimes(const Page& page, const std::vector<Fact>& findings) {
  std::map<std::string, std::vector<const Fact*>> by_regime;
  for (const Fact& finding : findings) {
    const std::string regime = text(field(finding.payload, "figures"), "regime");
    if (text(finding.payload, "analysis") == "regime" && !regime.empty()) {
      by_regime[regime].push_back(&finding);
    }
  }
  std::string out = "## Small and large\n\n";
  if (by_regime.empty()) return out + "What bounds the problems is not known.\n\n";
  out +=
      "What helps a problem depends on what bounds it, so a change may help large problems and "
      "do nothing for small ones.\n\n";
  for (const auto& [regime, list] : by_regime) {
    std::string names;
    for (std::size_t i = 0; i < std::min<std::size_t>(list.size(), 8); ++i) {
      names += (i == 0 ? "" : ", ") +
               inline_text(page.facts.title(text(list[i]->payload, "problem")), 60);
    }
    if (list.size() > 8) names += fmt::format(" and {} more", list.size() - 8);
    out += fmt::format("- {}: {}. {}{}\n", inline_text(regime, 20), names,
                       brief(page.facts.words(text(list.front()->payload, "statement")), 300),
                       cite(list.front()->seq));
  }
  return out + "\n";
}

/// A text drawing of three blocks of one head and what each loads, uses and drops.
std::string walk_diagram(std::int64_t rows, std::int64_t all_rows, std::int64_t keys) {
  const std::int64_t blocks = (all_rows + rows - 1) / rows;
  std::string out = fmt::format(
      "```\nblock    its rows       tiles of K and V, one after another, up to key {}\n", keys - 1);
  const auto line = [&](std::int64_t block) {
    const std::int64_t last = std::min(all_rows, (block + 1) * rows) - 1;
    return fmt::format("{:<8} {:<14} load K0 V0 > use > drop > load K1 V1 > use > drop > ...\n",
                       block, fmt::format("q{} to q{}", block * rows, last));
  };
  for (std::int64_t block = 0; block < std::min<std::int64_t>(blocks, 2); ++block) {
    out += line(block);
  }
  if (blocks > 3) out += "...\n";
  if (blocks > 2) out += line(blocks - 1);
  return out + fmt::format(
                   "```\n\nNo block sees what another has loaded: K and V of a head are "
                   "asked for {} ({} rows, {} a block).\n\n",
                   blocks == 1 ? std::string("once") : fmt::format("{} times", blocks), all_rows,
                   rows);
}

/// The same for a problem of the suite, named as the findings name it.
std::string diagram_of(const Facts& facts, const std::string& name, std::int64_t rows) {
  for (const SuiteEntry& entry : facts.suite) {
    if (facts.title(entry.problem) != facts.title(name)) continue;
    const auto problem = problem::parse_problem(entry.problem);
    return problem.ok() && rows > 0 ? walk_diagram(rows, problem->Sq, problem->Skv) : std::string();
  }
  return {};
}

/// The walk of one block, as the launch implies it; empty if no launch was recorded.
std::string access_pattern(const Page& page, const std::vector<Fact>& findings) {
  for (const Fact& finding : findings) {
    const Json& figures = field(finding.payload, "figures");
    const auto rows = integer(figures, "rows_per_block");
    const bool is_ours = text(figures, "subject") == page.facts.view.incumbent;
    if (text(finding.payload, "analysis") != "launch" || !rows || !is_ours) continue;
    return fmt::format(
               "On {} each block takes {} of one head, loads K and V tile by tile, uses each tile "
               "for "
               "these "
               "rows and discards it: K and V are asked for {} times ({}){}.\n\n",
               inline_text(page.facts.title(text(finding.payload, "problem")), 60),
               count(*rows, "query row"),
               fmt::format("{:.3g}", number(figures, "kv_redundancy").value_or(0)),
               bytes(number(figures, "kv_requested_bytes").value_or(0)), cite(finding.seq)) +
           diagram_of(page.facts, text(finding.payload, "problem"), *rows);
  }
  return "How its blocks walk over K and V is not known: no tool saw its launch.\n\n";
}

std::string steps(const Page& page) {
  const SessionView& view = page.facts.view;
  std::string out = "## What to do\n\n" + next_steps_table(page);
  const std::string problem = plain(example_problem(page), 200);
  const std::string variant = view.incumbent.empty() ? "VARIANT" : plain(view.incumbent, 80);
  return out +
         fmt::format(
             "To look closer:\n\n- `sdpa-wb profile {} --problem '{}'`: throughputs, hit rates, "
             "occupancy (ncu)\n- `sdpa-wb show {} --sass`, then `sdpa-wb analyze --sass FILE`: "
             "widths of loads, bank conflicts, matrix instructions\n- `sdpa-wb diagnose "
             "--measure`: what undecided causes need\n\n",
             variant, problem, variant);
}

}  // namespace
}  // namespace wb::report

namespace wb::report {

std::string render_bottleneck(const SessionView& view, const PageSources* sources) {
  const Page page(view);
  const std::vector<Fact> findings = findings_now(view);
  std::string out = header(page) + short_section(page) + cure_section(page, sources) +
                    performance(page, log_evidence(view).evidence, shares_of(page, findings)) +
                    regimes(page, findings);
  const std::string demand = demand_table(page.facts, findings);
  const std::string launches = launch_table(page.facts, findings);
  out += "## Demand of the problems\n\n" + (demand.empty() ? "Not known.\n\n" : demand);
  out += "## Launches\n\n" + (launches.empty() ? "No tool saw a launch.\n\n" : launches);
  out += thread_table(page.facts, findings) + access_pattern(page, findings);
  const std::string causes = causes_section(page);
  out += causes.empty()
             ? "## Causes\n\nNone was decided in this log; `sdpa-wb diagnose` decides them.\n\n"
             : causes;
  out += steps(page) + "## Not seen\n\n" + unseen_list(view, findings);
  return out + fmt::format("---\n\nMade by sdpa-wb {} from {}, log head `{}`.\n",
                           inline_text(text(view.opened.payload, "workbench_version"), 40),
                           count(view.events, "event"), plain(view.log_head.substr(0, 12)));
}

}  // namespace wb::report
