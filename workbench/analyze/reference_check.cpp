// SPDX-License-Identifier: MIT
// Whether a reference was measured in a meaningful state: a time that stays the same while the work
// grows is a fixed cost (launch, host) or a device with free capacity; a longer time for less of
// the same work means missing warm-up or a disturbance.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "analyze/evidence.hpp"
#include "measure/finding.hpp"
#include "problem/attention.hpp"

namespace wb::analyze {

using measure::Evidence;
using measure::Finding;
using measure::Observation;
using problem::Problem;

std::vector<Finding> analyze_reference_check(const Evidence& evidence);

namespace {

constexpr double k_flat_work_ratio = 4;     // this much more work …
constexpr double k_flat_time_ratio = 1.15;  // … in at most this much more time is a fixed cost
constexpr double k_longer_for_less = 1.2;
constexpr double k_launch_times = 2;  // up to this many empty calls, a call is mostly launch

/// True when no size of `less` exceeds that of `more`, with everything else equal.
bool is_less_of_the_same(const Problem& less, const Problem& more) {
  return less.dtype == more.dtype && less.causal == more.causal && less.mask == more.mask &&
         less.keep_frac == more.keep_frac && less.layout == more.layout &&
         less.k_layout == more.k_layout && less.v_layout == more.v_layout &&
         less.mask_values == more.mask_values && less.Hq * more.Hkv == more.Hq * less.Hkv &&
         less.B <= more.B && less.Hq <= more.Hq && less.Sq <= more.Sq && less.Skv <= more.Skv &&
         less.D <= more.D && less.Dv <= more.Dv &&
         problem::work(less).flops < problem::work(more).flops;
}

struct Pair {
  const Observation *less = nullptr, *more = nullptr;
  double work_ratio = 0, time_ratio = 0;  ///< of more over less
};

Finding finding_of(const Pair& pair, const char* state, std::string statement) {
  Finding finding;
  finding.analysis = "reference_check";
  finding.statement = std::move(statement);
  finding.figures = {
      {"subject", pair.less->subject},
      {"plan", to_string(pair.less->plan)},
      {"state", state},
      {"problems", {problem::label(pair.less->problem), problem::label(pair.more->problem)}},
      {"time_us", {pair.less->measurement.median_us, pair.more->measurement.median_us}},
      {"work_ratio", pair.work_ratio},
      {"time_ratio", pair.time_ratio}};
  for (const Observation* observation : {pair.less, pair.more}) {
    finding.events.insert(finding.events.end(), observation->events.begin(),
                          observation->events.end());
  }
  return finding;
}

std::string times_words(const Pair& pair) {
  return fmt::format("{} ({}): {:.4g} us on {} and {:.4g} us on {}, which is {:.3g} times the work",
                     pair.less->subject, to_string(pair.less->plan),
                     pair.less->measurement.median_us, problem::label(pair.less->problem),
                     pair.more->measurement.median_us, problem::label(pair.more->problem),
                     pair.work_ratio);
}

/// Names of the kernels that a call launched, as far as seen.
std::set<std::string> kernels_of(const Evidence& evidence, const Observation& observation) {
  std::set<std::string> names;
  for (const measure::KernelFacts& kernel : evidence.kernels) {
    if (!kernel.problem || kernel.subject != observation.subject) continue;
    if (problem::to_text(*kernel.problem) == problem::to_text(observation.problem))
      names.insert(kernel.kernel);
  }
  return names;
}

Finding longer_for_less(const Pair& pair, const Evidence& evidence) {
  const auto less = kernels_of(evidence, *pair.less), more = kernels_of(evidence, *pair.more);
  const bool is_seen = !less.empty() && !more.empty();
  if (is_seen && less != more) {
    return finding_of(
        pair, "other kernels",
        times_words(pair) +
            ": it launches other kernels on the first, so figures beside it there are "
            "beside another implementation");
  }
  Finding finding = finding_of(
      pair, "longer for less",
      times_words(pair) + fmt::format(": on the first it was not warm, was disturbed{}; what is "
                                      "compared with it there says little",
                                      is_seen ? "" : ", or ran another implementation"));
  finding.unseen = "which of these causes it was";
  return finding;
}

/// Blocks of 64 rows per unit; nothing when the units are unknown.
std::optional<double> blocks_per_unit(const device::Device& device, const Problem& problem) {
  if (device.units <= 0) return std::nullopt;
  return static_cast<double>(problem::row_block_count(problem)) / static_cast<double>(device.units);
}

Finding flat(const Pair& pair, const Evidence& evidence) {
  const double overhead_us = evidence.call_overhead_us;
  const bool is_launch =
      overhead_us > 0 && pair.more->measurement.median_us <= k_launch_times * overhead_us;
  const auto blocks = blocks_per_unit(evidence.device, pair.more->problem);
  const bool has_room = blocks && *blocks <= 1;
  std::string why = is_launch  ? fmt::format("an empty call alone takes {:.3g} us", overhead_us)
                    : has_room ? std::string("the device had room left")
                    : blocks
                        ? fmt::format(
                              "a fixed cost (launch, host) sets it, though {:.3g} blocks of {} "
                              "rows are there for each of the {} {}",
                              *blocks, problem::k_rows_per_block, evidence.device.units,
                              unit_word(evidence.device))
                        : std::string("a fixed cost sets it, or the device had room left");
  Finding finding =
      finding_of(pair,
                 is_launch  ? "launch-bound"
                 : has_room ? "room left"
                            : "fixed cost",
                 times_words(pair) + ": its time does not grow with the work there (" + why +
                     "), so a ratio over it says nothing of throughput");
  finding.unseen = "what the time consists of";
  return finding;
}

std::vector<Finding> check(const std::vector<const Observation*>& observations,
                           const Evidence& evidence) {
  std::optional<Pair> widest, longest;
  for (const Observation* less : observations) {
    for (const Observation* more : observations) {
      if (!is_less_of_the_same(less->problem, more->problem)) continue;
      const Pair pair{less, more,
                      problem::work(more->problem).flops / problem::work(less->problem).flops,
                      more->measurement.median_us / less->measurement.median_us};
      if (pair.time_ratio * k_longer_for_less <= 1) {
        if (!longest || pair.time_ratio < longest->time_ratio) longest = pair;
      } else if (pair.work_ratio >= k_flat_work_ratio && pair.time_ratio <= k_flat_time_ratio &&
                 kernels_of(evidence, *less) == kernels_of(evidence, *more)) {
        if (!widest || pair.work_ratio > widest->work_ratio) widest = pair;
      }
    }
  }
  std::vector<Finding> findings;
  if (longest) findings.push_back(longer_for_less(*longest, evidence));
  if (widest) findings.push_back(flat(*widest, evidence));
  return findings;
}

}  // namespace

std::vector<Finding> analyze_reference_check(const Evidence& evidence) {
  std::map<std::pair<std::string, measure::PlanKind>, std::vector<const Observation*>> groups;
  for (const Observation& other : evidence.beside) {
    const bool is_told = has_time(other) && is_told_plan(evidence, other.plan);
    if (is_told) groups[{other.subject, other.plan}].push_back(&other);
  }
  std::vector<Finding> findings;
  for (const auto& [key, observations] : groups) {
    auto found = check(observations, evidence);
    std::move(found.begin(), found.end(), std::back_inserter(findings));
  }
  return findings;
}

}  // namespace wb::analyze
